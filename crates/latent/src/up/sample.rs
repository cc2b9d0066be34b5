//! Arguments that a function takes, made up from its types. Pure.

use latent_core::FunctionSignature;
use latent_core::contract::ValueType;
use serde_json::{Map, Value, json};

/// One value for each parameter, as JSON.
pub fn arguments(signature: &FunctionSignature) -> String {
    Value::Array(signature.params.iter().map(|param| value(&param.ty)).collect()).to_string()
}

fn value(ty: &ValueType) -> Value {
    match ty {
        ValueType::Bool => Value::Bool(true),
        ValueType::S8 | ValueType::U8 | ValueType::S16 | ValueType::U16 | ValueType::S32 | ValueType::U32 => json!(1),
        ValueType::S64 | ValueType::U64 => json!("1"),
        ValueType::F32 | ValueType::F64 => json!(1.5),
        ValueType::Char => json!("a"),
        ValueType::String => json!("hello world"),
        ty if ty.is_bytes() => json!("aGVsbG8="),
        ValueType::List(element) => Value::Array(vec![value(element)]),
        ValueType::Tuple(types) => types.iter().map(value).collect(),
        ValueType::Record(fields) => {
            Value::Object(fields.iter().map(|field| (field.name.to_string(), value(&field.ty))).collect())
        }
        ValueType::Variant(cases) => cases.first().map_or(Value::Null, |case| match &case.payload {
            Some(payload) => tagged(&case.name, value(payload)),
            None => Value::String(case.name.to_string()),
        }),
        ValueType::Enum(names) => names.first().map_or(Value::Null, |name| Value::String(name.to_string())),
        ValueType::Flags(_) => json!([]),
        ValueType::Option(_) => Value::Null,
        ValueType::Result { ok, .. } => tagged("ok", ok.as_deref().map_or(Value::Null, value)),
    }
}

fn tagged(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::contract::{Case, Field};

    #[test]
    fn every_type_has_a_value() {
        let list = |element| ValueType::List(Box::new(element));
        let case = |name: &str, payload| Case { name: name.into(), payload };
        for (ty, json) in [
            (ValueType::String, r#""hello world""#),
            (ValueType::U64, r#""1""#),
            (ValueType::F32, "1.5"),
            (list(ValueType::U8), r#""aGVsbG8=""#),
            (list(ValueType::S8), "[1]"),
            (ValueType::Record(vec![Field { name: "a-b".into(), ty: ValueType::Char }]), r#"{"a-b":"a"}"#),
            (ValueType::Variant(vec![case("one", None), case("two", None)]), r#""one""#),
            (ValueType::Variant(vec![case("one", Some(ValueType::Bool))]), r#"{"one":true}"#),
            (ValueType::Enum(vec!["red".into()]), r#""red""#),
            (ValueType::Flags(vec!["x".into()]), "[]"),
            (ValueType::Option(Box::new(ValueType::U8)), "null"),
            (ValueType::Result { ok: None, err: None }, r#"{"ok":null}"#),
            (ValueType::Tuple(vec![ValueType::Bool, ValueType::S32]), "[true,1]"),
        ] {
            let params = vec![Field { name: "p".into(), ty }];
            assert_eq!(arguments(&FunctionSignature { params, result: None }), format!("[{json}]"));
        }
        assert_eq!(arguments(&FunctionSignature { params: Vec::new(), result: None }), "[]");
    }
}
