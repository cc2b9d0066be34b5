//! What was encoded decodes to what it was.

use proptest::prelude::*;
use wasmtime::component::Val;

use super::generate::{any_call, any_type, any_value};
use super::takes;
use crate::values::{
    ValueLimits, decode_params, decode_single_bytes, decode_single_string, encode, encode_bytes, encode_string,
};
use latent_core::contract::{FunctionSignature, ValueType};

fn as_array(signature: &FunctionSignature, values: &[Val]) -> Vec<u8> {
    let encoded = signature.params.iter().zip(values).map(|(param, value)| encoded(&param.ty, value));
    [b"[", &*encoded.collect::<Vec<_>>().join(&b','), b"]"].concat()
}

fn as_object(signature: &FunctionSignature, values: &[Val]) -> Vec<u8> {
    let members = signature.params.iter().zip(values).rev().map(|(param, value)| {
        let name = format!("{:?}:", param.name);
        [name.as_bytes(), &encoded(&param.ty, value)].concat()
    });
    [b"{", &*members.collect::<Vec<_>>().join(&b','), b"}"].concat()
}

fn encoded(ty: &ValueType, value: &Val) -> Vec<u8> {
    encode(ty, value, &ValueLimits::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn encoding_then_decoding_is_the_identity((signature, values) in any_call()) {
        let limits = ValueLimits::default();
        let array = as_array(&signature, &values);
        prop_assert_eq!(&decode_params(&signature, &array, &limits).unwrap(), &values, "{}", String::from_utf8_lossy(&array));
        let object = as_object(&signature, &values);
        prop_assert_eq!(&decode_params(&signature, &object, &limits).unwrap(), &values, "{}", String::from_utf8_lossy(&object));
    }

    #[test]
    fn json_to_value_to_json_is_the_identity((ty, value) in any_type().prop_flat_map(|ty| (Just(ty.clone()), any_value(&ty)))) {
        let limits = ValueLimits::default();
        let json = encoded(&ty, &value);
        let payload = [b"[", &*json, b"]"].concat();
        let decoded = decode_params(&takes(&[("it", ty.clone())]), &payload, &limits).unwrap();
        prop_assert_eq!(encoded(&ty, &decoded[0]), json);
    }

    #[test]
    fn the_encoding_is_what_any_json_reader_accepts((ty, value) in any_type().prop_flat_map(|ty| (Just(ty.clone()), any_value(&ty)))) {
        let json = encoded(&ty, &value);
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok(), "{}", String::from_utf8_lossy(&json));
    }

    #[test]
    fn typed_bytes_agree_with_dynamic_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let limits = ValueLimits::default();
        let ty = super::list(ValueType::U8);
        let dynamic = Val::List(bytes.iter().copied().map(Val::U8).collect());
        let json = encode_bytes(&bytes, &limits).unwrap();
        prop_assert_eq!(&json, &encoded(&ty, &dynamic));
        let payload = [b"[", &*json, b"]"].concat();
        prop_assert_eq!(decode_single_bytes("data", &payload, &limits).unwrap(), bytes.clone());
        prop_assert_eq!(decode_params(&takes(&[("data", ty)]), &payload, &limits).unwrap(), vec![dynamic]);
        let numbers = serde_json::to_vec(&[&bytes]).unwrap();
        prop_assert_eq!(decode_single_bytes("data", &numbers, &limits).unwrap(), bytes);
    }

    #[test]
    fn typed_text_agrees_with_dynamic_text(text in "(?s).{0,200}") {
        let limits = ValueLimits::default();
        let json = encode_string(&text, &limits).unwrap();
        prop_assert_eq!(&json, &encoded(&ValueType::String, &Val::String(text.clone())));
        let payload = [b"{\"text\":", &*json, b"}"].concat();
        prop_assert_eq!(decode_single_string("text", &payload, &limits).unwrap(), text);
    }
}

#[test]
fn an_f32_whose_text_reads_as_the_middle_of_two_is_itself() {
    let value = [Val::Float32(7.038_531e-26)];
    assert_eq!("7.038531e-26".parse::<f32>(), Ok(7.038_531e-26));
    #[expect(clippy::cast_possible_truncation, reason = "the rounding in two steps that the test is about")]
    let rounded_twice = 7.038_531e-26_f64 as f32;
    assert_ne!(rounded_twice, 7.038_531e-26, "the two steps differ, or this test proves nothing");
    let signature = takes(&[("x", ValueType::F32)]);
    let array = as_array(&signature, &value);
    assert_eq!(array, b"[7.038531e-26]");
    assert_eq!(decode_params(&signature, &array, &ValueLimits::default()).unwrap(), value);
}

#[test]
fn every_exponent_of_f32_survives_its_own_shortest_text() {
    let limits = ValueLimits::default();
    let signature = takes(&[("x", ValueType::F32)]);
    for exponent in 0..=255u32 {
        for mantissa in [0, 1, 2, 0x2a_aaaa, 0x3f_ffff, 0x40_0000, 0x55_5555, 0x7f_fffe, 0x7f_ffff] {
            for sign in [0, 1 << 31] {
                let value = vec![Val::Float32(f32::from_bits(sign | exponent << 23 | mantissa))];
                assert_eq!(decode_params(&signature, &as_array(&signature, &value), &limits).unwrap(), value);
            }
        }
    }
}
