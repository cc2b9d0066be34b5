//! Activations that fail: each limit, each way to leave, with record, exit code and a node that is at rest after.

use serde_json::Value;

use crate::support::{Scratch, run, run_json};

const ABUNDANT_FUEL: &str = "18446744073709551615";

/// Runs the capsule and asserts how it failed; answers the record.
#[track_caller]
fn fails(fixture: &str, flags: &[&str], state: &str, kind: &str) -> Value {
    let ran = run_json(fixture, flags);
    assert_eq!((ran.code, &*ran.stderr), (Some(4), ""), "{flags:?}");
    let record = ran.record();
    assert_eq!((&record["outcome"], &record["terminal_state"]), (&"failed".into(), &state.into()), "{record}");
    assert_eq!(record["error"]["details"][0]["kind"], kind, "{record}");
    assert_eq!(record["error"]["retryable"], false, "{record}");
    assert!(record["error"]["code"].is_string() && record["error"]["message"].is_string(), "{record}");
    record
}

#[test]
fn a_trap_is_reported_with_its_category() {
    let record = fails("containment-capsule", &["--call", "trap"], "guest-trap", "activation.guest-trap");
    assert_eq!(record["error"]["code"], "guest-trap");
    assert_eq!(record["error"]["details"][0]["fields"]["category"], "unreachable");
    assert!(record["consumption"]["fuel"].as_u64() > Some(0), "{record}");
}

#[test]
fn fuel_runs_out_exactly_at_the_grant() {
    let spin = ["--call", "spin", "--fuel", "1000000"];
    let record = fails("containment-capsule", &spin, "resource-exhausted", "activation.fuel-exhausted");
    assert_eq!(record["consumption"]["fuel"], 1_000_000);
}

#[test]
fn memory_is_denied_above_the_grant() {
    let grow = ["--call", "grow-memory", "--args", "[16]", "--memory", "8Mi"];
    let record = fails("containment-capsule", &grow, "resource-exhausted", "activation.memory-exhausted");
    let peak = record["consumption"]["peak_memory_bytes"].as_u64().unwrap();
    assert!((4 << 20..=8 << 20).contains(&peak), "{peak}");
}

#[test]
fn more_memory_than_the_default_can_be_granted() {
    let grow = |memory| ["--call", "grow-memory-politely", "--args", "[1024]", "--memory", memory];
    let pages = |memory| run_json("containment-capsule", &grow(memory)).record()["result"].as_u64().unwrap();
    assert!(pages("64Mi") <= 1024 && pages("128Mi") > 1024);
}

#[test]
fn a_deadline_stops_a_spinning_and_a_parked_guest() {
    let deadline = ["--deadline", "100ms", "--fuel", ABUNDANT_FUEL];
    for call in [&["--call", "spin"][..], &["--call", "delayed-echo", "--args", r#"["x", "3600000"]"#]] {
        let flags = [call, &deadline].concat();
        let record = fails("containment-capsule", &flags, "deadline-exceeded", "activation.deadline-exceeded");
        let micros = record["consumption"]["wall_time_micros"].as_u64().unwrap();
        assert!((50_000..=600_000 + 1_000).contains(&micros), "{call:?} took {micros} microseconds");
    }
}

#[test]
fn a_deadline_that_has_passed_already_lets_nothing_run() {
    let flags = ["--call", "trap", "--deadline", "0ms"];
    let record = fails("containment-capsule", &flags, "deadline-exceeded", "activation.deadline-exceeded");
    assert_eq!(record["consumption"]["fuel"], 0);
}

#[test]
fn absurdly_large_limits_are_just_large() {
    for (flag, value) in [
        ("--fuel", ABUNDANT_FUEL),
        ("--memory", "15Ei"),
        ("--memory", ABUNDANT_FUEL),
        ("--log-bytes", ABUNDANT_FUEL),
        ("--deadline", "1000000years"),
        ("--deadline", "18446744073709551615ms"),
        ("--deadline", "1s"),
    ] {
        let ran = run_json("echo", &["--call", "nop", flag, value]);
        assert_eq!(ran.code, Some(0), "{flag} {value}: {ran:?}");
        assert_eq!(ran.record()["result"], Value::Null);
    }
}

#[test]
fn an_exit_is_a_result_only_where_the_function_has_one() {
    let left = |status: u8| run_json("exit-with-code", &["--args", &format!("[{status}]")]);
    assert_eq!(left(0).code, Some(0));
    for status in [1, 255] {
        let ran = left(status);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let record = ran.record();
        assert_eq!(record["terminal_state"], "guest-trap", "{record}");
        assert_eq!(record["error"]["details"][0]["fields"]["status"], status.to_string(), "{record}");
    }
}

#[test]
fn in_text_a_failure_is_one_line_with_code_message_and_details() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("containment-capsule"), &["--call", "trap"]);
    assert_eq!((ran.code, ran.text(), ran.stderr.lines().count()), (Some(4), "", 1), "{ran:?}");
    for part in
        ["failed: guest-trap: ", "(activation.guest-trap category=unreachable); time ", ", fuel ", "peak memory"]
    {
        assert!(ran.stderr.contains(part), "no {part}: {ran:?}");
    }
}
