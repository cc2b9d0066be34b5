//! Random types, random values of them, and random bytes that look like payloads.

use latent_core::contract::{Case, Field, FunctionSignature, ValueType};
use proptest::collection::{hash_set, vec};
use proptest::prelude::*;
use proptest::sample::subsequence;
use wasmtime::component::Val;

/// A type that nests at most four levels.
pub(super) fn any_type() -> BoxedStrategy<ValueType> {
    leaf()
        .prop_recursive(3, 24, 4, |inner| {
            let maybe = proptest::option::of(inner.clone().prop_map(Box::new));
            let list = inner.clone().prop_map(|ty| ValueType::List(Box::new(ty)));
            let option = inner.clone().prop_map(|ty| ValueType::Option(Box::new(ty)));
            let tuple = vec(inner.clone(), 0..4).prop_map(ValueType::Tuple);
            let field = |(name, ty)| Field { name, ty };
            let record =
                named(inner.clone()).prop_map(move |of| ValueType::Record(of.into_iter().map(field).collect()));
            let case = |(name, payload)| Case { name, payload };
            let variant = named(proptest::option::of(inner))
                .prop_filter("a variant has a case", |cases| !cases.is_empty())
                .prop_map(move |of| ValueType::Variant(of.into_iter().map(case).collect()));
            let result = (maybe.clone(), maybe).prop_map(|(ok, err)| ValueType::Result { ok, err });
            prop_oneof![1 => list, 2 => option, 1 => tuple, 2 => record, 2 => variant, 1 => result]
        })
        .boxed()
}

/// A signature with up to four parameters and a value for each.
pub(super) fn any_call() -> impl Strategy<Value = (FunctionSignature, Vec<Val>)> {
    named(any_type()).prop_flat_map(|params| {
        let values: Vec<_> = params.iter().map(|(_, ty)| any_value(ty)).collect();
        let params = params.into_iter().map(|(name, ty)| Field { name, ty }).collect();
        (Just(FunctionSignature { params, result: None }), values)
    })
}

/// A value of the type.
pub(super) fn any_value(ty: &ValueType) -> BoxedStrategy<Val> {
    match ty {
        ValueType::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        ValueType::S8 => any::<i8>().prop_map(Val::S8).boxed(),
        ValueType::U8 => any::<u8>().prop_map(Val::U8).boxed(),
        ValueType::S16 => any::<i16>().prop_map(Val::S16).boxed(),
        ValueType::U16 => any::<u16>().prop_map(Val::U16).boxed(),
        ValueType::S32 => any::<i32>().prop_map(Val::S32).boxed(),
        ValueType::U32 => any::<u32>().prop_map(Val::U32).boxed(),
        ValueType::S64 => any::<i64>().prop_map(Val::S64).boxed(),
        ValueType::U64 => any::<u64>().prop_map(Val::U64).boxed(),
        ValueType::F32 => any::<u32>().prop_map(|bits| Val::Float32(f32::from_bits(bits))).boxed(),
        ValueType::F64 => any::<u64>().prop_map(|bits| Val::Float64(f64::from_bits(bits))).boxed(),
        ValueType::Char => any::<char>().prop_map(Val::Char).boxed(),
        ValueType::String => text().prop_map(Val::String).boxed(),
        ValueType::List(element) => vec(any_value(element), 0..5).prop_map(Val::List).boxed(),
        ValueType::Tuple(types) => types.iter().map(any_value).collect::<Vec<_>>().prop_map(Val::Tuple).boxed(),
        ValueType::Record(fields) => {
            let names: Vec<String> = fields.iter().map(|field| field.name.to_string()).collect();
            let values: Vec<_> = fields.iter().map(|field| any_value(&field.ty)).collect();
            values.prop_map(move |values| Val::Record(names.iter().cloned().zip(values).collect())).boxed()
        }
        ValueType::Variant(cases) => {
            let cases = cases.iter().map(|case| {
                let name = case.name.to_string();
                any_payload(case.payload.as_ref()).prop_map(move |payload| Val::Variant(name.clone(), payload)).boxed()
            });
            proptest::strategy::Union::new(cases.collect::<Vec<_>>()).boxed()
        }
        ValueType::Enum(names) => proptest::sample::select(strings(names)).prop_map(Val::Enum).boxed(),
        ValueType::Flags(names) => subsequence(strings(names), 0..=names.len()).prop_map(Val::Flags).boxed(),
        ValueType::Option(inner) => {
            proptest::option::of(any_value(inner)).prop_map(|some| Val::Option(some.map(Box::new))).boxed()
        }
        ValueType::Result { ok, err } => prop_oneof![
            any_payload(ok.as_deref()).prop_map(|payload| Val::Result(Ok(payload))),
            any_payload(err.as_deref()).prop_map(|payload| Val::Result(Err(payload))),
        ]
        .boxed(),
    }
}

/// Bytes that JSON is made of, in any order.
pub(super) fn jsonish() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        4 => proptest::sample::select(vec!["[", "]", "{", "}", ",", ":", " "]),
        2 => proptest::sample::select(vec!["null", "true", "false", "\"a\"", "\"ok\"", "\"some\"", "\"err\"", "\"\\ud800\""]),
        2 => proptest::sample::select(vec!["0", "-0", "1e999", "-1.5", "18446744073709551616", "\"AA==\"", "\"\"", "\\"]),
    ];
    vec(token, 0..40).prop_map(|tokens| tokens.concat().into_bytes())
}

fn leaf() -> impl Strategy<Value = ValueType> {
    let scalar = [
        ValueType::Bool,
        ValueType::S8,
        ValueType::U8,
        ValueType::S16,
        ValueType::U16,
        ValueType::S32,
        ValueType::U32,
        ValueType::S64,
        ValueType::U64,
        ValueType::F32,
        ValueType::F64,
        ValueType::Char,
        ValueType::String,
        ValueType::List(Box::new(ValueType::U8)),
    ];
    prop_oneof![
        8 => proptest::sample::select(scalar.to_vec()),
        1 => named(Just(())).prop_filter("an enum has a case", |names| !names.is_empty()).prop_map(|names| {
            ValueType::Enum(names.into_iter().map(|(name, ())| name).collect())
        }),
        1 => named(Just(())).prop_map(|names| ValueType::Flags(names.into_iter().map(|(name, ())| name).collect())),
    ]
}

/// Up to four distinct kebab-case names, each with something.
fn named<S: Strategy>(of: S) -> impl Strategy<Value = Vec<(Box<str>, S::Value)>>
where
    S::Value: Clone,
{
    let names = hash_set(proptest::sample::select(vec!["a", "by-length", "ok", "some", "err", "x1", "null"]), 0..4);
    (names, vec(of, 4)).prop_map(|(names, of)| names.into_iter().map(Box::from).zip(of).collect())
}

fn any_payload(ty: Option<&ValueType>) -> BoxedStrategy<Option<Box<Val>>> {
    match ty {
        Some(ty) => any_value(ty).prop_map(|value| Some(Box::new(value))).boxed(),
        None => Just(None).boxed(),
    }
}

fn text() -> impl Strategy<Value = String> {
    vec(prop_oneof![any::<char>(), proptest::char::range('\0', '\u{7f}')], 0..8).prop_map(String::from_iter)
}

fn strings(names: &[Box<str>]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}
