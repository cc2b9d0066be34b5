//! Manifests that nobody should accept: each is refused before anything is kept, and the error says where and why.

use latent_catalog::{CapsuleManifest, DeploymentManifest, ManifestError, ManifestLimits};
use latent_core::{PlatformError, PlatformErrorCode, Sha256Digest};

/// Bounds under which only the bound that a test is about can fire.
const WIDE: ManifestLimits =
    ManifestLimits { document_bytes_max: 16 << 20, depth_max: 8, string_bytes_max: 4 << 10, entries_max: 256 };

fn refused(json: &str) -> ManifestError {
    refused_within(json, &ManifestLimits::default())
}

fn refused_within(json: &str, limits: &ManifestLimits) -> ManifestError {
    let error = DeploymentManifest::from_json(json.as_bytes(), limits).expect_err("the manifest is hostile");
    let shown = PlatformError::from(error.clone());
    assert_eq!(shown.code(), PlatformErrorCode::InvalidArgument);
    assert_eq!(shown.details()[0].kind(), "manifest.invalid");
    let odd = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
    assert!(!shown.message().contains(odd), "{:?}", shown.message());
    error
}

/// A manifest in which the value of `key` is `json`.
fn with(key: &str, json: &str) -> String {
    let digest = format!("\"{}\"", Sha256Digest::of(b"component"));
    let mut fields =
        vec![("tenant", "\"acme\""), ("service", "\"text\""), ("deployment", "\"blue\""), ("release", &*digest)];
    fields.retain(|(known, _)| *known != key);
    fields.push((key, json));
    let fields: Vec<_> = fields.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", fields.join(", "))
}

#[track_caller]
fn assert_refused_at(json: &str, path: &str, expected: &str, found: &str) {
    let error = refused(json);
    assert_eq!(error.path(), path, "{error}");
    assert!(error.expected().contains(expected), "{error}");
    assert!(error.found().contains(found), "{error}");
}

#[test]
fn a_hundred_and_forty_thousand_nested_brackets_are_refused() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nested = format!("{}1{}", open.repeat(140_000), close.repeat(140_000));
        assert_eq!(refused(&nested).expected(), "at most 65536 bytes");
        let error = refused_within(&nested, &WIDE);
        assert_eq!((error.expected(), error.found()), ("at most 8 levels", "one more"));
        let unclosed = open.repeat(140_000);
        assert_eq!(refused_within(&unclosed, &WIDE).expected(), "at most 8 levels");
    }
}

#[test]
fn the_path_of_an_error_stays_bounded_under_long_hostile_keys() {
    let key = "k".repeat(4_000);
    let nested = format!("{}1{}", format!("{{\"{key}\":").repeat(9), "}".repeat(9));
    let error = refused_within(&nested, &WIDE);
    assert!(error.path().len() < 1_000, "{} bytes", error.path().len());
}

#[test]
fn strings_of_a_mebibyte_are_refused_wherever_they_stand() {
    let long = "x".repeat(1 << 20);
    let quoted = format!("\"{long}\"");
    for key in ["tenant", "service", "deployment", "release", "weight"] {
        let json = with(key, &quoted);
        assert_eq!(refused(&json).expected(), "at most 65536 bytes");
        let error = refused_within(&json, &WIDE);
        assert_eq!((error.path(), error.found()), (&*format!("$.{key}"), "1048576 bytes"));
    }
    let as_key = refused_within(&with(&long, "1"), &WIDE);
    assert_eq!((as_key.path(), as_key.found()), ("$", "1048576 bytes"));
    let escaped = with("tenant", &format!("\"{}\"", "\\u0078".repeat(5_000)));
    assert_eq!(refused_within(&escaped, &WIDE).found(), "5000 bytes", "counted after its escapes are read");
}

