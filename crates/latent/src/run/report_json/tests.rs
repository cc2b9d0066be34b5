//! The lines, compared with what the contract of the command says.

use super::*;
use latent_activation::{LifecyclePhase, Moment, Progress};
use latent_core::{ActivationId, CellClass, DeploymentId, ErrorDetail, PlatformError, PlatformErrorCode};
use latent_core::{ResolvedRevision, RevisionId, RouteName, ServiceName, Sha256Digest, TenantId};
use latent_executor::{LogLevel, RuntimeResourceSnapshot};
use latent_scheduler::CellPoolSnapshot;
use latent_wasmtime::EngineReport;

fn record(outcome: ActivationOutcome) -> Record {
    let consumption = BudgetConsumption {
        fuel: 7,
        peak_memory_bytes: 65_536,
        wall_time: Duration::from_nanos(1_500_999),
        log_bytes: 3,
        outbound_requests: 0,
    };
    let activation_id = ActivationId::new("run-1").unwrap();
    Record { activation_id, outcome, consumption, resolved: None, progress: None, logs: Vec::new() }
}

fn text(line: Vec<u8>) -> String {
    let text = String::from_utf8(line).unwrap();
    assert_eq!(text.find('\n'), Some(text.len() - 1), "one line: {text:?}");
    text.trim_end().to_owned()
}

const CONSUMPTION: &str =
    r#""consumption":{"fuel":7,"peak_memory_bytes":65536,"wall_time_micros":1500,"log_bytes":3,"outbound_requests":0}"#;

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
fn revision_release_and_phases_are_there_once_it_was_resolved() {
    let mut record = record(ActivationOutcome::failed(PlatformError::deadline_exceeded()));
    let monotonic = tokio::time::Instant::now().into_std();
    let wall = SystemTime::UNIX_EPOCH + Duration::from_hours(24);
    let mut progress = Progress::received(Moment { monotonic, wall });
    progress.advance(LifecyclePhase::Resolved, monotonic + Duration::from_nanos(1_999)).unwrap();
    progress.finish(TerminalState::DeadlineExceeded, monotonic + Duration::from_secs(1)).unwrap();
    let name = |name| ServiceName::new(name).unwrap();
    record.progress = Some(progress);
    record.resolved = Some(ResolvedRevision {
        tenant: TenantId::new("t").unwrap(),
        service: name("s"),
        route: RouteName::new("default").unwrap(),
        deployment: DeploymentId::new("main").unwrap(),
        revision: RevisionId::new(Sha256Digest::from_bytes([0xab; 32])),
        release: Sha256Digest::from_bytes([1; 32]),
        route_generation: 1,
    });
    let line = text(activation_line(&record));
    let (revision, release) = ("ab".repeat(32), "01".repeat(32));
    let phases = [
        r#"{"sequence":1,"phase":"received","at_micros":0,"at":"1970-01-02T00:00:00.000000Z"}"#,
        r#"{"sequence":2,"phase":"resolved","at_micros":1,"at":"1970-01-02T00:00:00.000001Z"}"#,
        concat!(
            r#"{"sequence":3,"phase":"resolved","terminal":"deadline-exceeded","#,
            r#""at_micros":1000000,"at":"1970-01-02T00:00:01.000000Z"}"#
        ),
    ]
    .join(",");
    let wanted =
        format!(r#"{CONSUMPTION},"revision":"{revision}","release":"{release}","phases":[{phases}],"logs":[]}}"#);
    assert!(line.ends_with(&wanted), "{line}");
}

#[test]
fn a_clock_that_is_set_to_no_year_that_has_a_name_is_shown_as_the_nearest() {
    let shown = |wall| {
        let mut record = record(ActivationOutcome::Succeeded { output: Payload::json("null") });
        record.progress = Some(Progress::received(Moment { monotonic: tokio::time::Instant::now().into_std(), wall }));
        let line: serde_json::Value = serde_json::from_slice(&activation_line(&record)).unwrap();
        line["phases"][0]["at"].as_str().unwrap().to_owned()
    };
    let far = Duration::from_secs(1 << 40);
    assert_eq!(shown(SystemTime::UNIX_EPOCH - far), "1970-01-01T00:00:00.000000Z");
    assert_eq!(shown(SystemTime::UNIX_EPOCH + far), "9999-12-31T23:59:59.000000Z");
}

#[test]
fn log_records_have_level_message_and_fields() {
    let mut record = record(ActivationOutcome::Succeeded { output: Payload::json("null") });
    record.logs.push(LogRecord {
        tenant: TenantId::new("t").unwrap(),
        activation_id: record.activation_id.clone(),
        service: None,
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
