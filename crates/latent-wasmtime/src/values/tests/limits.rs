//! Each bound: what fits exactly is taken, one more is refused with the name of the bound.

use latent_core::contract::ValueType;
use latent_core::error::{PlatformError, PlatformErrorCode};
use wasmtime::component::Val;

use super::{field, list, names, option, takes};
use crate::values::{EncodeError, ValueLimits, decode_params, decode_single_bytes, decode_single_string, encode};
use crate::values::{encode_bytes, encode_string};

fn limited(error: &PlatformError) -> (&str, u64, &str) {
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    let [detail] = error.details() else { panic!("one detail: {error:?}") };
    assert_eq!(detail.kind(), "values.limit");
    let max = detail.field("max").unwrap();
    assert!(error.message().contains(max), "{error}");
    (detail.field("limit").unwrap(), max.parse().unwrap(), detail.field("path").unwrap())
}

#[test]
fn a_payload_of_exactly_the_bound_is_taken_and_one_byte_more_is_not() {
    let json = b"[\"abcd\"]";
    let mut limits = ValueLimits { bytes_in_max: json.len(), ..ValueLimits::default() };
    let signature = takes(&[("a", ValueType::String)]);
    assert!(decode_params(&signature, json, &limits).is_ok());
    assert!(decode_single_string("a", json, &limits).is_ok());
    limits.bytes_in_max -= 1;
    for error in [
        decode_params(&signature, json, &limits).unwrap_err(),
        decode_single_string("a", json, &limits).unwrap_err(),
        decode_single_bytes("a", json, &limits).unwrap_err(),
    ] {
        assert_eq!(limited(&error), ("bytes-in", 7, "$"));
    }
}

