//! Payloads: what is read from JSON is written as JSON that is read as the same; a narrower limit refuses and changes nothing.

mod types;

use latent_core::contract::{FunctionSignature, ValueType};
use latent_core::{PlatformError, PlatformErrorCode};
use latent_wasmtime::values::{
    EncodeError, ValueLimits, decode_params, decode_single_bytes, decode_single_string, encode,
};
use wasmtime::component::Val;

use crate::refusal;

/// Takes the first bytes of `data` as the types of a function's parameters, up to one that ends them, and the rest as its
/// payload.
///
/// # Panics
/// When a value does not come back, a limit does not hold, or a refusal says nothing.
pub fn check(data: &[u8]) {
    let (signature, json) = types::signature(data);
    let usual = ValueLimits::default();
    let read = decode_params(&signature, json, &usual);
    alone(json);
    narrowed(&signature, json, &read);
    match read {
        Ok(values) => comes_back(&signature, &values),
        Err(error) => told(&error),
    }
}

fn told(error: &PlatformError) {
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{error:?}");
    assert!(error.has_detail("values.invalid") || error.has_detail("values.limit"), "{error:?}");
    refusal::tells(error);
}

fn comes_back(signature: &FunctionSignature, values: &[Val]) {
    let limits = ValueLimits { bytes_out_max: usize::MAX >> 1, ..ValueLimits::default() };
    let mut array = Vec::from(*b"[");
    for (param, value) in signature.params.iter().zip(values) {
        let json = encode(&param.ty, value, &limits).expect("what was read can be written");
        let shorter = ValueLimits { bytes_out_max: json.len() - 1, ..limits };
        let cut = encode(&param.ty, value, &shorter);
        assert_eq!(cut, Err(EncodeError::TooLarge { limit: shorter.bytes_out_max }));
        assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&json).is_ok(), "{}", String::from_utf8_lossy(&json));
        if array.len() > 1 {
            array.push(b',');
        }
        array.extend_from_slice(&json);
    }
    array.push(b']');
    let again = decode_params(signature, &array, &limits);
    assert_eq!(again.as_deref(), Ok(values), "{signature}: {}", String::from_utf8_lossy(&array));
}

/// Narrow limits answer the same or refuse by the limit.
fn narrowed(signature: &FunctionSignature, json: &[u8], read: &Result<Vec<Val>, PlatformError>) {
    let narrow = ValueLimits { depth_max: 3, nodes_max: 5, bytes_in_max: 60, bytes_out_max: 60, host_bytes_max: 400 };
    match (decode_params(signature, json, &narrow), read) {
        (Ok(narrowly), usually) => {
            assert!(json.len() <= narrow.bytes_in_max);
            assert_eq!(Ok(&narrowly), usually.as_ref());
            assert!(narrowly.iter().map(depth).max().unwrap_or(0) <= narrow.depth_max, "{narrowly:?}");
        }
        (Err(error), Ok(_)) => assert!(error.has_detail("values.limit"), "{error:?}"),
        (Err(error), Err(_)) => told(&error),
    }
}

/// The levels of a value. Bytes are one.
fn depth(value: &Val) -> u32 {
    1 + match value {
        Val::List(values) if values.iter().all(|value| matches!(value, Val::U8(_))) => 0,
        Val::List(values) | Val::Tuple(values) => values.iter().map(depth).max().unwrap_or(0),
        Val::Record(fields) => fields.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        Val::Variant(_, Some(value)) | Val::Option(Some(value)) => depth(value),
        Val::Result(Ok(Some(value)) | Err(Some(value))) => depth(value),
        _ => 0,
    }
}

/// The two kinds of functions that have a way of their own read what the usual way reads.
fn alone(json: &[u8]) {
    let limits = ValueLimits { host_bytes_max: usize::MAX >> 1, ..ValueLimits::default() };
    let bytes = types::takes("it", ValueType::List(Box::new(ValueType::U8)));
    let typed = decode_single_bytes("it", json, &limits);
    let typed = typed.map(|bytes| vec![Val::List(bytes.into_iter().map(Val::U8).collect())]);
    assert_eq!(typed, decode_params(&bytes, json, &limits));
    let text = types::takes("it", ValueType::String);
    let typed = decode_single_string("it", json, &limits).map(|text| vec![Val::String(text)]);
    assert_eq!(typed, decode_params(&text, json, &limits));
}
