//! Guest output as log records: bounded, cut visibly, charged to the byte.

use latent_core::ExecutionOutcome;
use latent_executor::{ComponentArtifact, LogLevel, LogRecord};

use crate::support::{Bench, Call, bench, guest, request, request_of, returned};

const NOTICE: &str = "log budget exhausted, later records are dropped";
const TRUNCATED: (&str, &str) = ("latent.truncated", "true");

fn field(record: &LogRecord, name: &str) -> Option<String> {
    record.fields.iter().find(|(known, _)| &**known == name).map(|(_, value)| value.to_string())
}

fn is_truncated(record: &LogRecord) -> bool {
    record.fields.iter().any(|(name, value)| (&**name, &**value) == TRUNCATED)
}

/// Runs a function and answers with its accepted records and its notices, having checked the charge.
async fn spoken(bench: &Bench, mut request: Call, budget: u64) -> (Vec<LogRecord>, usize) {
    request.budget.log_bytes = budget;
    request.budget.fuel = u64::MAX / 2;
    let ran = bench.run(request.clone()).await.report;
    assert!(matches!(ran.outcome, ExecutionOutcome::Returned(_)), "{:?}", ran.outcome);
    let (notices, records): (Vec<_>, Vec<_>) = bench.logs(&request).into_iter().partition(|r| &*r.message == NOTICE);
    let charged: u64 = records.iter().map(LogRecord::charge_bytes).sum();
    assert_eq!(ran.consumption.log_bytes, charged, "what is charged is what was accepted");
    assert!(charged <= budget);
    assert!(notices.iter().all(is_truncated));
    bench.assert_healthy().await;
    (records, notices.len())
}

#[tokio::test]
async fn a_flood_of_lines_ends_at_the_budget_with_one_notice() {
    let bench = bench();
    let budget = 64 << 10;
    let (records, notices) = spoken(&bench, request("stdout", "output", "lines", "[200000]"), budget).await;
    assert_eq!(notices, 1);
    let each = records[0].charge_bytes();
    assert_eq!(records.len() as u64, budget / each, "the budget is used to the last record that fits");
    for record in &records {
        assert_eq!(&*record.message, "sixty-four bytes of output, of which the last one ends the line");
        assert_eq!((record.level, field(record, "stream").as_deref()), (LogLevel::Info, Some("stdout")));
    }
}

#[tokio::test]
async fn lines_within_the_budget_are_all_there_and_without_notice() {
    let bench = bench();
    let (records, notices) = spoken(&bench, request("stdout", "output", "lines", "[100]"), 1 << 20).await;
    assert_eq!((records.len(), notices), (100, 0));
}

#[tokio::test]
async fn a_line_of_a_gigabyte_is_one_record_that_says_it_was_cut() {
    let bench = bench();
    let (records, notices) =
        spoken(&bench, request("stdout", "output", "one-line", "[\"1073741824\"]"), 256 << 10).await;
    assert_eq!((records.len(), notices), (1, 0));
    assert_eq!(&*records[0].message, "x".repeat(4096));
    assert!(is_truncated(&records[0]));
    let (records, _) = spoken(&bench, request("stdout", "output", "one-line", "[\"4096\"]"), 256 << 10).await;
    assert!(!is_truncated(&records[0]), "a line that just fits is whole");
}

#[tokio::test]
async fn bytes_that_are_no_text_become_records_that_are() {
    let bench = bench();
    let (records, _) = spoken(&bench, request("stdout", "output", "weird", "[]"), 256 << 10).await;
    let messages: Vec<_> = records.iter().map(|record| &*record.message).collect();
    let expected = [
        "nul \0 inside",
        "\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}",
        "cut \u{fffd}\u{fffd}\u{fffd}",
        "return\rover",
        "tail without end",
    ];
    assert_eq!(messages, expected);
    for record in &records {
        let line = record.canonical();
        let escaped = line.trim_end_matches('\n');
        assert!(!escaped.contains(|c: char| c < ' '), "the canonical line escapes control characters: {line:?}");
    }
}

