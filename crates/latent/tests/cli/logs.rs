//! What guests say: in the record, on standard error, charged and bounded.

use crate::support::{Scratch, run, run_json};

#[test]
fn standard_output_becomes_records_that_are_charged() {
    let record = run_json("stdout", &["--call", "lines", "--args", "[3]"]).record();
    let logs = record["logs"].as_array().unwrap();
    assert_eq!(logs.len(), 3, "{record}");
    assert_eq!((&logs[0]["level"], &logs[0]["fields"]["stream"]), (&"info".into(), &"stdout".into()));
    assert!(record["consumption"]["log_bytes"].as_u64() > Some(3 * 64), "{record}");
}

#[test]
fn in_text_log_lines_come_before_the_line_about_the_activation() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("stdout"), &["--call", "stderr", "--args", r#"["careful now"]"#]);
    assert_eq!((ran.code, ran.text()), (Some(0), "null\n"));
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines[0].ends_with("careful now stream=stderr") && lines[1].starts_with("succeeded; "), "{ran:?}");
}

#[test]
fn a_guest_cannot_drive_the_terminal() {
    let scratch = Scratch::new();
    let ran = run(&scratch.guest("stdout"), &["--call", "weird"]);
    assert_eq!(ran.code, Some(0));
    let controls: Vec<_> = ran.stderr.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(controls.is_empty(), "{controls:?} in {ran:?}");
    assert!(ran.stderr.contains("\\u{1b}[31mred"), "{ran:?}");
}

#[test]
fn no_log_bytes_leave_one_notice_and_the_result() {
    let record = run_json("stdout", &["--call", "lines", "--args", "[5]", "--log-bytes", "0"]).record();
    assert_eq!((&record["outcome"], &record["consumption"]["log_bytes"]), (&"succeeded".into(), &0.into()));
    let logs = record["logs"].as_array().unwrap();
    assert_eq!((logs.len(), &logs[0]["fields"]["latent.truncated"]), (1, &"true".into()), "{record}");
}

#[test]
fn nothing_that_was_accepted_is_lost_however_many_are_in_flight() {
    let flags = ["--call", "lines", "--args", "[20]", "--repeat", "60", "--concurrency", "12", "--cells", "3"];
    let (records, _) = run_json("stdout", &flags).records();
    assert_eq!(records.len(), 60);
    for record in records {
        assert_eq!(record["logs"].as_array().unwrap().len(), 20, "{record}");
    }
}

#[test]
fn a_flood_of_logs_is_bounded_by_the_grant() {
    let flags = ["--call", "lines", "--args", "[100000]", "--log-bytes", "16Ki", "--fuel", "100000000000"];
    let record = run_json("stdout", &flags).record();
    let charged = record["consumption"]["log_bytes"].as_u64().unwrap();
    assert!((15 << 10..=16 << 10).contains(&charged), "{charged}");
    assert_eq!(record["logs"].as_array().unwrap().last().unwrap()["fields"]["latent.truncated"], "true");
}
