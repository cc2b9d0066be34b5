//! Values through real guests: what goes in as JSON or bytes comes back equal, and what cannot go in never meets a
//! store.

use latent_core::{ExecutionOutcome, MediaType, Payload, PlatformErrorCode};
use latent_executor::ComponentArtifact;

use crate::support::{Call, bench, guest, request, request_of};

fn roundtrip(kind: &str, args: &str) -> Call {
    request("types", "types", &format!("roundtrip-{kind}"), args)
}

/// The JSON of values, by what is behind `roundtrip-`, in the form in which results are written.
const VALUES: &[(&str, &[&str])] = &[
    ("bool", &["true", "false"]),
    ("u8", &["0", "255"]),
    ("u16", &["0", "65535"]),
    ("u32", &["0", "4294967295"]),
    ("u64", &["\"0\"", "\"18446744073709551615\""]),
    ("s8", &["-128", "127"]),
    ("s16", &["-32768", "32767"]),
    ("s32", &["-2147483648", "2147483647"]),
    ("s64", &["\"-9223372036854775808\"", "\"9223372036854775807\""]),
    ("f32", &["0.0", "-0.0", "0.1", "1.5", "3.4028235e38", "\"NaN\"", "\"Infinity\"", "\"-Infinity\""]),
    ("f64", &["0.0", "-0.0", "0.1", "5e-324", "1.7976931348623157e308", "\"NaN\"", "\"-Infinity\""]),
    ("char", &["\"a\"", "\"é\"", "\"🦀\"", "\"\\u0000\"", "\"\\\"\""]),
    ("enum", &["\"red\"", "\"green\"", "\"deep-blue\""]),
    ("flags", &["[]", "[\"write\"]", "[\"read\",\"write\",\"run-it\"]"]),
    ("string", &["\"\"", "\"plain\"", "\"é🦀\"", "\"a \\\"quoted\\\" \\\\ \\n \\u0000 line\""]),
    ("bytes", &["\"\"", "\"AA==\"", "\"AP8Q\""]),
    ("list-string", &["[]", "[\"\"]", "[\"a\",\"é\",\"\"]"]),
    ("list-u32", &["[]", "[1,2,4294967295]"]),
    ("list-u64", &["[]", "[\"1\",\"18446744073709551615\"]"]),
    ("list-f64", &["[]", "[0.5,\"NaN\",-0.0]"]),
    ("list-bytes", &["[]", "[\"\",\"AP8Q\"]"]),
    (
        "list-person",
        &["[]", "[{\"name\":\"A\",\"age\":1,\"email\":null},{\"name\":\"\",\"age\":255,\"email\":\"b@c\"}]"],
    ),
    ("list-shape", &["[\"nothing\",{\"count\":7},{\"label\":\"x\"}]"]),
    ("list-option", &["[null,0,4294967295]"]),
    ("option", &["null", "0", "7"]),
    ("option-option", &["null", "{\"some\":null}", "{\"some\":7}"]),
    ("result", &["{\"ok\":7}"]),
    ("result-plain", &["{\"ok\":null}"]),
    ("tuple", &["[7,\"seven\"]"]),
    ("variant", &["\"nothing\"", "{\"count\":7}", "{\"label\":\"x\"}"]),
    ("scalar", &["{\"whole\":\"18446744073709551615\"}", "{\"real\":-1.5}", "{\"letter\":\"🦀\"}"]),
    ("record", &["{\"name\":\"A\",\"age\":1,\"email\":null}", "{\"name\":\"B\",\"age\":2,\"email\":\"b@c\"}"]),
    ("wide", &[WIDE]),
];

const WIDE: &str = concat!(
    r#"{"truth":true,"tiny":255,"tiny-signed":-128,"small":65535,"small-signed":-32768,"medium":4294967295,"#,
    r#""medium-signed":-2147483648,"large":"18446744073709551615","large-signed":"-9223372036854775808","#,
    r#""single":0.1,"double":0.1,"letter":"é","text":"wide","data":"AP8Q","numbers":[1,2,3],"maybe":"7","#,
    r#""outcome":{"err":"no"},"hue":"deep-blue","rights":["read","run-it"],"pair":[1,"2"]}"#
);