#[test]
fn values_are_counted_on_the_way_in_absent_ones_too() {
    let record = ValueType::Record(vec![field("a", option(ValueType::U8)), field("b", list(ValueType::U8))]);
    let signature = takes(&[("it", list(record))]);
    // The list, two records, two absent options, two byte lists.
    let json = br#"[[{"b":[1,2,3]},{"b":"AAAA"}]]"#;
    let at = |nodes_max| decode_params(&signature, json, &ValueLimits { nodes_max, ..ValueLimits::default() });
    assert!(at(7).is_ok());
    assert_eq!(limited(&at(6).unwrap_err()), ("nodes", 6, "$[0][1].a"));
    assert_eq!(limited(&at(0).unwrap_err()), ("nodes", 0, "$[0]"));
    let flags = takes(&[("it", ValueType::Flags(names(&["a", "b"])))]);
    let at = |nodes_max| decode_params(&flags, br#"[["a","b"]]"#, &ValueLimits { nodes_max, ..ValueLimits::default() });
    assert!(at(3).is_ok());
    assert_eq!(limited(&at(2).unwrap_err()), ("nodes", 2, "$[0][1]"));
}

#[test]
fn depth_is_counted_on_the_way_in_and_out() {
    let (mut ty, mut json, mut value) = (ValueType::Bool, String::from("true"), Val::Bool(true));
    for _ in 1..64 {
        (ty, json, value) = (list(ty), format!("[{json}]"), Val::List(vec![value]));
    }
    let limits = ValueLimits::default();
    let payload = format!("[{json}]");
    let decoded = decode_params(&takes(&[("it", ty.clone())]), payload.as_bytes(), &limits).unwrap();
    assert_eq!(decoded, [value.clone()]);
    assert_eq!(encode(&ty, &value, &limits).unwrap(), json.as_bytes());
    (ty, json, value) = (list(ty), format!("[{json}]"), Val::List(vec![value]));
    let payload = format!("[{json}]");
    let error = decode_params(&takes(&[("it", ty.clone())]), payload.as_bytes(), &limits).unwrap_err();
    assert_eq!(limited(&error).0, "depth");
    assert_eq!(encode(&ty, &value, &limits), Err(EncodeError::TooDeep { limit: 64 }));
}

#[test]
fn nesting_that_no_type_asks_for_is_refused_where_it_starts() {
    let deep = "[".repeat(140_000);
    let limits = ValueLimits::default();
    let error = decode_params(&takes(&[("it", ValueType::String)]), deep.as_bytes(), &limits).unwrap_err();
    assert_eq!(error.details()[0].field("path"), Some("$[0]"));
    let superfluous = format!("[\"a\",{deep}");
    let error = decode_params(&takes(&[("it", ValueType::String)]), superfluous.as_bytes(), &limits).unwrap_err();
    assert_eq!(error.details()[0].kind(), "values.invalid");
}

#[test]
fn host_memory_is_charged_before_it_is_taken() {
    let dynamic = takes(&[("data", list(ValueType::U8))]);
    let json = encode_bytes(&[7; 1000], &ValueLimits::default()).unwrap();
    let payload = [b"[", &*json, b"]"].concat();
    let at = |host_bytes_max| ValueLimits { host_bytes_max, ..ValueLimits::default() };
    let fits = 1000 * (1 + size_of::<Val>()) + size_of::<Val>();
    assert!(decode_params(&dynamic, &payload, &at(fits)).is_ok());
    let error = decode_params(&dynamic, &payload, &at(fits - 1)).unwrap_err();
    assert_eq!(limited(&error), ("host-bytes", fits as u64 - 1, "$[0]"));
    let fits = 1000 + size_of::<Vec<u8>>();
    assert!(decode_single_bytes("data", &payload, &at(fits)).is_ok());
    assert_eq!(limited(&decode_single_bytes("data", &payload, &at(fits - 1)).unwrap_err()).0, "host-bytes");
    let fits = 5 + size_of::<String>();
    assert!(decode_single_string("text", b"[\"hello\"]", &at(fits)).is_ok());
    assert_eq!(limited(&decode_single_string("text", b"[\"hello\"]", &at(fits - 1)).unwrap_err()).0, "host-bytes");
}

#[test]
fn long_names_that_short_payloads_multiply_are_charged() {
    let record = ValueType::Record(vec![field(&"n".repeat(10_000), option(ValueType::U8))]);
    let json = format!("[[{}{{}}]]", "{},".repeat(9_999));
    let error = decode_params(&takes(&[("it", list(record))]), json.as_bytes(), &ValueLimits::default()).unwrap_err();
    assert_eq!(limited(&error).0, "host-bytes");
}

#[test]
fn a_result_of_exactly_the_bound_is_written_and_one_byte_more_is_not() {
    let at = |bytes_out_max| ValueLimits { bytes_out_max, ..ValueLimits::default() };
    let text = Val::String("a\n\u{1}".into());
    let bytes = Val::List(vec![Val::U8(1); 1000]);
    let record = ValueType::Record(vec![field("a", list(ValueType::U64)), field("b", ValueType::F64)]);
    let fields = vec![("a".into(), Val::List(vec![Val::U64(u64::MAX)])), ("b".into(), Val::Float64(1.5))];
    for (ty, value) in [(ValueType::String, text), (list(ValueType::U8), bytes), (record, Val::Record(fields))] {
        let json = encode(&ty, &value, &ValueLimits::default()).unwrap();
        assert_eq!(encode(&ty, &value, &at(json.len())).unwrap(), json);
        for short in 0..json.len() {
            assert_eq!(encode(&ty, &value, &at(short)), Err(EncodeError::TooLarge { limit: short }));
        }
    }
    assert!(encode_string("ab\"", &at(6)).is_ok());
    assert_eq!(encode_string("ab\"", &at(5)), Err(EncodeError::TooLarge { limit: 5 }));
    assert!(encode_bytes(&[0; 4], &at(10)).is_ok());
    assert_eq!(encode_bytes(&[0; 4], &at(9)), Err(EncodeError::TooLarge { limit: 9 }));
}

#[test]
fn a_result_never_reserves_more_than_its_bound() {
    let limits = ValueLimits { bytes_out_max: 100_000, ..ValueLimits::default() };
    let value = Val::List(vec![Val::String("twelve chars".into()); 6_600]);
    let json = encode(&list(ValueType::String), &value, &limits).unwrap();
    assert!(json.len() > 65_536 && json.capacity() <= 100_000, "{} of {}", json.len(), json.capacity());
}

#[test]
fn values_are_counted_on_the_way_out() {
    let at = |nodes_max| ValueLimits { nodes_max, ..ValueLimits::default() };
    let value = Val::List(vec![Val::Bool(true); 9]);
    assert!(encode(&list(ValueType::Bool), &value, &at(10)).is_ok());
    assert_eq!(encode(&list(ValueType::Bool), &value, &at(9)), Err(EncodeError::TooManyNodes { limit: 9 }));
    let bytes = Val::List(vec![Val::U8(1); 500]);
    assert!(encode(&list(ValueType::U8), &bytes, &at(1)).is_ok(), "a byte list is one value");
}
