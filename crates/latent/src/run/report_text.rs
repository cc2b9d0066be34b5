//! Records as text for people. Pure: what goes to standard output and what goes to standard error, as values.

use std::fmt::{self, Write as _};

use latent_core::{ActivationOutcome, MediaType, Payload};
use latent_executor::LogRecord;

use super::node::Record;
use crate::client::shown::Requests;
use crate::errors::ErrorText;
use crate::printable::{Printable, Quotable, printable_json};
use crate::quantities::{Size, Span};

/// What standard output gets: the result or the declared error; JSON closed by a line feed, bytes as they are.
pub fn result_text(record: &Record) -> Vec<u8> {
    let payload = match &record.outcome {
        ActivationOutcome::Succeeded { output: payload } | ActivationOutcome::DeclaredError { error: payload } => {
            payload
        }
        ActivationOutcome::Failed { .. } => return Vec::new(),
    };
    let Payload { media_type, bytes } = payload;
    match media_type {
        MediaType::Json => [&*printable_json(bytes), b"\n"].concat(),
        MediaType::OctetStream => bytes.to_vec(),
    }
}

/// What standard error gets: the guest's log lines, then one line about the activation. With `named` the line starts
/// with the activation's id, to tell one of many.
pub fn notes_text(record: &Record, named: bool) -> String {
    let mut text = String::new();
    for log in &record.logs {
        let _infallible = writeln!(text, "{}", LogText(log));
    }
    if named {
        let _infallible = write!(text, "{} ", record.activation_id);
    }
    let _infallible = match &record.outcome {
        ActivationOutcome::Succeeded { .. } => write!(text, "succeeded"),
        ActivationOutcome::DeclaredError { .. } => write!(text, "declared error"),
        ActivationOutcome::Failed { error, .. } => write!(text, "failed: {}", ErrorText(error)),
    };
    let used = &record.consumption;
    let (time, memory) = (Span(used.wall_time), Size(used.peak_memory_bytes));
    let requests = Requests(used.outbound_requests);
    let _infallible = writeln!(text, "; time {time}, fuel {}, peak memory {memory}{requests}", used.fuel);
    text
}

/// `level message key=value`.
struct LogText<'a>(&'a LogRecord);

impl fmt::Display for LogText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogRecord { level, message, fields, .. } = self.0;
        write!(f, "{level} {}", Printable(message))?;
        fields.iter().try_for_each(|(name, value)| write!(f, " {}={}", Printable(name), Quotable(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::{ActivationId, BudgetConsumption, ErrorDetail, PlatformError, PlatformErrorCode, TenantId};
    use latent_executor::LogLevel;
    use std::time::Duration;

    fn record(outcome: ActivationOutcome) -> Record {
        let wall_time = Duration::from_micros(412);
        let consumption =
            BudgetConsumption { fuel: 7, peak_memory_bytes: 1_114_112, wall_time, ..BudgetConsumption::default() };
        let activation_id = ActivationId::new("run-1").unwrap();
        Record { activation_id, outcome, consumption, resolved: None, progress: None, logs: Vec::new() }
    }

    #[test]
    fn results_and_declared_errors_are_json_lines_and_bytes_are_bytes() {
        let result = |outcome| result_text(&record(outcome));
        assert_eq!(result(ActivationOutcome::Succeeded { output: Payload::json("[1]") }), b"[1]\n");
        assert_eq!(result(ActivationOutcome::DeclaredError { error: Payload::json("null") }), b"null\n");
        assert_eq!(result(ActivationOutcome::Succeeded { output: Payload::octets(&b"\xff"[..]) }), b"\xff");
        assert_eq!(result(ActivationOutcome::failed(PlatformError::cancelled())), b"");
    }

    #[test]
    fn one_line_says_outcome_time_fuel_and_memory() {
        let succeeded = record(ActivationOutcome::Succeeded { output: Payload::json("1") });
        assert_eq!(notes_text(&succeeded, false), "succeeded; time 412.0µs, fuel 7, peak memory 1.0 MiB\n");
        assert!(notes_text(&succeeded, true).starts_with("run-1 succeeded; "));
        let error = PlatformError::new(PlatformErrorCode::GuestTrap, "the guest\ntrapped")
            .with_detail(ErrorDetail::new("activation.guest-trap").with("category", "un reachable"));
        let failed = notes_text(&record(ActivationOutcome::failed(error)), false);
        let wanted = "failed: guest-trap: the guest\\ntrapped (activation.guest-trap category=\"un reachable\"); time ";
        assert!(failed.starts_with(wanted) && failed.lines().count() == 1, "{failed}");
    }

    #[test]
    fn log_lines_come_first_and_cannot_drive_a_terminal() {
        let mut record = record(ActivationOutcome::Succeeded { output: Payload::json("1") });
        record.logs.push(LogRecord {
            tenant: TenantId::new("t").unwrap(),
            activation_id: record.activation_id.clone(),
            service: None,
            level: LogLevel::Info,
            message: "hi\u{1b}[2J".into(),
            fields: vec![("a".into(), "b".into()), ("c".into(), "d\ne".into())],
        });
        let text = notes_text(&record, false);
        assert!(text.starts_with("info hi\\u{1b}[2J a=b c=\"d\\ne\"\nsucceeded; "), "{text}");
    }

    #[test]
    fn sizes_are_in_the_unit_they_fill() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_153_434, "1.1 MiB"), (u64::MAX, "15.9 EiB")]
        {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