#[tokio::test]
async fn every_kind_of_value_comes_back_as_it_went_in() {
    let bench = bench();
    for (kind, values) in VALUES {
        for value in *values {
            assert_eq!(bench.json(roundtrip(kind, &format!("[{value}]"))).await, *value, "{kind}, in order");
            let named = format!("{{\"value\":{value}}}");
            assert_eq!(bench.json(roundtrip(kind, &named)).await, *value, "{kind}, by name");
        }
    }
    let many = r#"{"truth":true,"number":7,"text":"x"}"#;
    assert_eq!(bench.json(roundtrip("many", many)).await, "[7,\"x\",true]");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn every_exported_roundtrip_is_tried() {
    let bench = bench();
    let error = bench.refusal(request("types", "types", "nowhere", "[]")).await;
    // The list of what is exported is cut to a message's length, so the contract is read from the fixture's text.
    assert!(error.message().contains("roundtrip-bool"), "{}", error.message());
    let contract = include_str!("../../../../guests/types/world.wit");
    let exported = contract.lines().filter_map(|line| line.trim().strip_prefix("roundtrip-")?.split(':').next());
    let untried: Vec<_> =
        exported.filter(|kind| *kind != "many" && !VALUES.iter().any(|(known, _)| known == kind)).collect();
    assert!(untried.is_empty(), "{untried:?}");
}

#[tokio::test]
async fn the_err_of_a_sole_result_is_a_declared_error_and_nothing_else_is() {
    let bench = bench();
    let declared = bench.outcome(roundtrip("result", "[{\"err\":\"no\"}]")).await;
    assert_eq!(declared, ExecutionOutcome::DeclaredError(Payload::json("\"no\"")));
    let plain = bench.outcome(roundtrip("result-plain", "[{\"err\":null}]")).await;
    assert_eq!(plain, ExecutionOutcome::DeclaredError(Payload::json("null")));
    let text = bench.outcome(roundtrip("string", "[\"{\\\"err\\\":1}\"]")).await;
    assert!(matches!(text, ExecutionOutcome::Returned(_)), "a payload that looks like one is none");
}

#[tokio::test]
async fn the_paths_for_text_and_bytes_say_what_dynamic_values_say() {
    let bench = bench();
    for text in ["\"\"", "\"é🦀\"", "\"a \\\"quoted\\\" \\\\ \\t \\u0000 line\"", "\"\\u007f\\u0001\""] {
        let fast = bench.json(roundtrip("string", &format!("[{text}]"))).await;
        assert_eq!(bench.json(roundtrip("list-string", &format!("[[{text}]]"))).await, format!("[{fast}]"));
    }
    for bytes in ["\"\"", "\"AA==\"", "\"AP8Q\"", "[0,255,16]"] {
        let fast = bench.json(roundtrip("bytes", &format!("[{bytes}]"))).await;
        assert_eq!(bench.json(roundtrip("list-bytes", &format!("[[{bytes}]]"))).await, format!("[{fast}]"));
    }
    for (fast, dynamic, bad) in [
        ("string", "list-string", "7"),
        ("string", "list-string", "\"\\ud800\""),
        ("bytes", "list-bytes", "[256]"),
        ("bytes", "list-bytes", "\"A\""),
    ] {
        for (kind, args) in [(fast, format!("[{bad}]")), (dynamic, format!("[[{bad}]]"))] {
            let error = bench.refusal(roundtrip(kind, &args)).await;
            assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{kind} {args}");
        }
    }
}

#[tokio::test]
async fn a_megabyte_of_octets_goes_in_and_comes_back() {
    let bench = bench();
    let octets: Vec<u8> = (0..1 << 20).map(|at: u32| at.to_le_bytes()[(at % 3) as usize]).collect();
    let base64 = {
        let mut request = request("echo", "echo", "echo-bytes", "[]");
        request.payload = Payload::octets(octets.clone());
        let ended = bench.outcome(request).await;
        assert_eq!(ended, ExecutionOutcome::Returned(Payload::octets(octets.clone())));
        let mut request = roundtrip("bytes", "[]");
        request.payload = Payload::octets(octets.clone());
        assert_eq!(bench.outcome(request).await, ExecutionOutcome::Returned(Payload::octets(octets.clone())));
        let numbers = octets.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        bench.json(roundtrip("bytes", &format!("[[{numbers}]]"))).await
    };
    assert_eq!(bench.json(roundtrip("bytes", &format!("[{base64}]"))).await, base64);
    let mut empty = request("echo", "echo", "echo-bytes", "[]");
    empty.payload = Payload::octets(Vec::new());
    assert_eq!(bench.outcome(empty).await, ExecutionOutcome::Returned(Payload::octets(Vec::new())));
}

#[tokio::test]
async fn octets_for_another_signature_are_refused() {
    let bench = bench();
    for kind in ["string", "list-bytes", "many", "wide", "list-u32"] {
        let mut request = roundtrip(kind, "[]");
        request.payload = Payload::octets(&b"\x01"[..]);
        let error = bench.refusal(request).await;
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{kind}");
        assert!(error.message().contains("application/octet-stream") && error.message().contains("list<u8>"));
    }
}

/// Returns its input as `ok`, or an error of its type when there is none. The typed paths take the first two, dynamic
/// values the third.
fn fallible() -> ComponentArtifact {
    let wit = "
        package fixture:fallible@0.1.0;
        interface echo {
            or-text: func(data: list<u8>) -> result<list<u8>, string>;
            or-nothing: func(data: list<u8>) -> result<list<u8>>;
            or-number: func(data: list<u8>) -> result<list<u8>, u32>;
        }
        world fixture { export echo; }";
    let function = |name: &str, error: &str| {
        format!(
            r#"(func (export "fixture:fallible/echo@0.1.0#{name}") (param $at i32) (param $len i32) (result i32)
              (i32.store8 (i32.const 16) (i32.eqz (local.get $len)))
              (i32.store (i32.const 20) (local.get $at))
              (i32.store (i32.const 24) (local.get $len))
              (if (i32.eqz (local.get $len)) (then {error}))
              (i32.const 16))"#
        )
    };
    let text = "(i32.store (i32.const 20) (i32.const 64)) (i32.store (i32.const 24) (i32.const 5))";
    let module = [
        "(module (memory $memory (export \"memory\") 2) (data (i32.const 64) \"empty\")",
        ";; include bump-allocator",
        &function("or-text", text),
        &function("or-nothing", ""),
        &function("or-number", "(i32.store (i32.const 20) (i32.const 7))"),
        ")",
    ];
    guest(wit, &module.join("\n"))
}

