//! Many calls in one command: order of the output, more calls than cells, the worst exit code.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};

use crate::support::{Scratch, end, run, run_json, start};

#[test]
fn more_calls_in_flight_than_cells_wait_for_one() {
    let flags = ["--call", "delayed-echo", "--args", r#"["x", "5"]"#];
    let load = ["--cells", "2", "--concurrency", "16", "--repeat", "48"];
    let ran = run_json("containment-capsule", &[&flags[..], &load].concat());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    let (records, rest) = ran.records();
    assert_eq!((records.len(), &rest["pool"]["capacity"]), (48, &2.into()));
    let ids: HashSet<_> = records.iter().map(|record| record["activation_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 48, "ids are unique");
    assert!(records.iter().all(|record| record["result"] == "x"));
}

#[test]
fn in_text_each_of_many_is_named() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("echo"), &["--call", "echo-string", "--args", r#"["x"]"#, "--repeat", "3"]);
    assert_eq!((ran.code, ran.text()), (Some(0), "\"x\"\n\"x\"\n\"x\"\n"));
    assert!(ran.stderr.lines().all(|line| line.starts_with("run-") && line.contains(" succeeded; ")), "{ran:?}");
}

#[test]
fn a_failure_is_repeated_as_often_as_asked_and_its_exit_code_kept() {
    let ran = run_json("containment-capsule", &["--call", "trap", "--repeat", "20", "--concurrency", "4"]);
    assert_eq!(ran.code, Some(4));
    assert_eq!(ran.records().0.len(), 20);
}

#[test]
fn a_refusal_is_not_repeated() {
    let ran = run_json("echo", &["--call", "echo-string", "--args", "[1]", "--repeat", "1000"]);
    assert_eq!((ran.code, ran.records().0.len()), (Some(1), 1));
}

#[test]
fn a_deadline_counts_the_wait_for_a_cell() {
    let flags = ["--call", "spin", "--deadline", "150ms", "--fuel", "18446744073709551615"];
    let load = ["--cells", "1", "--concurrency", "8", "--repeat", "8"];
    let (records, _) = run_json("containment-capsule", &[&flags[..], &load].concat()).records();
    assert_eq!(records.len(), 8);
    assert!(records.iter().all(|record| record["terminal_state"] == "deadline-exceeded"), "{records:?}");
    let never_ran = records.iter().filter(|record| record["consumption"]["fuel"] == 0).count();
    assert!(never_ran >= 6, "all wait at once for one cell: {records:?}");
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let scratch = Scratch::new();
    let flags = ["--call", "nop", "--repeat", "18446744073709551615", "--concurrency", "4", "--output", "json"];
    let mut child = start(&scratch.guest("echo"), &flags, None);
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("it was piped"));
    reader.read_line(&mut first).expect("the first record");
    drop(reader);
    let ran = end(child);
    assert!(first.contains("succeeded"), "{first}");
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
}

#[test]
fn an_output_that_takes_nothing_is_a_local_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("this system has /dev/full");
    let scratch = Scratch::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_latent"));
    command.arg("run").arg(scratch.guest("echo")).args(["--call", "nop"]).stdout(full);
    let ran = end(command.stderr(std::process::Stdio::piped()).spawn().expect("the binary starts"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("error: cannot write to standard output: "), "{ran:?}");
}
