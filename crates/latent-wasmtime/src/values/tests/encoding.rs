//! A value that is not of its type is a fault that is reported, never wrong JSON and never a panic.

use latent_core::contract::ValueType;
use proptest::prelude::*;
use wasmtime::component::Val;

use super::generate::{any_type, any_value};
use super::{case, field, list, names, option, result};
use crate::values::{EncodeError, ValueLimits, encode};

#[test]
fn a_value_of_another_type_is_a_mismatch() {
    let record = ValueType::Record(vec![field("a", ValueType::U8)]);
    let variant = ValueType::Variant(vec![case("a", None), case("b", Some(ValueType::U8))]);
    for (ty, value) in [
        (ValueType::U8, Val::U16(1)),
        (ValueType::F32, Val::Float64(1.0)),
        (list(ValueType::U8), Val::List(vec![Val::U8(1), Val::S8(1)])),
        (list(ValueType::Bool), Val::List(vec![Val::U8(1)])),
        (ValueType::Tuple(vec![ValueType::U8]), Val::Tuple(vec![])),
        (record.clone(), Val::Record(vec![])),
        (record, Val::Record(vec![("b".into(), Val::U8(1))])),
        (variant.clone(), Val::Variant("c".into(), None)),
        (variant.clone(), Val::Variant("a".into(), Some(Box::new(Val::U8(1))))),
        (variant, Val::Variant("b".into(), None)),
        (ValueType::Enum(names(&["a"])), Val::Enum("b".into())),
        (ValueType::Flags(names(&["a"])), Val::Flags(vec!["b".into()])),
        (option(ValueType::U8), Val::U8(1)),
        (result(None, None), Val::Result(Ok(Some(Box::new(Val::U8(1)))))),
        (result(Some(ValueType::U8), None), Val::Result(Ok(None))),
    ] {
        let outcome = encode(&ty, &value, &ValueLimits::default());
        assert!(matches!(outcome, Err(EncodeError::Mismatch { .. })), "{ty} {value:?}: {outcome:?}");
    }
}

#[test]
fn encode_errors_say_what_and_what_to_do() {
    let text = EncodeError::TooLarge { limit: 10 }.to_string();
    assert_eq!(text, "the result exceeds the limit of 10 bytes of JSON: return less in one call");
    let text = EncodeError::Mismatch { expected: "bool", found: "a list" }.to_string();
    assert_eq!(text, "the result is a list where its type says bool");
}

proptest! {
    #[test]
    fn any_value_under_any_type_is_encoded_or_refused(
        ty in any_type(), value in any_type().prop_flat_map(|ty| any_value(&ty)),
    ) {
        let _either = encode(&ty, &value, &ValueLimits::default());
    }

    #[test]
    fn any_bound_on_the_output_is_kept(
        (ty, value) in any_type().prop_flat_map(|ty| (Just(ty.clone()), any_value(&ty))), bytes_out_max in 0usize..64,
    ) {
        if let Ok(json) = encode(&ty, &value, &ValueLimits { bytes_out_max, ..ValueLimits::default() }) {
            prop_assert!(json.capacity() <= bytes_out_max);
        }
    }
}
