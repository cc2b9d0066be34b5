//! Arbitrary bytes as payloads: an answer, never a panic, and an error within its bounds.

use latent_core::contract::FunctionSignature;
use latent_core::error::{MESSAGE_BYTES_MAX, PlatformErrorCode};
use proptest::prelude::*;
use wasmtime::component::Val;

use super::generate::{any_call, jsonish};
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
