//! The table, pair by pair, and over every combination of evidence.

use super::*;
use ExecutionOutcome as E;
use latent_core::{Payload, TerminalState};
use proptest::prelude::*;

fn executions() -> Vec<ExecutionOutcome> {
    vec![
        E::Returned(Payload::json("1")),
        E::DeclaredError(Payload::json("2")),
        E::Cancelled,
        E::DeadlineExceeded,
        E::TransportStopped,
        E::MemoryExhausted,
        E::FuelExhausted,
        E::LimitExceeded { kind: "activation.table-exhausted", limit: 3 },
        E::Trapped { category: "unreachable" },
        E::Failed(PlatformError::new(PlatformErrorCode::Internal, "generic")),
        E::Failed(PlatformError::cancelled().with_detail(ErrorDetail::new("cell-pool.waiter-cancelled"))),
        E::Failed(PlatformError::deadline_exceeded().with_detail(ErrorDetail::new("cell-pool.deadline-exceeded"))),
    ]
}

fn failure() -> DispositionFailure {
    DispositionFailure::Release {
        cell: CellId::new("cell-0"),
        cause: PlatformError::new(PlatformErrorCode::NotFound, "secret prose of the pool")
            .with_detail(ErrorDetail::new("cell-pool.double-release")),
    }
}

/// Evidence for the cause, or nothing if only the execution's outcome can give it.
fn add(cause: EndCause, evidence: &mut Evidence) -> bool {
    match cause {
        EndCause::DispositionFailed => evidence.disposition_failure = Some(failure()),
        EndCause::Cancelled => evidence.cancel_accepted = true,
        EndCause::DeadlineExceeded => evidence.deadline_elapsed = true,
        _ => return false,
    }
    true
}

fn only(execution: ExecutionOutcome) -> Evidence {
    Evidence::of(execution)
}

#[test]
fn the_variants_are_declared_in_the_order_of_the_table() {
    assert!(EndCause::TABLE.is_sorted_by(|stronger, weaker| stronger < weaker));
}

#[test]
fn of_every_pair_of_causes_the_stronger_one_is_concluded() {
    let mut pairs = 0;
    for execution in executions() {
        let own = EndCause::of(&execution);
        for outer in EndCause::TABLE {
            let mut evidence = only(execution.clone());
            if !add(outer, &mut evidence) {
                continue;
            }
            let alone = {
                let mut evidence = only(E::Returned(Payload::default()));
                assert!(add(outer, &mut evidence));
                conclude(evidence)
            };
            let expected = if outer <= own { alone } else { from_execution(execution.clone()) };
            assert_eq!(evidence.cause(), outer.min(own));
            assert_eq!(conclude(evidence), expected, "{outer:?} against {execution:?}");
            pairs += 1;
        }
    }
    assert_eq!(pairs, 3 * executions().len());
}

#[test]
fn without_other_evidence_the_execution_decides() {
    for execution in executions() {
        assert_eq!(conclude(only(execution.clone())), from_execution(execution));
    }
}

#[test]
fn a_failed_disposition_names_cell_code_and_kind_but_not_the_prose() {
    let quarantine = DispositionFailure::Quarantine {
        cell: CellId::new("c".repeat(10_000)),
        cause: PlatformError::new(PlatformErrorCode::Unavailable, "secret prose of the pool"),
    };
    for (failure, kind, code, cause_kind) in [
        (failure(), "cell-disposition.release-failed", "not-found", Some("cell-pool.double-release")),
        (quarantine, "cell-disposition.quarantine-failed", "unavailable", None),
    ] {
        let evidence = Evidence { disposition_failure: Some(failure), ..only(E::Returned(Payload::default())) };
        let ActivationOutcome::Failed { terminal_state, error } = conclude(evidence) else { panic!("{kind}") };
        assert_eq!(terminal_state, TerminalState::PlatformFailed);
        assert_eq!(error.code(), PlatformErrorCode::Internal);
        let [detail] = error.details() else { panic!("one detail expected: {error:?}") };
        assert_eq!(detail.kind(), kind);
        assert_eq!(detail.field("cause_code"), Some(code));
        assert_eq!(detail.field("cause_kind"), cause_kind);
        assert!(detail.field("cell").is_some_and(|cell| !cell.is_empty() && cell.len() <= 256));
        assert!(!format!("{error:?}").contains("secret"));
    }
}

#[test]
fn a_cleanup_that_overran_is_a_failed_disposition_that_says_what_it_may_take() {
    let failure = DispositionFailure::Overrun { cap: Duration::from_millis(200) };
    let evidence = Evidence {
        disposition_failure: Some(failure),
        cancel_accepted: true,
        deadline_elapsed: true,
        transport_stopped: true,
        execution: E::TransportStopped,
    };
    let ActivationOutcome::Failed { terminal_state, error } = conclude(evidence) else { panic!("it failed") };
    assert_eq!((terminal_state, error.code()), (TerminalState::PlatformFailed, PlatformErrorCode::Internal));
    let [detail] = error.details() else { panic!("one detail expected: {error:?}") };
    assert_eq!((detail.kind(), detail.field("cap_ms")), ("cell-disposition.cleanup-overrun", Some("200")));
}

#[test]
fn a_transport_that_went_away_overrules_what_the_guest_came_to_and_nothing_stronger() {
    let outcome = |deadline_elapsed, execution| {
        conclude(Evidence { transport_stopped: true, deadline_elapsed, ..Evidence::of(execution) })
    };
    let stopped = ActivationOutcome::failed(PlatformError::transport_stopped());
    for weaker in [E::Returned(Payload::default()), E::DeclaredError(Payload::default()), E::MemoryExhausted] {
        assert_eq!(outcome(false, weaker), stopped);
    }
    assert_eq!(outcome(true, E::FuelExhausted), ActivationOutcome::failed(PlatformError::deadline_exceeded()));
    assert_eq!(outcome(false, E::Cancelled), ActivationOutcome::failed(PlatformError::cancelled()));
}

proptest! {
    #[test]
    fn the_conclusion_depends_on_the_strongest_cause_alone(
        failed: bool, cancelled: bool, deadline: bool, transport: bool, execution in prop::sample::select(executions()),
    ) {
        let evidence = Evidence {
            disposition_failure: failed.then(failure),
            cancel_accepted: cancelled,
            deadline_elapsed: deadline,
            transport_stopped: transport,
            execution: execution.clone(),
        };
        let expected = if failed {
            TerminalState::PlatformFailed
        } else if cancelled {
            TerminalState::Cancelled
        } else if deadline && EndCause::of(&execution) != EndCause::Cancelled {
            TerminalState::DeadlineExceeded
        } else if transport && EndCause::of(&execution) > EndCause::TransportStopped {
            from_execution(E::TransportStopped).terminal_state()
        } else {
            from_execution(execution).terminal_state()
        };
        prop_assert_eq!(conclude(evidence).terminal_state(), expected);
    }
}
