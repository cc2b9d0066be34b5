//! What a record says of its activation's way: the revision it was pinned to, the component, and each phase.

use std::time::{Duration, SystemTime};

use latent_core::Sha256Digest;
use serde_json::Value;

use crate::support::{Scratch, run, run_json};

const ABUNDANT_FUEL: &str = "18446744073709551615";
const PHASES: [&str; 6] = ["received", "resolved", "admitted", "queued", "materializing", "running"];

/// Asserts that the phases are without a gap in number and order, that time does not run backwards on either clock, and
/// that the last one alone is terminal, as the record is; answers in which phase it ended.
#[track_caller]
pub fn assert_course(record: &Value) -> &str {
    let events = record["phases"].as_array().unwrap_or_else(|| panic!("no phases in {record}"));
    let (last, live) = events.split_last().expect("there is an end");
    assert!(!live.is_empty(), "{record}");
    for (event, (sequence, phase)) in live.iter().zip((1_u64..).zip(PHASES)) {
        assert_eq!((&event["sequence"], &event["phase"]), (&sequence.into(), &phase.into()), "{record}");
        assert_eq!(event.get("terminal"), None, "{record}");
    }
    assert_eq!(last["sequence"], events.len(), "{record}");
    assert_eq!(last["phase"], live[live.len() - 1]["phase"], "{record}");
    assert_eq!(last["terminal"], record["terminal_state"], "{record}");
    let micros: Vec<u64> = events.iter().map(|event| event["at_micros"].as_u64().expect("a whole number")).collect();
    assert!(micros[0] == 0 && micros.is_sorted(), "{record}");
    let at = |event: &Value| humantime::parse_rfc3339(event["at"].as_str().expect("a time")).expect("a point in time");
    let received: SystemTime = at(&events[0]);
    for (event, micros) in events.iter().zip(micros) {
        let since = at(event).duration_since(received).expect("no event is before the reception");
        assert!(since.abs_diff(Duration::from_micros(micros)) <= Duration::from_micros(1), "{record}");
    }
    last["phase"].as_str().expect("a name")
}

#[track_caller]
fn assert_ends(fixture: &str, flags: &[&str], state: &str, phase: &str) {
    let record = run_json(fixture, flags).record();
    assert_eq!((&record["terminal_state"], assert_course(&record)), (&state.into(), phase), "{record}");
    assert!(record["revision"].is_string() && record["release"].is_string(), "{record}");
}

