//! What an execution's end means to its caller: the stable mapping table of the containment document.
//!
//! Consumption is no input and no output here, so no mapping can change it.

use latent_core::{ActivationOutcome, ErrorDetail, ExecutionOutcome, PlatformError, PlatformErrorCode};

/// Maps what an execution came to onto what its caller gets (`activation-containment.md`, "Stable activation mapping").
///
/// A cancel or deadline gets the constructor that all stages share, even where it arrives as an error of a pool or a
/// backend. A transport stop is published as `cancelled` with the detail `activation.transport-stopped`: nobody waits
/// for the result any more, but no explicit cancel was accepted.
#[must_use]
pub fn from_execution(execution: ExecutionOutcome) -> ActivationOutcome {
    use ExecutionOutcome as E;
    use PlatformErrorCode as Code;
    let error = match execution {
        E::Returned(output) => return ActivationOutcome::Succeeded { output },
        E::DeclaredError(error) => return ActivationOutcome::DeclaredError { error },
        E::Cancelled => PlatformError::cancelled(),
        E::DeadlineExceeded => PlatformError::deadline_exceeded(),
        E::TransportStopped => PlatformError::transport_stopped(),
        E::MemoryExhausted => PlatformError::of_activation(
            Code::ResourceExhausted,
            "activation.memory-exhausted",
            "the activation was denied more memory than its budget grants",
        ),
        E::FuelExhausted => PlatformError::of_activation(
            Code::ResourceExhausted,
            "activation.fuel-exhausted",
            "the activation used up the fuel that its budget grants",
        ),
        E::LimitExceeded { kind, limit } => {
            let what = kind
                .trim_start_matches("activation.")
                .trim_end_matches("-exhausted")
                .trim_end_matches("-limit-exceeded");
            PlatformError::new(
                Code::ResourceExhausted,
                format_args!("the activation reached its {what} limit of {limit}"),
            )
            .with_detail(ErrorDetail::new(kind).with("limit", limit))
        }
        E::Trapped { category } => PlatformError::new(Code::GuestTrap, format_args!("the guest trapped: {category}"))
            .with_detail(ErrorDetail::new("activation.guest-trap").with("category", category)),
        E::Exited { status } => {
            let message = format_args!("the guest exited with status {status} instead of returning a result");
            let detail = ErrorDetail::new("activation.guest-trap").with("category", "exit").with("status", status);
            PlatformError::new(Code::GuestTrap, message).with_detail(detail)
        }
        E::Failed(error) => match error.code() {
            Code::Cancelled => PlatformError::cancelled(),
            Code::DeadlineExceeded => PlatformError::deadline_exceeded(),
            _ => error,
        },
    };
    ActivationOutcome::failed(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExecutionOutcome as E;
    use latent_core::{Payload, TerminalState};

    fn error_of(execution: ExecutionOutcome) -> (TerminalState, PlatformError) {
        match from_execution(execution) {
            ActivationOutcome::Failed { terminal_state, error } => (terminal_state, error),
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    #[test]
    fn each_execution_result_has_the_documented_state_code_and_detail() {
        use PlatformErrorCode as Code;
        use TerminalState as State;
        let table = [
            (E::Trapped { category: "unreachable" }, State::GuestTrap, Code::GuestTrap, "activation.guest-trap"),
            (E::Exited { status: 255 }, State::GuestTrap, Code::GuestTrap, "activation.guest-trap"),
            (E::Cancelled, State::Cancelled, Code::Cancelled, "activation.cancelled"),
            (E::TransportStopped, State::Cancelled, Code::Cancelled, "activation.transport-stopped"),
            (E::DeadlineExceeded, State::DeadlineExceeded, Code::DeadlineExceeded, "activation.deadline-exceeded"),
            (E::FuelExhausted, State::ResourceExhausted, Code::ResourceExhausted, "activation.fuel-exhausted"),
            (E::MemoryExhausted, State::ResourceExhausted, Code::ResourceExhausted, "activation.memory-exhausted"),
            (
                E::LimitExceeded { kind: "activation.table-exhausted", limit: 20_000 },
                State::ResourceExhausted,
                Code::ResourceExhausted,
                "activation.table-exhausted",
            ),
        ];
        for (execution, state, code, kind) in table {
            let (actual, error) = error_of(execution);
            assert_eq!((actual, error.code()), (state, code), "{kind}");
            assert_eq!(error.details().len(), 1, "{kind}");
            assert_eq!(error.details()[0].kind(), kind);
            assert!(!error.is_retryable(), "{kind}");
        }
    }

    #[test]
    fn returns_keep_their_payload_and_are_completed() {
        let output = Payload::json("[1]");
        assert_eq!(
            from_execution(E::Returned(output.clone())),
            ActivationOutcome::Succeeded { output: output.clone() }
        );
        let declared = from_execution(E::DeclaredError(output.clone()));
        assert_eq!(declared, ActivationOutcome::DeclaredError { error: output });
        assert_eq!(declared.terminal_state(), TerminalState::Completed);
    }

    #[test]
    fn traps_name_their_category_and_limits_their_value() {
        let (_, trap) = error_of(E::Trapped { category: "stack-overflow" });
        assert_eq!(trap.details()[0].field("category"), Some("stack-overflow"));
        let (_, limit) = error_of(E::LimitExceeded { kind: "activation.handles-exhausted", limit: 7 });
        assert_eq!(limit.details()[0].field("limit"), Some("7"));
    }

    #[test]
    fn platform_failures_take_their_state_from_their_code() {
        for code in PlatformErrorCode::ALL {
            let (state, error) = error_of(E::Failed(PlatformError::new(*code, "reason")));
            assert_eq!((state, error.code()), (code.terminal_state(), *code));
        }
    }

    #[test]
    fn cancel_and_deadline_look_the_same_however_they_arrive() {
        let dressed = |error: PlatformError| {
            E::Failed(error.retryable().with_detail(ErrorDetail::new("cell-pool.waiter-cancelled")))
        };
        assert_eq!(from_execution(dressed(PlatformError::cancelled())), from_execution(E::Cancelled));
        assert_eq!(from_execution(dressed(PlatformError::deadline_exceeded())), from_execution(E::DeadlineExceeded));
        let bare = E::Failed(PlatformError::new(PlatformErrorCode::DeadlineExceeded, "late by 3 ms"));
        assert_eq!(from_execution(bare), from_execution(E::DeadlineExceeded));
    }
}
