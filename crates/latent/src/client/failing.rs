//! What a failed call means: its exit code and its sentences. Pure.

use std::fmt;

use latent_core::{PlatformError, PlatformErrorCode, TerminalState};
use latent_wire::client::CallError;

use super::finding::Address;
use crate::ending::{Exit, Failure};
use crate::errors::ErrorText;
use crate::quantities::Size;

/// The failure of a call that the node refused, with what to do about it where that is known.
pub fn refusal(error: &PlatformError) -> Failure {
    let hint = match error.code() {
        PlatformErrorCode::Unauthenticated => "; --token-file names the file with a token that the node knows",
        PlatformErrorCode::PermissionDenied if error.has_detail("access.role-missing") => {
            "; `latent credential create --role` makes a credential with another role"
        }
        PlatformErrorCode::StateConflict if error.details().iter().any(is_stale) => {
            "; look at it again with `latent deployment get`, then repeat the change"
        }
        _ if error.is_retryable() => "; the same call may succeed later",
        _ => "",
    };
    Failure::with(refusal_exit(error), format!("{}{hint}", ErrorText(error)))
}

fn is_stale(detail: &latent_core::ErrorDetail) -> bool {
    detail.field("reason") == Some("deployment-generation-conflict")
}

/// The exit code of a call that is no invocation.
pub fn refusal_exit(error: &PlatformError) -> Exit {
    match error.code() {
        PlatformErrorCode::NotFound | PlatformErrorCode::RouteUnavailable => Exit::NotFound,
        _ => Exit::LocalFailure,
    }
}

/// The exit code of an invocation: as of any call where what it asks for is not there; a local failure where it was
/// rejected as it is and would be again; otherwise that of an activation that failed.
pub fn invocation_exit(error: &PlatformError) -> Exit {
    let rejected = error.code().terminal_state() == TerminalState::Rejected;
    match refusal_exit(error) {
        Exit::NotFound => Exit::NotFound,
        _ if rejected && !error.is_retryable() => Exit::LocalFailure,
        _ => Exit::ActivationFailed,
    }
}

/// The failure of a call to `address` that the node did not answer.
pub fn unanswered(error: &CallError, address: &Address) -> Failure {
    let (url, origin) = (&address.url, &address.origin);
    let sentence = match error {
        CallError::Unreachable(reason) => format!(
            "nothing answers at {url} ({origin}): {reason}; start a node with `latent up` or `latent serve`, or name \
             one with --invoke-url and --control-url"
        ),
        CallError::Transport(sentence) => {
            format!("{sentence}, at {url} ({origin}); whether the call took effect is not known")
        }
        CallError::Node(node) => return refusal(&node.error),
    };
    Failure::with(Exit::Transport, sentence)
}

/// Which limit ended an activation, in one sentence, where one did.
pub struct LimitText<'a>(pub &'a PlatformError);

impl LimitText<'_> {
    /// Whether too much is under way, as far as admission says why.
    fn is_for_want_of_room(&self) -> bool {
        let reasons = self.0.details().iter().filter(|detail| detail.kind() == "admission.limit");
        reasons.filter_map(|detail| detail.field("reason")).all(|reason| reason == "capacity-exhausted")
    }

    /// Whether there is anything to say.
    pub fn is_some(&self) -> bool {
        !self.to_string().is_empty()
    }
}

impl fmt::Display for LimitText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((kind, limit)) = self.0.details().iter().find_map(|detail| {
            let limit = detail.field("limit").or_else(|| detail.field("allowed")).or_else(|| detail.field("max"));
            known(detail.kind()).then(|| (detail.kind(), limit.and_then(|limit| limit.parse::<u64>().ok())))
        }) else {
            return Ok(());
        };
        let more = |flag: &str| {
            format!("; `latent deploy {flag}` grants more, up to the node's own limit, unless the call asked for less")
        };
        match (kind, limit) {
            ("activation.fuel-exhausted", Some(units)) => {
                write!(f, "it was stopped by its limit of fuel, {units} units{}", more("--fuel"))
            }
            ("activation.fuel-exhausted", None) => write!(f, "it was stopped by its limit of fuel{}", more("--fuel")),
            ("activation.memory-exhausted", Some(bytes)) => {
                write!(f, "it was stopped by its limit of memory, {}{}", Size(bytes), more("--memory"))
            }
            ("activation.memory-exhausted", None) => {
                write!(f, "it was stopped by its limit of memory{}", more("--memory"))
            }
            ("activation.deadline-exceeded", _) => f.write_str(
                "it was stopped by its deadline, which counts from its arrival and includes the wait for a cell",
            ),
            // The message says all there is to say of another reason.
            ("admission.limit", _) if !self.is_for_want_of_room() => Ok(()),
            ("admission.limit" | "scheduler.limit" | "cell-pool.queue-full", _) => {
                f.write_str("it was refused before it ran: the node or the tenant has as much under way as it may")
            }
            (other, limit) => {
                let name = other.trim_start_matches("activation.").trim_end_matches("-exhausted");
                let name = name.trim_end_matches("-limit-exceeded").replace('-', " ");
                write!(f, "it was stopped by its limit of {name}")?;
                limit.map_or(Ok(()), |limit| write!(f, ", {limit}"))
            }
        }
    }
}