#[test]
fn the_release_is_the_components_digest_and_the_revision_that_of_component_and_service() {
    let scratch = Scratch::new();
    let called = |name: &str, bytes: &[u8], call: &str| {
        let file = scratch.file(name, bytes);
        let record = run(&file, &["--call", call, "--output", "json"]).record();
        let digest = |field: &str| record[field].as_str().unwrap().to_owned();
        assert_eq!(digest("release"), Sha256Digest::of(bytes).to_string());
        let revision = digest("revision");
        assert!(revision.len() == 64 && revision.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
        revision
    };
    let (echo, capsule) = (latent_guests::component("echo"), latent_guests::component("containment-capsule"));
    let revision = called("service.wasm", echo, "nop");
    assert_eq!(called("service.wasm", echo, "nop"), revision, "the same, called again");
    assert_ne!(called("service.wasm", capsule, "trap"), revision, "another component");
    assert_ne!(called("other.wasm", echo, "nop"), revision, "another service");
}

#[test]
fn a_call_that_goes_well_has_every_phase() {
    let record = run_json("echo", &["--call", "nop"]).record();
    assert_eq!(assert_course(&record), "running");
    assert_eq!(record["phases"].as_array().unwrap().len(), PHASES.len() + 1);
}

#[test]
fn a_guest_that_fails_ends_in_the_phase_in_which_it_ran() {
    let capsule = "containment-capsule";
    assert_ends(capsule, &["--call", "trap"], "guest-trap", "running");
    assert_ends(capsule, &["--call", "spin", "--fuel", "1000000"], "resource-exhausted", "running");
    let deadline = ["--call", "spin", "--fuel", ABUNDANT_FUEL, "--deadline", "100ms"];
    assert_ends(capsule, &deadline, "deadline-exceeded", "running");
    assert_ends("echo", &["--call", "echo-string", "--args", "[1]"], "rejected", "running");
}

#[test]
fn a_deadline_that_has_passed_already_comes_before_admission() {
    assert_ends("echo", &["--call", "nop", "--deadline", "0ms"], "deadline-exceeded", "resolved");
}

#[test]
fn a_deadline_that_passes_in_the_queue_ends_the_activation_there() {
    let flags = ["--call", "spin", "--deadline", "300ms", "--fuel", ABUNDANT_FUEL];
    let load = ["--cells", "1", "--concurrency", "16", "--repeat", "16"];
    let (records, _) = run_json("containment-capsule", &[&flags[..], &load].concat()).records();
    assert_eq!(records.len(), 16);
    let ended_in: Vec<_> = records.iter().map(assert_course).collect();
    for (record, phase) in records.iter().zip(&ended_in) {
        assert_eq!(record["terminal_state"], "deadline-exceeded", "{record}");
        assert!(*phase == "running" || record["consumption"]["fuel"] == 0, "{record}");
    }
    // Whoever gets the cell in the instant before its deadline ends in a later phase, without having done anything.
    assert!(ended_in.contains(&"running") && ended_in.contains(&"queued"), "{ended_in:?}");
}

#[test]
fn a_load_that_outlasts_its_deadlines_goes_on_to_its_end() {
    let flags = ["--call", "spin", "--deadline", "50ms", "--fuel", ABUNDANT_FUEL];
    let load = ["--cells", "1", "--concurrency", "4", "--repeat", "24"];
    let ran = run_json("containment-capsule", &[&flags[..], &load].concat());
    assert_eq!((ran.code, &*ran.stderr), (Some(4), ""));
    let (records, _) = ran.records();
    assert_eq!(records.len(), 24);
    for record in &records {
        assert_course(record);
        // Who could hardly be in time, because others have waited as long, may be told so at once.
        let told_at_once = record["terminal_state"] == "rejected"
            && record["error"]["retryable"] == true
            && record["error"]["details"][0]["fields"]["reason"] == "queue-deadline-infeasible";
        assert!(told_at_once || record["terminal_state"] == "deadline-exceeded", "{record}");
    }
}

#[test]
fn nothing_was_called_of_a_component_that_cannot_be_prepared() {
    let scratch = Scratch::new();
    let ran = run(&scratch.file("broken.wasm", b"\0asm\x0d\0\x01\0"), &["--output", "json"]);
    assert_eq!(ran.code, Some(1));
    let record = ran.record();
    assert_eq!((&record["outcome"], &record["terminal_state"]), (&"failed".into(), &"rejected".into()));
    for field in ["revision", "release", "phases"] {
        assert_eq!(record.get(field), None, "{record}");
    }
}

#[test]
fn however_many_are_in_flight_none_is_refused_for_want_of_room() {
    let granted = ["--fuel", ABUNDANT_FUEL, "--memory", "15Ei", "--log-bytes", "15Ei"];
    let many = ["--call", "delayed-echo", "--args", r#"["x", "1"]"#, "--cells", "4"];
    let load = ["--concurrency", "1000", "--repeat", "1500"];
    let ran = run_json("containment-capsule", &[&many[..], &granted, &load].concat());
    assert_eq!((ran.code, ran.records().0.len()), (Some(0), 1500));
    let ran = run_json("echo", &["--call", "nop", "--repeat", "10000", "--concurrency", "64"]);
    let (records, _) = ran.records();
    assert_eq!((ran.code, records.len()), (Some(0), 10_000));
    let course_is_whole = |record: &Value| assert_course(record) == "running";
    assert!(records.iter().all(course_is_whole));
}
