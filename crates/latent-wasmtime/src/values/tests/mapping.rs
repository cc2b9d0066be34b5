//! The table of the mapping, row by row, in both directions.

use latent_core::contract::ValueType;
use wasmtime::component::Val;

use super::{case, field, list, names, option, result, takes};
use crate::values::{ValueLimits, decode_params, encode};

fn decoded(ty: &ValueType, json: &str) -> Val {
    let payload = format!("[{json}]");
    match decode_params(&takes(&[("it", ty.clone())]), payload.as_bytes(), &ValueLimits::default()) {
        Ok(mut values) => values.remove(0),
        Err(error) => panic!("{json}: {error}"),
    }
}

fn encoded(ty: &ValueType, value: &Val) -> String {
    String::from_utf8(encode(ty, value, &ValueLimits::default()).unwrap()).unwrap()
}

/// The JSON is what the value encodes to, and decodes to the value.
#[track_caller]
fn maps(ty: &ValueType, json: &str, value: &Val) {
    assert_eq!(encoded(ty, value), json);
    assert_eq!(decoded(ty, json), *value, "{json}");
}

fn some(value: Val) -> Val {
    Val::Option(Some(Box::new(value)))
}

#[test]
fn scalars_map_to_json_scalars() {
    maps(&ValueType::Bool, "true", &Val::Bool(true));
    maps(&ValueType::S8, "-128", &Val::S8(-128));
    maps(&ValueType::U32, "4294967295", &Val::U32(u32::MAX));
    maps(&ValueType::Char, "\"é\"", &Val::Char('é'));
    maps(&ValueType::Char, "\"\\u0000\"", &Val::Char('\0'));
    maps(&ValueType::String, "\"a\\\"\\\\\\n\\u001f/é\"", &Val::String("a\"\\\n\u{1f}/é".into()));
}

#[test]
fn integers_of_64_bits_are_decimal_strings_and_numbers_are_accepted() {
    maps(&ValueType::U64, "\"18446744073709551615\"", &Val::U64(u64::MAX));
    maps(&ValueType::S64, "\"-9223372036854775808\"", &Val::S64(i64::MIN));
    assert_eq!(decoded(&ValueType::U64, "18446744073709551615"), Val::U64(u64::MAX));
    assert_eq!(decoded(&ValueType::S64, "-9223372036854775808"), Val::S64(i64::MIN));
}

#[test]
fn floats_are_shortest_numbers_and_the_rest_has_names() {
    maps(&ValueType::F32, "0.1", &Val::Float32(0.1));
    maps(&ValueType::F64, "0.1", &Val::Float64(0.1));
    maps(&ValueType::F64, "-0.0", &Val::Float64(-0.0));
    maps(&ValueType::F32, "-0.0", &Val::Float32(-0.0));
    maps(&ValueType::F64, "1e300", &Val::Float64(1e300));
    maps(&ValueType::F64, "5e-324", &Val::Float64(5e-324));
    maps(&ValueType::F32, "3.4028235e38", &Val::Float32(f32::MAX));
    for (name, number) in [("NaN", f32::NAN), ("Infinity", f32::INFINITY), ("-Infinity", f32::NEG_INFINITY)] {
        maps(&ValueType::F32, &format!("\"{name}\""), &Val::Float32(number));
        maps(&ValueType::F64, &format!("\"{name}\""), &Val::Float64(number.into()));
    }
    assert_eq!(decoded(&ValueType::F64, "3"), Val::Float64(3.0));
    assert_eq!(decoded(&ValueType::F32, "-3"), Val::Float32(-3.0));
    assert_eq!(decoded(&ValueType::F64, "-0"), Val::Float64(-0.0));
}

#[test]
fn byte_lists_are_base64_and_numbers_are_accepted() {
    let bytes = Val::List([0, 255, 16].map(Val::U8).to_vec());
    maps(&list(ValueType::U8), "\"AP8Q\"", &bytes);
    maps(&list(ValueType::U8), "\"\"", &Val::List(vec![]));
    assert_eq!(decoded(&list(ValueType::U8), "[0, 255, 16]"), bytes);
    maps(&list(ValueType::S8), "[1,-1]", &Val::List(vec![Val::S8(1), Val::S8(-1)]));
}