#[tokio::test]
async fn stderr_is_a_warning_of_its_own_stream() {
    let bench = bench();
    let (records, _) = spoken(&bench, request("stdout", "output", "stderr", "[\"one\\r\\ntwo\\n\"]"), 256 << 10).await;
    let lines: Vec<_> = records.iter().map(|r| (r.level, &*r.message, field(r, "stream"))).collect();
    let stderr = || Some("stderr".to_owned());
    assert_eq!(lines, [(LogLevel::Warn, "one", stderr()), (LogLevel::Warn, "two", stderr())]);
}

#[tokio::test]
async fn without_a_budget_only_the_notice_is_left() {
    let bench = bench();
    for request in
        [request("stdout", "output", "lines", "[1000]"), request("log-context", "speak", "say-many", "[1000]")]
    {
        let (records, notices) = spoken(&bench, request, 0).await;
        assert_eq!((records.len(), notices), (0, 1));
    }
}

#[tokio::test]
async fn a_guest_hears_which_of_its_records_were_accepted() {
    let bench = bench();
    let mut many = request("log-context", "speak", "say-many", "[5000]");
    many.budget.log_bytes = 32 << 10;
    let ran = bench.run(many.clone()).await;
    let accepted: usize = returned(&ran).parse().unwrap();
    let records = bench.logs(&many);
    let (notices, records): (Vec<_>, Vec<_>) = records.into_iter().partition(|r| &*r.message == NOTICE);
    assert_eq!((records.len(), notices.len()), (accepted, 1));
    assert_eq!(ran.report.consumption.log_bytes, records.iter().map(LogRecord::charge_bytes).sum::<u64>());
    assert_eq!(accepted as u64, (32 << 10) / records[0].charge_bytes());
    assert!(records.iter().all(|record| field(record, "kind").as_deref() == Some("bulk")));
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_long_message_is_cut_at_a_character_and_says_so() {
    let bench = bench();
    let args = format!("[\"{}\"]", "é".repeat(3000));
    let (records, _) = spoken(&bench, request("log-context", "speak", "say", &args), 256 << 10).await;
    assert_eq!(&*records[0].message, "é".repeat(2048));
    assert!(is_truncated(&records[0]));
}

#[tokio::test]
async fn a_line_is_cut_at_a_character_and_stays_within_its_bound() {
    let bench = bench();
    for (letter, count) in [("é", 3000), ("€", 3000), ("🦀", 3000)] {
        let args = format!("[\"x{}\"]", letter.repeat(count));
        let (records, _) = spoken(&bench, request("stdout", "output", "stderr", &args), 256 << 10).await;
        assert!(records[0].message.len() <= 4096 && records[0].message.len() > 4090);
        assert!(!records[0].message.contains('\u{fffd}'), "no half of a character is left");
        assert!(is_truncated(&records[0]));
    }
}

/// The fixture that writes one endless line, of bytes that never are text.
fn line_of_no_text() -> ComponentArtifact {
    let module = include_str!("../../../../guests/stdout/stdout.wat").replace("(i32.const 0x78)", "(i32.const 0xff)");
    guest(include_str!("../../../../guests/stdout/world.wit"), &module)
}

#[tokio::test]
async fn a_line_of_no_text_stays_within_its_bound_as_text() {
    let bench = bench();
    let component = line_of_no_text();
    for (bytes, kept) in [(1365, 1365), (1366, 1365), (4096, 1365), (100_000, 1365)] {
        let request = request_of(&component, "fixture:stdout/output@0.1.0#one-line", &format!("[\"{bytes}\"]"));
        let (records, _) = spoken(&bench, request, 256 << 10).await;
        assert_eq!(&*records[0].message, "\u{fffd}".repeat(kept));
        assert_eq!(is_truncated(&records[0]), bytes > kept, "{bytes} bytes");
    }
}

#[tokio::test]
async fn a_reserved_field_is_refused_and_leaves_nothing() {
    let bench = bench();
    let reserved = request("log-context", "speak", "say-reserved", "[]");
    let (records, notices) = spoken(&bench, reserved.clone(), 256 << 10).await;
    assert_eq!((records.len(), notices), (0, 0));
    assert_eq!(bench.json(reserved).await, "true");
}