/// The kinds of details that name a limit of a run, or of admission to one.
fn known(kind: &str) -> bool {
    matches!(
        kind,
        "activation.fuel-exhausted"
            | "activation.memory-exhausted"
            | "activation.deadline-exceeded"
            | "activation.table-exhausted"
            | "activation.handle-exhausted"
            | "activation.host-resource-exhausted"
            | "activation.host-call-exhausted"
            | "activation.random-exhausted"
            | "activation.http-fields-exhausted"
            | "activation.core-instance-exhausted"
            | "activation.result-limit-exceeded"
            | "admission.limit"
            | "scheduler.limit"
            | "cell-pool.queue-full"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::finding::Origin;
    use latent_core::ErrorDetail;

    fn error(code: PlatformErrorCode) -> PlatformError {
        PlatformError::new(code, "reason")
    }

    #[test]
    fn what_is_not_there_has_a_code_of_its_own_and_other_refusals_are_local() {
        for code in PlatformErrorCode::ALL {
            let missing = matches!(code, PlatformErrorCode::NotFound | PlatformErrorCode::RouteUnavailable);
            let wanted = if missing { Exit::NotFound } else { Exit::LocalFailure };
            assert_eq!(refusal(&error(*code)).exit(), wanted, "{code}");
        }
    }

    #[test]
    fn an_invocation_that_was_rejected_is_told_from_an_activation_that_failed() {
        use PlatformErrorCode as Of;
        for (code, exit) in [
            (Of::GuestTrap, Exit::ActivationFailed),
            (Of::DeadlineExceeded, Exit::ActivationFailed),
            (Of::Cancelled, Exit::ActivationFailed),
            (Of::ResourceExhausted, Exit::ActivationFailed),
            (Of::InvalidArgument, Exit::LocalFailure),
            (Of::IncompatibleContract, Exit::LocalFailure),
            (Of::Unauthenticated, Exit::LocalFailure),
            (Of::NotFound, Exit::NotFound),
            (Of::RouteUnavailable, Exit::NotFound),
        ] {
            assert_eq!(invocation_exit(&error(code)), exit, "{code}");
        }
        assert_eq!(invocation_exit(&error(Of::AdmissionRejected).retryable()), Exit::ActivationFailed);
    }

    #[test]
    fn an_address_without_an_answer_is_told_with_where_it_came_from_and_what_to_do() {
        let address = Address { url: "http://127.0.0.1:7071".to_owned(), origin: Origin::Default };
        let failure = unanswered(&CallError::Unreachable("connection refused".to_owned()), &address);
        assert_eq!(failure.exit(), Exit::Transport);
        let sentence = failure.to_string();
        for part in ["http://127.0.0.1:7071", "the default", "connection refused", "latent up", "--control-url"] {
            assert!(sentence.contains(part), "no {part} in {sentence}");
        }
        let lost = unanswered(&CallError::Transport("the connection was lost".to_owned()), &address);
        assert_eq!(lost.exit(), Exit::Transport);
        assert!(lost.to_string().contains("not known"), "{lost}");
    }

    #[test]
    fn the_limit_that_fired_is_told_in_one_sentence() {
        let of = |kind: &str| error(PlatformErrorCode::ResourceExhausted).with_detail(ErrorDetail::new(kind));
        let fuel = error(PlatformErrorCode::ResourceExhausted)
            .with_detail(ErrorDetail::new("activation.fuel-exhausted").with("limit", 5));
        assert!(LimitText(&fuel).to_string().starts_with("it was stopped by its limit of fuel, 5 units; "));
        for (kind, begins) in [
            ("activation.memory-exhausted", "it was stopped by its limit of memory; "),
            ("activation.deadline-exceeded", "it was stopped by its deadline"),
            ("activation.table-exhausted", "it was stopped by its limit of table"),
            ("activation.result-limit-exceeded", "it was stopped by its limit of result"),
            ("admission.limit", "it was refused before it ran"),
        ] {
            let sentence = LimitText(&of(kind)).to_string();
            assert!(sentence.starts_with(begins), "{kind}: {sentence}");
        }
        assert!(!LimitText(&of("activation.guest-trap")).is_some());
        assert!(!LimitText(&error(PlatformErrorCode::GuestTrap)).is_some());
    }

    #[test]
    fn a_refusal_that_can_be_mended_says_how() {
        let stale = error(PlatformErrorCode::StateConflict)
            .with_detail(ErrorDetail::new("catalog.generation").with("reason", "deployment-generation-conflict"));
        assert!(refusal(&stale).to_string().contains("latent deployment get"));
        assert!(refusal(&error(PlatformErrorCode::Unauthenticated)).to_string().contains("--token-file"));
        assert!(refusal(&error(PlatformErrorCode::Unavailable).retryable()).to_string().contains("later"));
        let role = error(PlatformErrorCode::PermissionDenied).with_detail(ErrorDetail::new("access.role-missing"));
        assert!(refusal(&role).to_string().contains("credential create"));
    }
}