#[tokio::test]
async fn bytes_or_an_error_return_alike_on_every_path() {
    let bench = bench();
    let component = fallible();
    for (function, error) in [("or-text", "\"empty\""), ("or-nothing", "null"), ("or-number", "7")] {
        let call = |args: Payload| {
            let mut request = request_of(&component, &format!("fixture:fallible/echo@0.1.0#{function}"), "[]");
            request.payload = args;
            request
        };
        let json = bench.outcome(call(Payload::json("[\"AP8Q\"]"))).await;
        assert_eq!(json, ExecutionOutcome::Returned(Payload::json("{\"ok\":\"AP8Q\"}")), "{function}");
        let octets = bench.outcome(call(Payload::octets(&b"\x00\xff\x10"[..]))).await;
        assert_eq!(octets, ExecutionOutcome::Returned(Payload::octets(&b"\x00\xff\x10"[..])), "{function}");
        for empty in [Payload::json("[\"\"]"), Payload::octets(Vec::new())] {
            let declared = bench.outcome(call(empty)).await;
            assert_eq!(declared, ExecutionOutcome::DeclaredError(Payload::json(error)), "{function}");
        }
    }
}

#[tokio::test]
async fn a_malformed_payload_names_its_path_and_never_meets_a_store() {
    let bench = bench();
    for (kind, args, path) in [
        ("u8", "[256]", "$[0]"),
        ("u8", "{\"value\":\"x\"}", "$.value"),
        ("list-person", "[[{\"name\":\"A\",\"age\":1},{\"name\":\"B\",\"age\":-1}]]", "$[0][1].age"),
        ("wide", "[{\"truth\":1}]", "$[0].truth"),
        ("list-bytes", "[[\"AA==\",\"!\"]]", "$[0][1]"),
        ("many", "[1,\"x\"]", "$"),
        ("bool", "[true", "$"),
        ("bool", "", "$"),
        ("bool", "\u{0}", "$"),
    ] {
        // `refusal` asserts that nothing was consumed, which a store would have.
        let error = bench.refusal(roundtrip(kind, args)).await;
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{kind} {args}");
        assert_eq!(error.details()[0].field("path"), Some(path), "{kind} {args}: {}", error.message());
        assert!(error.message().contains(path), "{}", error.message());
    }
}

#[tokio::test]
async fn a_payload_over_its_bounds_is_refused_on_every_path() {
    let bench = bench();
    let large = vec![b' '; (8 << 20) + 1];
    for (kind, media_type) in [
        ("string", MediaType::Json),
        ("bytes", MediaType::Json),
        ("wide", MediaType::Json),
        ("bytes", MediaType::OctetStream),
    ] {
        let mut request = roundtrip(kind, "[]");
        request.payload = Payload { media_type, bytes: large.clone().into() };
        let error = bench.refusal(request).await;
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{kind}");
        let detail = &error.details()[0];
        assert_eq!((detail.kind(), detail.field("limit")), ("values.limit", Some("bytes-in")), "{kind}");
    }
    let deep = format!("[{}1{}]", "[".repeat(5_000), "]".repeat(5_000));
    let error = bench.refusal(roundtrip("list-u32", &deep)).await;
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
}

#[tokio::test]
async fn a_function_that_is_not_there_is_answered_with_those_that_are() {
    let bench = bench();
    let error = bench.refusal(request("echo", "echo", "nowhere", "[]")).await;
    assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
    for name in ["nowhere", "echo-string", "echo-bytes", "nop"] {
        assert!(error.message().contains(name), "{}", error.message());
    }
    let error = bench.refusal(request("echo", "other", "nop", "[]")).await;
    assert!(error.message().contains("fixture:echo/echo@0.1.0#nop"), "{}", error.message());
}

#[tokio::test]
async fn a_function_with_a_resource_is_refused_with_its_reason_and_its_neighbour_works() {
    let bench = bench();
    for (function, kind) in [("make", "an owned resource"), ("weigh", "a borrowed resource")] {
        let error = bench.refusal(request("resource-signature", "tokens", function, "[]")).await;
        assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
        assert!(error.message().contains(function) && error.message().contains(kind), "{}", error.message());
    }
    let plain = bench.json(request("resource-signature", "tokens", "plain", "[]")).await;
    assert!(plain.parse::<u32>().is_ok(), "{plain}");
}
