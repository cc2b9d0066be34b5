//! How activations end, what is kept of it, and what is told.

use std::time::Duration;

use latent_activation::LifecyclePhase as Phase;
use latent_activation::journal::{RetainedDeclaredError, RetainedOutcome, SuccessSummary};
use latent_core::{
    ActivationOutcome, BudgetConsumption, ExecutionOutcome as E, MediaType, Payload, PlatformError,
    PlatformErrorCode as Code, TerminalState as State,
};
use latent_executor::fake::FakeStep;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_success_passes_every_phase_in_order_and_ends_completed_at_running() {
    let node = node(FakeStep::Yield { polls: 1, then: Box::new(FakeStep::Echo) });
    let mut handle = node.start("a");
    node.pass(Duration::from_millis(3)).await;
    waits(&mut handle);
    node.pass(Duration::from_millis(4)).await;
    let receipt = ready(&mut handle);
    assert_eq!(receipt.outcome, ActivationOutcome::Succeeded { output: Payload::json("[\"hi\"]") });
    let events = node.events("a");
    let phases: Vec<_> = events.iter().map(|event| event.phase).collect();
    let mut expected = Phase::ALL.to_vec();
    expected.push(Phase::Running);
    assert_eq!(phases, expected);
    assert_eq!(events.last().unwrap().terminal, Some(State::Completed));
    let times: Vec<_> = events.iter().map(|event| event.since_start.as_millis()).collect();
    assert_eq!(times, [0, 3, 3, 3, 3, 3, 7]);
    assert_eq!(receipt.progress.events().collect::<Vec<_>>(), events);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_retained_success_keeps_a_summary_and_its_time_but_no_output() {
    let charged = FakeStep::Use { fuel: 9, memory_bytes: 8, log_bytes: 7, then: Box::new(FakeStep::Echo) };
    let node = node(charged);
    let receipt = node.run("a").await;
    let status = node.status("a");
    let end = status.terminal.unwrap();
    let summary = SuccessSummary {
        media_type: MediaType::Json,
        output_bytes: 6,
        state_version: None,
        effect_ids: Box::default(),
    };
    assert_eq!((end.state, end.outcome), (State::Completed, RetainedOutcome::Succeeded(summary)));
    let used = BudgetConsumption { fuel: 9, peak_memory_bytes: 8, log_bytes: 7, ..BudgetConsumption::default() };
    assert_eq!((end.consumption, receipt.consumption), (used, used));
    assert_eq!(end.at, status.received_at + end.since_start);
    node.assert_settled(0);
}

#[tokio::test]
async fn a_declared_error_is_completed_and_kept_as_what_it_is() {
    let error = Payload::json("{\"kind\":\"no\"}");
    let node = node(FakeStep::End(E::DeclaredError(error.clone())));
    assert_eq!(node.run("a").await.outcome, ActivationOutcome::DeclaredError { error: error.clone() });
    let end = node.status("a").terminal.unwrap();
    assert_eq!(end.state, State::Completed);
    assert_eq!(end.outcome, RetainedOutcome::DeclaredError(RetainedDeclaredError::Whole(error)));
    assert_eq!(node.ended("a"), (State::Completed, Phase::Running));
    node.assert_settled(0);
}

#[tokio::test]
async fn no_payload_is_taken_for_an_error() {
    for text in ["{\"err\":\"no\"}", "{\"error\":{\"code\":\"internal\"}}", ""] {
        let output = Payload::json(text);
        let node = node(FakeStep::End(E::Returned(output.clone())));
        assert_eq!(node.run("a").await.outcome, ActivationOutcome::Succeeded { output });
        assert!(matches!(node.status("a").terminal.unwrap().outcome, RetainedOutcome::Succeeded(_)));
        node.assert_settled(0);
    }
}

/// What an execution comes to, as the specification's table of terminal classifications says.
fn table() -> Vec<(E, State)> {
    let failed = |code| E::Failed(PlatformError::new(code, "scripted"));
    vec![
        (E::Returned(Payload::json("1")), State::Completed),
        (E::DeclaredError(Payload::json("1")), State::Completed),
        (E::Cancelled, State::Cancelled),
        (failed(Code::Cancelled), State::Cancelled),
        (E::DeadlineExceeded, State::DeadlineExceeded),
        (failed(Code::DeadlineExceeded), State::DeadlineExceeded),
        (E::TransportStopped, State::Cancelled),
        (E::FuelExhausted, State::ResourceExhausted),
        (E::MemoryExhausted, State::ResourceExhausted),
        (E::LimitExceeded { kind: "activation.table-exhausted", limit: 3 }, State::ResourceExhausted),
        (failed(Code::ResourceExhausted), State::ResourceExhausted),
        (E::Trapped { category: "unreachable" }, State::GuestTrap),
        (E::Exited { status: 1 }, State::GuestTrap),
        (failed(Code::GuestTrap), State::GuestTrap),
        (failed(Code::StateConflict), State::StateConflict),
        (failed(Code::RouteUnavailable), State::DependencyFailed),
        (failed(Code::DependencyFailed), State::DependencyFailed),
        (failed(Code::Unavailable), State::DependencyFailed),
        (failed(Code::InvalidArgument), State::Rejected),
        (failed(Code::AdmissionRejected), State::Rejected),
        (failed(Code::AlreadyExists), State::Rejected),
        (failed(Code::IncompatibleContract), State::Rejected),
        (failed(Code::CorruptArtifact), State::Rejected),
        (failed(Code::NotFound), State::Rejected),
        (failed(Code::PermissionDenied), State::Rejected),
        (failed(Code::Unauthenticated), State::Rejected),
        (failed(Code::Internal), State::PlatformFailed),
    ]
}

#[tokio::test]
async fn every_outcome_of_an_execution_has_the_terminal_state_of_the_table() {
    let node = node(FakeStep::Echo);
    for (n, (outcome, state)) in table().into_iter().enumerate() {
        node.backend.fake.set_step("f", FakeStep::End(outcome.clone()));
        let id = format!("row-{n}");
        let receipt = node.run(&id).await;
        assert_eq!(receipt.outcome, latent_activation::from_execution(outcome.clone()), "{outcome:?}");
        assert_eq!(receipt.outcome.terminal_state(), state, "{outcome:?}");
        assert_eq!(node.ended(&id), (state, Phase::Running), "{outcome:?}");
        assert_eq!(receipt.progress.terminal(), Some(state));
        assert!(receipt.consumption.fuel >= 1, "what was used is kept: {outcome:?}");
    }
    node.assert_settled(0);
}

#[test]
fn the_table_of_outcomes_reaches_every_terminal_state_and_every_code() {
    let table = table();
    for state in State::ALL {
        assert!(table.iter().any(|(_, found)| *found == state), "{state}");
    }
    let codes = Code::ALL
        .iter()
        .filter(|code| table.iter().any(|(outcome, _)| matches!(outcome, E::Failed(error) if error.code() == **code)));
    assert_eq!(codes.count(), Code::ALL.len());
}

#[tokio::test]
async fn a_function_that_the_backend_does_not_know_is_rejected_and_its_cell_reused() {
    let node = node(FakeStep::Echo);
    let receipt = finish(node.start_request(request_of("t", "a", "unscripted"))).await;
    assert_eq!(error(&receipt).0, State::Rejected);
    assert_eq!(error(&receipt).1.code(), Code::IncompatibleContract);
    node.assert_settled(0);
}

#[tokio::test]
async fn a_second_call_after_each_kind_of_end_is_served() {
    let node = node(FakeStep::Echo);
    for (n, (outcome, _)) in table().into_iter().enumerate() {
        node.backend.fake.set_step("f", FakeStep::End(outcome));
        node.run(&format!("first-{n}")).await;
        node.backend.fake.set_step("f", FakeStep::Echo);
        let second = node.run(&format!("second-{n}")).await;
        assert_eq!(second.outcome.terminal_state(), State::Completed);
    }
    node.assert_settled(0);
}

#[tokio::test]
async fn polling_an_ended_activation_again_is_a_panic_of_the_caller_and_changes_nothing() {
    let node = node(FakeStep::Echo);
    let mut handle = node.start("a");
    let _receipt = ready(&mut handle);
    let events = node.events("a");
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut handle).is_ready()));
    assert!(again.is_err());
    drop(handle);
    assert_eq!(node.events("a"), events);
    node.assert_settled(0);
}
