//! What one record means for the command: its name in the output, its exit code, its sentence. Pure.

use latent_core::{ActivationOutcome, PlatformError, TerminalState};

use super::node::Record;
use crate::ending::Exit;

/// The name of an outcome in the output.
pub fn outcome_name(outcome: &ActivationOutcome) -> &'static str {
    match outcome {
        ActivationOutcome::Succeeded { .. } => "succeeded",
        ActivationOutcome::DeclaredError { .. } => "declared-error",
        ActivationOutcome::Failed { .. } => "failed",
    }
}

/// The exit code that the outcome alone would give. What was rejected is wrong as it is, so it is a local failure;
/// unless it was rejected for now only, as an activation is that would hardly get a cell before its deadline.
pub fn exit(outcome: &ActivationOutcome) -> Exit {
    match outcome {
        ActivationOutcome::Succeeded { .. } => Exit::Success,
        ActivationOutcome::DeclaredError { .. } => Exit::DeclaredError,
        ActivationOutcome::Failed { terminal_state: TerminalState::Rejected, error } if !error.is_retryable() => {
            Exit::LocalFailure
        }
        ActivationOutcome::Failed { .. } => Exit::ActivationFailed,
    }
}

/// Why the record's activation was rejected, and would be again, if it was.
pub fn rejection(record: &Record) -> Option<&PlatformError> {
    match &record.outcome {
        ActivationOutcome::Failed { terminal_state: TerminalState::Rejected, error } if !error.is_retryable() => {
            Some(error)
        }
        _ => None,
    }
}

/// The sentence about a rejection: which input, what is wrong with it, what to do. `arguments` is how the user named
/// the arguments, `component` the component's path.
pub fn rejection_sentence(error: &PlatformError, arguments: &str, component: &str) -> String {
    let about = |kind: &str| error.details().iter().any(|detail| detail.kind() == kind);
    let message = error.message();
    if about("values.media-type") {
        return format!("--media-type: {message}");
    }
    if error.details().iter().any(|detail| detail.kind().starts_with("values.")) {
        return format!("{arguments}: {message}");
    }
    let hint = match error.details().iter().find_map(|detail| detail.field("setting")) {
        Some("memory_bytes_max") => "; --memory sets it",
        _ if message.starts_with("text, ") => "; give component text the extension .wat",
        _ => "",
    };
    format!("{component}: {message}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::{ErrorDetail, Payload, PlatformErrorCode};

    #[test]
    fn a_refusal_is_local_and_every_other_failure_is_the_activations() {
        assert_eq!(exit(&ActivationOutcome::Succeeded { output: Payload::default() }), Exit::Success);
        assert_eq!(exit(&ActivationOutcome::DeclaredError { error: Payload::default() }), Exit::DeclaredError);
        for code in PlatformErrorCode::ALL {
            let exit = exit(&ActivationOutcome::failed(PlatformError::new(*code, "reason")));
            let rejected = code.terminal_state() == TerminalState::Rejected;
            assert_eq!(exit, if rejected { Exit::LocalFailure } else { Exit::ActivationFailed }, "{code}");
        }
    }

    #[test]
    fn what_was_rejected_for_now_only_is_a_failed_activation_and_ends_no_load() {
        let record = |error| Record {
            activation_id: latent_core::ActivationId::new("run-1").unwrap(),
            outcome: ActivationOutcome::Failed { terminal_state: TerminalState::Rejected, error },
            consumption: latent_core::BudgetConsumption::default(),
            resolved: None,
            progress: None,
            logs: Vec::new(),
        };
        let error = PlatformError::new(PlatformErrorCode::ResourceExhausted, "the wait would outlast the deadline");
        let (never, now) = (record(error.clone()), record(error.retryable()));
        assert_eq!((exit(&never.outcome), rejection(&never).is_some()), (Exit::LocalFailure, true));
        assert_eq!((exit(&now.outcome), rejection(&now).is_some()), (Exit::ActivationFailed, false));
    }

    #[test]
    fn a_rejection_names_the_input_that_is_wrong() {
        let sentence = |kind, field: Option<(&str, &str)>, message| {
            let detail = ErrorDetail::new(kind);
            let detail = field.map_or(detail.clone(), |(name, value)| detail.with(name, value));
            let error = PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail);
            rejection_sentence(&error, "--args @a.json", "c.wasm")
        };
        assert_eq!(sentence("values.invalid", None, "bad"), "--args @a.json: bad");
        assert_eq!(sentence("values.media-type", None, "bad"), "--media-type: bad");
        assert_eq!(sentence("component.import", None, "bad"), "c.wasm: bad");
        let memory = sentence("component.limit", Some(("setting", "memory_bytes_max")), "too much");
        assert_eq!(memory, "c.wasm: too much; --memory sets it");
        assert!(sentence("component.malformed", None, "text, not a component").ends_with("the extension .wat"));
    }
}
