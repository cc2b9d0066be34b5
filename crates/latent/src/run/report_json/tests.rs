//! The lines, compared with what the contract of the command says.

use std::time::Duration;

use super::*;
use latent_core::{ActivationId, CellClass, PlatformErrorCode, TenantId};
use latent_core::{ErrorDetail, PlatformError};
use latent_executor::{LogLevel, RuntimeResourceSnapshot};
use latent_node::ActivationReport;
use latent_scheduler::CellPoolSnapshot;
use latent_wasmtime::EngineReport;

fn record(outcome: ActivationOutcome) -> Record {
    let report = ActivationReport {
        activation_id: ActivationId::new("run-1").unwrap(),
        cell: None,
        outcome,
        consumption: BudgetConsumption {
            fuel: 7,
            peak_memory_bytes: 65_536,
            wall_time: Duration::from_nanos(1_500_999),
            log_bytes: 3,
        },
        queue_wait: Duration::ZERO,
    };
    Record { report, logs: Vec::new() }
}

fn text(line: Vec<u8>) -> String {
    let text = String::from_utf8(line).unwrap();
    assert_eq!(text.find('\n'), Some(text.len() - 1), "one line: {text:?}");
    text.trim_end().to_owned()
}

const CONSUMPTION: &str = r#""consumption":{"fuel":7,"peak_memory_bytes":65536,"wall_time_micros":1500,"log_bytes":3}"#;

#[test]
fn a_success_keeps_its_result_as_it_was_encoded() {
    let output = Payload::json(r#"{"z":1.0,"a":"18446744073709551615"}"#);
    let line = text(activation_line(&record(ActivationOutcome::Succeeded { output })));
    let start = r#"{"activation_id":"run-1","outcome":"succeeded","terminal_state":"completed","#;
    let wanted = format!(r#"{start}"result":{{"z":1.0,"a":"18446744073709551615"}},{CONSUMPTION},"logs":[]}}"#);
    assert_eq!(line, wanted);
}

#[test]
fn a_declared_error_is_completed_and_has_no_result() {
    let line = text(activation_line(&record(ActivationOutcome::DeclaredError { error: Payload::json("\"empty\"") })));
    let start = r#"{"activation_id":"run-1","outcome":"declared-error","terminal_state":"completed","#;
    assert_eq!(line, format!(r#"{start}"declared_error":"empty",{CONSUMPTION},"logs":[]}}"#));
}

#[test]
fn a_failure_has_code_message_retryable_and_details() {
    let error = PlatformError::new(PlatformErrorCode::GuestTrap, "the guest trapped")
        .with_detail(ErrorDetail::new("activation.guest-trap").with("category", "unreachable").with("category", "x"));
    let line = text(activation_line(&record(ActivationOutcome::failed(error))));
    let start = r#"{"activation_id":"run-1","outcome":"failed","terminal_state":"guest-trap","error":"#;
    let error = r#"{"code":"guest-trap","message":"the guest trapped","retryable":false,"#;
    let details = r#""details":[{"kind":"activation.guest-trap","fields":{"category":"unreachable"}}]}"#;
    assert_eq!(line, format!(r#"{start}{error}{details},{CONSUMPTION},"logs":[]}}"#));
}

#[test]
fn bytes_are_base64_with_their_media_type() {
    let output = Payload::octets(&b"\x00\xff\n"[..]);
    let line = text(activation_line(&record(ActivationOutcome::Succeeded { output })));
    assert!(line.contains(r#""media_type":"application/octet-stream","result":"AP8K","#), "{line}");
}

#[test]
fn log_records_have_level_message_and_fields() {
    let mut record = record(ActivationOutcome::Succeeded { output: Payload::json("null") });
    record.logs.push(LogRecord {
        tenant: TenantId::new("t").unwrap(),
        activation_id: record.report.activation_id.clone(),
        level: LogLevel::Warn,
        message: "a\nb".into(),
        fields: vec![("k".into(), "v".into()), ("k".into(), "w".into())],
    });
    let line = text(activation_line(&record));
    assert!(line.ends_with(r#""logs":[{"level":"warn","message":"a\nb","fields":{"k":"v"}}]}"#), "{line}");
}

#[test]
fn the_last_line_has_the_pool_and_the_runtime() {
    let class = CellClass::Standard;
    let rest = Rest {
        pool: CellPoolSnapshot { class, capacity: 3, available: 1, active_leases: 1, quarantined: 1, queue_depth: 2 },
        runtime: RuntimeResourceSnapshot { stores: 4, prepared_bytes: 5, ..RuntimeResourceSnapshot::default() },
        engine: EngineReport { pooling: false, pagemap_scan: false, reason: Some("too little room".into()) },
    };
    let line: serde_json::Value = serde_json::from_slice(&rest_line(&rest)).unwrap();
    let pool = serde_json::json!(
        {"capacity": 3, "available": 1, "active_leases": 1, "quarantined": 1, "queue_depth": 2}
    );
    assert_eq!(line["pool"], pool);
    assert_eq!((&line["runtime"]["stores"], &line["runtime"]["prepared_bytes"]), (&4.into(), &5.into()));
    assert_eq!((&line["runtime"]["allocator"], &line["runtime"]["pagemap_scan"]), (&"on-demand".into(), &false.into()));
    assert_eq!(line["runtime"]["reason"], "too little room");
}