#[test]
fn repeated_keys_are_refused_at_every_level() {
    assert_refused_at(r#"{"tenant": "a", "tenant": "a"}"#, "$.tenant", "each key once", "repeated");
    assert_refused_at(r#"{"tenant": "a", "t\u0065nant": "b"}"#, "$.tenant", "each key once", "repeated");
    let ceilings = with("ceilings", r#"{"fuel": 1, "fuel": 2}"#);
    assert_refused_at(&ceilings, "$.ceilings.fuel", "each key once", "repeated");
    let environment = with("environment", r#"{"A": "1", "A": "1"}"#);
    assert_refused_at(&environment, "$.environment.A", "each key once", "repeated");
    let unknown = with("more", r#"{"x": 1, "x": 2}"#);
    assert_refused_at(&unknown, "$.more.x", "each key once", "repeated");
}

#[test]
fn unknown_keys_are_refused_and_the_known_ones_named() {
    assert_refused_at(&with("colour", "1"), "$", "only the keys tenant, service", "\"colour\"");
    assert_refused_at(&with("Tenant", "\"a\""), "$", "only the keys", "\"Tenant\"");
    assert_refused_at(&with("ceilings", r#"{"cpu": 1}"#), "$.ceilings", "only the keys fuel, memory-bytes", "\"cpu\"");
    let odd = with("ten\\u202eant\\n", "1");
    assert_refused_at(&odd, "$", "only the keys", "\\u{202e}");
}

#[test]
fn missing_keys_are_named() {
    assert_refused_at("{}", "$", "the key \"tenant\"", "none");
    assert_refused_at(r#"{"tenant": "a", "service": "b", "deployment": "c"}"#, "$", "the key \"release\"", "none");
}

#[test]
fn too_many_entries_are_refused() {
    let variables: Vec<_> = (0..257).map(|at| format!("\"V{at}\": \"\"")).collect();
    let environment = with("environment", &format!("{{{}}}", variables.join(",")));
    assert_refused_at(&environment, "$.environment", "at most 256 entries", "one more");
    let imports = with("imports", &format!("[{}]", vec!["\"a:b/c\""; 257].join(",")));
    assert_refused_at(&imports, "$.imports", "at most 256 entries", "one more");
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for (text, found) in [
        ("", "an early end at line 1, column 0"),
        ("{", "an early end"),
        ("not json", "not JSON at line 1"),
        ("{} {}", "not JSON at line 1, column 4"),
        ("{\"a\": 1,}", "not JSON"),
        ("{\"a\": \"\n\"}", "not JSON"),
        ("{\"a\": \"\\ud800\"}", "not JSON"),
        ("{\"a\": 1e999}", "not JSON"),
    ] {
        assert_refused_at(text, "$", "one JSON object", found);
    }
    let invalid = DeploymentManifest::from_json(b"{\"a\": \"\xff\"}", &ManifestLimits::default()).unwrap_err();
    assert!(invalid.found().contains("not JSON"), "{invalid}");
    for (text, found) in [("[]", "an array of 0"), ("null", "null"), ("7", "7"), ("\"a\"", "\"a\""), ("true", "true")] {
        assert_refused_at(text, "$", "an object", found);
    }
}

#[test]
fn ids_are_refused_or_kept_as_they_are() {
    let long = "i".repeat(257);
    let megabyte = "i".repeat(1_000_000);
    for key in ["tenant", "service", "deployment"] {
        for (id, why) in [
            ("", "is empty"),
            ("a\\u0000b", "at byte 1"),
            ("a\\nb", "at byte 1"),
            ("a b", "at byte 1"),
            ("\\u202eevil", "at byte 0"),
            ("a\\u200bb", "at byte 1"),
            (&*long, "257 bytes"),
        ] {
            let error = refused(&with(key, &format!("\"{id}\"")));
            assert_eq!(error.path(), format!("$.{key}"));
            assert!(error.found().contains(why), "{error}");
        }
        let error = refused_within(&with(key, &format!("\"{megabyte}\"")), &WIDE);
        assert_eq!(error.found(), "1000000 bytes");
        let kept = ["a", "../a", "a.", "A", "caf\u{e9}", "cafe\u{301}", &long[..256]];
        for id in kept {
            let json = with(key, &format!("\"{id}\""));
            let read = DeploymentManifest::from_json(json.as_bytes(), &ManifestLimits::default()).unwrap();
            assert!([read.tenant.as_str(), read.service.as_str(), read.deployment.as_str()].contains(&id));
        }
    }
    assert_refused_at(&with("deployment", "\"default\""), "$.deployment", "another id", "\"default\"");
}

#[test]
fn numbers_outside_their_bounds_are_refused() {
    for json in ["0", "10001", "-1", "1.5", "1e2", "18446744073709551616", "\"1\"", "null", "[1]", "true"] {
        assert_refused_at(&with("weight", json), "$.weight", "a whole number from 1 to 10000", "");
    }
    for key in ["fuel", "memory-bytes", "wall-limit-ms"] {
        let zero = with("ceilings", &format!("{{\"{key}\": 0}}"));
        assert_refused_at(&zero, &format!("$.ceilings.{key}"), "a whole number from 1", "0");
    }
    let negative = with("ceilings", r#"{"log-bytes": -1}"#);
    assert_refused_at(&negative, "$.ceilings.log-bytes", "a whole number from 0", "negative");
}

#[test]
fn digests_in_another_form_are_refused() {
    let digest = Sha256Digest::of(b"component").to_string();
    for text in ["", "latest", &digest[1..], &digest.to_uppercase(), &format!("md5:{digest}"), &format!("{digest} ")] {
        assert_refused_at(&with("release", &format!("\"{text}\"")), "$.release", "64 lower-case hexadecimal", "");
    }
}

#[test]
fn imports_and_variables_in_another_form_are_refused() {
    for name in ["", "streams", "wasi:io", "wasi:io/streams@0.2.0", "wasi:io/", ":io/streams", "wasi:io/a/b", "w i:o/x"]
    {
        let imports = with("imports", &format!("[\"wasi:io/poll\", \"{name}\"]"));
        assert_refused_at(&imports, "$.imports[1]", "an interface without a version", "");
    }
    assert_refused_at(&with("imports", r#"["a:b/c", "a:b/c"]"#), "$.imports", "each name once", "twice");
    for name in ["", "A=B", "A\\u0000", "A\\n"] {
        let environment = with("environment", &format!("{{\"{name}\": \"\"}}"));
        assert_refused_at(&environment, "$.environment", "no = and no control", "");
    }
    assert_refused_at(&with("environment", r#"{"A": "b\u0000"}"#), "$.environment.A", "without NUL", "one");
}

#[test]
fn a_variable_of_the_wrong_type_is_not_repeated_in_the_error() {
    let error = refused(&with("environment", r#"{"TOKEN": ["hunter2"]}"#));
    assert_eq!((error.path(), error.found()), ("$.environment.TOKEN", "something else"));
}

#[test]
fn a_reference_that_names_no_secret_is_refused_and_not_repeated() {
    let long = format!("\"{}\"", "s".repeat(129));
    for name in ["\"\"", "\"..\"", "\".hunter2\"", "\"../hunter2\"", "\"hunter2\\u0000\"", "\"hunter2 \"", "7", &long] {
        let error = refused(&with("secrets", &format!("{{\"TOKEN\": {name}}}")));
        assert_eq!((error.path(), error.found()), ("$.secrets.TOKEN", "something else"), "{name}");
        assert!(error.expected().contains("1 to 128 letters, digits") && !error.to_string().contains("hunter2"));
    }
    assert_refused_at(&with("secrets", r#"{"A=B": "token"}"#), "$.secrets", "no = and no control", "");
    assert_refused_at(&with("secrets", r#"["token"]"#), "$.secrets", "an object", "");
}

#[test]
fn a_variable_cannot_be_both_a_value_and_a_secret() {
    for both in [
        r#"{"TOKEN": "value"}, "secrets": {"TOKEN": "token"}"#,
        r#"{"MODE": "fast", "TOKEN": ""}, "secrets": {"OTHER": "token", "TOKEN": "token"}"#,
    ] {
        let json = with("environment", both);
        assert_refused_at(&json, "$.secrets.TOKEN", "a variable that $.environment does not set", "one that it sets");
    }
}

#[test]
fn more_secrets_than_a_deployment_may_have_are_refused() {
    let secrets = |count: usize| {
        let references: Vec<_> = (0..count).map(|at| format!("\"V{at}\": \"s{at}\"")).collect();
        with("secrets", &format!("{{{}}}", references.join(",")))
    };
    assert_refused_at(&secrets(33), "$.secrets", "at most 32 secrets", "33");
    let most = DeploymentManifest::from_json(secrets(32).as_bytes(), &ManifestLimits::default());
    assert_eq!(most.expect("32 are allowed").secrets.len(), 32);
}

#[test]
fn capsule_manifests_are_closed_too() {
    let refused = |json: &str| CapsuleManifest::from_json(json.as_bytes(), &ManifestLimits::default()).unwrap_err();
    for (json, path) in [
        (r#"{"tenant": "acme"}"#, "$"),
        (r#"{"exports": "all"}"#, "$.exports"),
        (r#"{"exports": ["analyze"]}"#, "$.exports[0]"),
        (r#"{"exports": ["example:text/analyze@1.0.0#Run It"]}"#, "$.exports[0]"),
        (r#"{"exports": ["example:text/analyze@"]}"#, "$.exports[0]"),
        (r##"{"exports": ["#run", "#run"]}"##, "$.exports"),
        (r#"{"threading": "many"}"#, "$.threading"),
        (r#"{"ceilings": {"fuel": 0}}"#, "$.ceilings.fuel"),
    ] {
        assert_eq!(refused(json).path(), path, "{json}");
    }
}
