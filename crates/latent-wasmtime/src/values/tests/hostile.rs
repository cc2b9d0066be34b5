//! Arbitrary bytes as payloads: an answer, never a panic, and an error within its bounds.

use latent_core::contract::{Case, Field, FunctionSignature, ValueType};
use latent_core::error::{MESSAGE_BYTES_MAX, PlatformErrorCode};
use proptest::prelude::*;
use wasmtime::component::Val;

use super::generate::{any_call, jsonish};
use super::option;
use crate::values::{ValueLimits, decode_params, decode_single_bytes, decode_single_string, encode};

fn answers(signature: &FunctionSignature, payload: &[u8], limits: &ValueLimits) {
    if let Err(error) = decode_params(signature, payload, limits) {
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
        assert!(error.message().len() <= MESSAGE_BYTES_MAX);
        let [detail] = error.details() else { panic!("one detail: {error:?}") };
        assert!(detail.field("path").unwrap().starts_with('$'));
    }
    let _bytes = decode_single_bytes("a", payload, limits);
    let _text = decode_single_string("a", payload, limits);
}

fn encoded(signature: &FunctionSignature, values: &[Val]) -> Vec<u8> {
    let limits = ValueLimits::default();
    let values = signature.params.iter().zip(values).map(|(param, value)| encode(&param.ty, value, &limits).unwrap());
    [b"[", &*values.collect::<Vec<_>>().join(&b','), b"]"].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic((signature, _) in any_call(), payload in prop::collection::vec(any::<u8>(), 0..200)) {
        answers(&signature, &payload, &ValueLimits::default());
    }

    #[test]
    fn arbitrary_json_never_panics((signature, _) in any_call(), payload in jsonish()) {
        answers(&signature, &payload, &ValueLimits::default());
    }

    #[test]
    fn mutated_payloads_never_panic(
        (signature, values) in any_call(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4),
        limits in (0u32..6, 0u32..20, 0usize..400),
    ) {
        let mut payload = encoded(&signature, &values);
        for (at, byte, edit) in edits {
            let at = at.index(payload.len().max(1));
            match edit {
                0 => payload.insert(at, byte),
                1 if at < payload.len() => payload[at] = byte,
                _ => payload.truncate(at),
            }
        }
        answers(&signature, &payload, &ValueLimits::default());
        let (depth_max, nodes_max, host_bytes_max) = limits;
        answers(&signature, &payload, &ValueLimits { depth_max, nodes_max, host_bytes_max, ..ValueLimits::default() });
    }
}

#[test]
fn many_names_at_every_level_are_kept_apart() {
    // Enough names for an index at each level; the first parameter's type lies where the parameters begin.
    let names = |prefix: &str| (0..40).map(|at| format!("{prefix}{at}").into()).collect::<Vec<Box<str>>>();
    let last = |name: &str, ty: ValueType| {
        let mut fields: Vec<_> =
            names(name).into_iter().map(|name| Field { name, ty: option(ValueType::Bool) }).collect();
        fields[0].ty = ty;
        fields
    };
    let cases = names("c").into_iter().map(|name| Case { name, payload: Some(ValueType::Enum(names("e"))) }).collect();
    let record = ValueType::Record(last("r", ValueType::Variant(cases)));
    let signature = FunctionSignature { params: last("p", record), result: None };
    let payload = br#"{"p39":true,"p0":{"r39":false,"r0":{"c39":"e39"}}}"#;
    let limits = ValueLimits::default();
    let values = decode_params(&signature, payload, &limits).unwrap();
    let json = encode(&signature.params[0].ty, &values[0], &limits).unwrap();
    assert!(String::from_utf8(json).unwrap().starts_with(r#"{"r0":{"c39":"e39"},"r1":null,"#));
    for wrong in
        [r#"{"r39":true}"#, r#"{"p0":{"p39":true}}"#, r#"{"p0":{"r0":{"r39":"e0"}}}"#, r#"{"p0":{"r0":{"c0":"c0"}}}"#]
    {
        assert!(decode_params(&signature, wrong.as_bytes(), &limits).is_err(), "{wrong}");
    }
}
