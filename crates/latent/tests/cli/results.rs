//! Calls that go well: results and declared errors in both forms, and the ways to name functions and arguments.

use crate::support::{Scratch, end, latent, run, run_json, start};

#[test]
fn a_result_goes_to_standard_output_and_one_line_about_it_to_standard_error() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("echo"), &["--call", "echo-string", "--args", r#"["héllo"]"#]);
    assert_eq!((ran.code, ran.text()), (Some(0), "\"héllo\"\n"));
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    for part in ["succeeded; time ", ", fuel ", ", peak memory 128.0 KiB"] {
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
}

#[test]
fn a_record_has_every_field_of_the_contract() {
    let ran = run_json("echo", &["--call", "echo-string", "--args", r#"["x"]"#]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    let (records, rest) = ran.records();
    let record = &records[0];
    let fields: Vec<_> = record.as_object().unwrap().keys().map(String::as_str).collect();
    let named = ["activation_id", "consumption", "logs", "outcome", "phases", "release", "result", "revision"];
    assert_eq!(fields, [&named[..], &["terminal_state"]].concat());
    assert!(record["activation_id"].as_str().unwrap().starts_with("run-"), "{record}");
    assert_eq!((&record["outcome"], &record["terminal_state"]), (&"succeeded".into(), &"completed".into()));
    assert_eq!((&record["result"], &record["logs"]), (&"x".into(), &serde_json::json!([])));
    let consumption = &record["consumption"];
    assert!(consumption["fuel"].as_u64() > Some(0) && consumption["wall_time_micros"].as_u64() > Some(0), "{record}");
    assert_eq!((&consumption["peak_memory_bytes"], &consumption["log_bytes"]), (&131_072.into(), &0.into()));
    let fields: Vec<_> = rest["pool"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["active_leases", "available", "capacity", "quarantined", "queue_depth"]);
    assert_eq!(rest["pool"]["capacity"], 16, "a node's default");
    assert!(rest["runtime"]["stores"].is_u64() && rest["runtime"]["allocator"].is_string(), "{rest}");
}

#[test]
fn a_declared_error_is_a_completed_activation_and_exit_code_3() {
    let call = ["--call", "declared", "--args", "[true]"];
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("containment-capsule"), &call);
    assert_eq!((ran.code, ran.text()), (Some(3), "\"declared failure\"\n"));
    assert!(ran.stderr.starts_with("declared error; time "), "{ran:?}");
    let ran = run_json("containment-capsule", &call);
    assert_eq!(ran.code, Some(3));
    let record = ran.record();
    assert_eq!((&record["outcome"], &record["terminal_state"]), (&"declared-error".into(), &"completed".into()));
    assert_eq!((&record["declared_error"], &record["result"]), (&"declared failure".into(), &serde_json::Value::Null));
}

#[test]
fn the_only_function_is_called_without_being_named() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("exit"), &["--args", r#"{"ok": true}"#]);
    assert_eq!((ran.code, ran.text()), (Some(0), "null\n"));
}

#[test]
fn a_contract_may_be_shortened() {
    let scratch = Scratch::new();
    let echo = scratch.guest("echo");
    for call in ["fixture:echo/echo@0.1.0#nop", "fixture:echo/echo#nop", "echo@0.1.0#nop", "echo#nop", "nop"] {
        let ran = run(&echo, &["--call", call]);
        assert_eq!((ran.code, ran.text()), (Some(0), "null\n"), "{call}: {}", ran.stderr);
    }
}

#[test]
fn arguments_come_from_the_flag_a_file_or_standard_input() {
    let scratch = Scratch::new();
    let echo = scratch.guest("echo");
    let file = format!("@{}", scratch.file("arguments.json", r#"{"text": "filed"}"#).display());
    let ran = run(&echo, &["--call", "echo-string", "--args", &file]);
    assert_eq!((ran.code, ran.text()), (Some(0), "\"filed\"\n"));
    let ran = end(start(&echo, &["--call", "echo-string", "--args", "-"], Some(br#"["piped"]"#)));
    assert_eq!((ran.code, ran.text()), (Some(0), "\"piped\"\n"));
}

#[test]
fn bytes_go_in_and_out_as_they_are() {
    let scratch = Scratch::new();
    let echo = scratch.guest("echo");
    let bytes: Vec<u8> = (0..=255).chain([0, 10, 255]).collect();
    let file = format!("@{}", scratch.file("bytes", &bytes).display());
    let octets = ["--call", "echo-bytes", "--media-type", "application/octet-stream"];
    let ran = run(&echo, &[&octets[..], &["--args", &file]].concat());
    assert_eq!((ran.code, &ran.stdout), (Some(0), &bytes));
    let record = run(&echo, &[&octets[..], &["--args", "hé", "--output", "json"]].concat()).record();
    assert_eq!((&record["media_type"], &record["result"]), (&"application/octet-stream".into(), &"aMOp".into()));
    let none = run(&echo, &octets);
    assert_eq!((none.code, none.text()), (Some(0), ""), "without arguments there are no bytes");
}

#[test]
fn component_text_is_assembled() {
    let scratch = Scratch::new();
    let text = r#"(component
        (core module $m (func (export "seven") (result i32) (i32.const 7)))
        (core instance $i (instantiate $m))
        (func (export "seven") (result u32) (canon lift (core func $i "seven"))))"#;
    let ran = run(&scratch.file("seven.wat", text), &[]);
    assert_eq!((ran.code, ran.text()), (Some(0), "7\n"), "{}", ran.stderr);
}

#[test]
fn the_help_needs_no_other_page() {
    let help = latent(&["run", "--help"]);
    assert_eq!(help.code, Some(0));
    for part in [
        "--call",
        "--args",
        "--media-type",
        "--fuel",
        "--memory",
        "--deadline",
        "--log-bytes",
        "--cells",
        "--repeat",
        "--concurrency",
        "--output",
        "64Mi",
        "500ms",
        "analyze#reverse",
        "deadline-exceeded",
        "130",
        "list<u8>",
        "consumption",
        "revision",
        "release",
        "phases",
        "Examples:",
    ] {
        assert!(help.text().contains(part), "no {part}");
    }
    assert_eq!(latent(&[]).code, Some(2));
    assert_eq!(latent(&["--version"]).code, Some(0));
}

#[test]
fn a_result_cannot_drive_the_terminal_and_keeps_its_value() {
    let scratch = Scratch::new();
    let args = ["--call", "echo-string", "--args", "[\"\\u009b31m\\u202eabc\\u007f\"]"];
    let ran = run(&scratch.guest("echo"), &args);
    assert_eq!((ran.code, ran.text()), (Some(0), "\"\\u009b31m\\u202eabc\\u007f\"\n"), "{ran:?}");
}