#[test]
fn aggregates_map_to_arrays_and_objects() {
    let record = ValueType::Record(vec![field("by-length", ValueType::Bool), field("n", ValueType::U8)]);
    let value = Val::Record(vec![("by-length".into(), Val::Bool(true)), ("n".into(), Val::U8(7))]);
    maps(&record, r#"{"by-length":true,"n":7}"#, &value);
    assert_eq!(decoded(&record, r#" { "n" : 7 , "by\u002dlength" : true } "#), value, "any order, escapes, spaces");
    let tuple = ValueType::Tuple(vec![ValueType::U8, ValueType::String]);
    maps(&tuple, r#"[1,"x"]"#, &Val::Tuple(vec![Val::U8(1), Val::String("x".into())]));
    maps(&ValueType::Tuple(vec![]), "[]", &Val::Tuple(vec![]));
    maps(&ValueType::Record(vec![]), "{}", &Val::Record(vec![]));
}

#[test]
fn cases_and_names_map_to_strings_and_objects_with_one_key() {
    let shape = ValueType::Variant(vec![case("none", None), case("circle", Some(ValueType::U8))]);
    maps(&shape, "\"none\"", &Val::Variant("none".into(), None));
    maps(&shape, r#"{"circle":3}"#, &Val::Variant("circle".into(), Some(Box::new(Val::U8(3)))));
    maps(&ValueType::Enum(names(&["low", "high"])), "\"high\"", &Val::Enum("high".into()));
    let flags = ValueType::Flags(names(&["read", "write", "run"]));
    maps(&flags, r#"["read","run"]"#, &Val::Flags(vec!["read".into(), "run".into()]));
    assert_eq!(decoded(&flags, r#"["run","read"]"#), Val::Flags(vec!["read".into(), "run".into()]));
    maps(&flags, "[]", &Val::Flags(vec![]));
}

#[test]
fn options_are_null_or_the_value_and_only_nested_ones_say_some() {
    let once = option(ValueType::U8);
    maps(&once, "null", &Val::Option(None));
    maps(&once, "1", &some(Val::U8(1)));
    let twice = option(once);
    maps(&twice, "null", &Val::Option(None));
    maps(&twice, r#"{"some":null}"#, &some(Val::Option(None)));
    maps(&twice, r#"{"some":1}"#, &some(some(Val::U8(1))));
    let thrice = option(twice);
    maps(&thrice, r#"{"some":{"some":null}}"#, &some(some(Val::Option(None))));
    let listed = option(list(option(ValueType::Bool)));
    maps(&listed, "[null,true]", &some(Val::List(vec![Val::Option(None), some(Val::Bool(true))])));
}

#[test]
fn results_are_objects_that_say_ok_or_err() {
    let full = result(Some(ValueType::U8), Some(ValueType::String));
    maps(&full, r#"{"ok":1}"#, &Val::Result(Ok(Some(Box::new(Val::U8(1))))));
    maps(&full, r#"{"err":"x"}"#, &Val::Result(Err(Some(Box::new(Val::String("x".into()))))));
    maps(&result(None, None), r#"{"ok":null}"#, &Val::Result(Ok(None)));
    maps(&result(None, None), r#"{"err":null}"#, &Val::Result(Err(None)));
}

#[test]
fn absent_options_are_none() {
    let record = ValueType::Record(vec![field("a", option(ValueType::U8)), field("b", ValueType::U8)]);
    let value = Val::Record(vec![("a".into(), Val::Option(None)), ("b".into(), Val::U8(1))]);
    assert_eq!(decoded(&record, r#"{"b":1}"#), value);
    let signature = takes(&[("a", option(option(ValueType::U8)))]);
    assert_eq!(decode_params(&signature, b"{}", &ValueLimits::default()).unwrap(), [Val::Option(None)]);
}

#[test]
fn a_function_without_parameters_takes_nothing_in_three_ways() {
    for payload in ["", "[]", "{}", " [ ] "] {
        assert_eq!(decode_params(&takes(&[]), payload.as_bytes(), &ValueLimits::default()).unwrap(), []);
    }
}

#[test]
fn an_object_is_always_read_as_parameters_by_name() {
    let inner = ValueType::Record(vec![field("a", ValueType::U8)]);
    let signature = takes(&[("a", inner)]);
    let limits = ValueLimits::default();
    let value = [Val::Record(vec![("a".into(), Val::U8(1))])];
    assert_eq!(decode_params(&signature, br#"{"a":{"a":1}}"#, &limits).unwrap(), value);
    assert_eq!(decode_params(&signature, br#"[{"a":1}]"#, &limits).unwrap(), value);
    assert!(decode_params(&signature, br#"{"a":1}"#, &limits).is_err(), "the payload is never the value itself");
}
