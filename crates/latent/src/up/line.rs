//! One activation that has ended, as one line. Pure.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_millis;
use latent_core::{ActivationOutcome, PlatformError};
use latent_node::{ActivationEnd, Limit};

use crate::client::failing::LimitText;
use crate::client::shown::Requests;
use crate::printable::Printable;
use crate::quantities::{Size, Span};

/// When it ended (UTC), what was called, how it ended, what it used, why it was limited, and which activation it was.
pub fn of(end: &ActivationEnd<'_>) -> String {
    let used = end.consumption;
    let mut line = format!(
        "{} {}#{} {}; time {}, fuel {}, peak memory {}{}",
        time_of_day(end.progress.last().at),
        Printable(end.service.as_str()),
        Printable(end.function),
        how(end),
        Span(used.wall_time),
        used.fuel,
        Size(used.peak_memory_bytes),
        Requests(used.outbound_requests),
    );
    if let Some(error) = end.error() {
        let _infallible = write!(line, "; {}", why(end.limit, error));
    }
    let _infallible = writeln!(line, "; activation {}", end.lineage.activation_id());
    line
}

fn how(end: &ActivationEnd<'_>) -> &'static str {
    match end.outcome {
        ActivationOutcome::Succeeded { .. } => "succeeded",
        ActivationOutcome::DeclaredError { .. } => "declared error",
        ActivationOutcome::Failed { .. } => end.terminal_state().as_str(),
    }
}

/// Why it did not complete: which limit it was where one was reached, otherwise what happened.
fn why(limit: Option<Limit>, error: &PlatformError) -> String {
    let told = LimitText(error);
    match limit {
        Some(Limit::Fuel | Limit::Memory | Limit::Deadline) if told.is_some() => told.to_string(),
        Some(Limit::Deadline) => "it was stopped by its deadline, which counts from its arrival".to_owned(),
        Some(limit) => {
            let name = limit.as_str().replace('-', " ");
            format!("it came to the limit of {name}: {}", Printable(error.message()))
        }
        None => Printable(error.message()).to_string(),
    }
}

fn time_of_day(at: SystemTime) -> String {
    // The format has no year beyond the last that is written with four digits.
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    let text = format_rfc3339_millis(at.clamp(SystemTime::UNIX_EPOCH, last)).to_string();
    text.get(11..19).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_activation::{Lineage, Moment, Progress};
    use latent_core::{
        ActivationId, BudgetConsumption, ErrorDetail, Payload, PlatformErrorCode, RouteName, ServiceName, TenantId,
    };
    use tokio::time::Instant;

    fn line(outcome: &ActivationOutcome) -> String {
        let received =
            Moment { monotonic: Instant::now().into_std(), wall: SystemTime::UNIX_EPOCH + Duration::from_secs(3_661) };
        of(&ActivationEnd {
            tenant: &TenantId::new("dev").unwrap(),
            lineage: &Lineage::root(ActivationId::new("a-1").unwrap()),
            service: &ServiceName::new("s").unwrap(),
            function: "f",
            route: &RouteName::new("default").unwrap(),
            resolved: None,
            outcome,
            limit: Limit::of_outcome(outcome),
            consumption: &BudgetConsumption {
                fuel: 7,
                peak_memory_bytes: 65_536,
                wall_time: Duration::from_micros(1500),
                log_bytes: 0,
                outbound_requests: 0,
            },
            progress: &Progress::received(received),
            bytes_in: 0,
            bytes_out: 0,
        })
    }

    fn failed(code: PlatformErrorCode, kind: &str) -> ActivationOutcome {
        ActivationOutcome::failed(PlatformError::new(code, "what happened").with_detail(ErrorDetail::new(kind)))
    }

    #[test]
    fn an_activation_that_completed_is_a_line_of_what_it_used() {
        let used = "time 1.5ms, fuel 7, peak memory 64.0 KiB; activation a-1\n";
        let succeeded = line(&ActivationOutcome::Succeeded { output: Payload::json("1") });
        assert_eq!(succeeded, format!("01:01:01 s#f succeeded; {used}"));
        let declared = line(&ActivationOutcome::DeclaredError { error: Payload::json("1") });
        assert_eq!(declared, format!("01:01:01 s#f declared error; {used}"));
    }

    #[test]
    fn the_limit_that_stopped_it_is_told_in_words() {
        use PlatformErrorCode as Code;
        for (code, kind, told) in [
            (Code::ResourceExhausted, "activation.fuel-exhausted", "it was stopped by its limit of fuel"),
            (Code::ResourceExhausted, "activation.memory-exhausted", "it was stopped by its limit of memory"),
            (Code::DeadlineExceeded, "activation.deadline-exceeded", "it was stopped by its deadline"),
            (Code::DeadlineExceeded, "activation.other", "it was stopped by its deadline"),
            (Code::ResourceExhausted, "compiler.queue-full", "it came to the limit of compiler queue: what happened"),
            (Code::GuestTrap, "activation.guest-trap", "peak memory 64.0 KiB; what happened"),
        ] {
            let line = line(&failed(code, kind));
            assert!(line.contains(told) && line.ends_with("activation a-1\n"), "{kind}: {line}");
        }
    }
}
