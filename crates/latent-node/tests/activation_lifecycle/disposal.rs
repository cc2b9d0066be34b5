//! A cell that its pool does not take back as it should: the activation fails, what it used is kept, the cell is out.

use std::time::Duration;

use latent_activation::{CancelDisposition, LifecyclePhase as Phase};
use latent_core::{ExecutionOutcome as E, Payload, PlatformError, PlatformErrorCode as Code, TerminalState as State};
use latent_executor::fake::{FakeStep, Gate};
use latent_node::ActivationReceipt;

use crate::support::*;

/// A run that uses something and then returns, with or without a proof.
fn used(proof: bool) -> FakeStep {
    let returned = E::Returned(Payload::json("1"));
    let end = if proof { FakeStep::End(returned) } else { FakeStep::EndUnproven(returned) };
    FakeStep::Use { fuel: 9, memory_bytes: 8, log_bytes: 7, then: Box::new(end) }
}

#[track_caller]
fn assert_disposition_failed(node: &Node, receipt: &ActivationReceipt, kind: &str, cause: Option<&str>) {
    let (state, error) = error(receipt);
    assert_eq!((state, error.code()), (State::PlatformFailed, Code::Internal), "{error}");
    assert_eq!(error.details()[0].kind(), kind);
    assert_eq!(error.details()[0].field("cause_kind"), cause);
    assert!(error.details()[0].field("cell").is_some());
    let used = receipt.consumption;
    assert_eq!((used.fuel, used.peak_memory_bytes, used.log_bytes), (9, 8, 7), "consumption is kept");
    let end = node.status("a").terminal.unwrap();
    assert_eq!((end.state, end.consumption), (State::PlatformFailed, used));
    assert_eq!(node.ended("a"), (State::PlatformFailed, Phase::Running));
}

/// Every way in which a disposition fails at once, with the cause that is told and whether the cell is out of reuse.
fn failures() -> [(PoolStep, Option<&'static str>, usize); 4] {
    let refusal = PlatformError::of_activation(Code::Unavailable, "cell-pool.owner-gone", "gone");
    [
        (PoolStep::Fail(refusal), Some("cell-pool.owner-gone"), 1),
        (PoolStep::PanicOnCall, Some("activation.pool-panic"), 1),
        (PoolStep::PanicOnPoll, Some("activation.pool-panic"), 1),
        (PoolStep::PanicWhenDone, Some("activation.pool-panic"), 0),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_or_panics_fails_the_activation_and_costs_the_cell() {
    for (step, cause, quarantined) in failures() {
        let node = node(used(true));
        node.pool.set(step);
        let receipt = node.run("a").await;
        assert_disposition_failed(&node, &receipt, "cell-disposition.release-failed", cause);
        assert_eq!(node.pool.operations(), ["release"], "one attempt");
        node.assert_settled(quarantined);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quarantine_that_fails_or_panics_fails_the_activation_and_costs_the_cell() {
    for (step, cause, _) in failures() {
        let node = node(used(false));
        node.pool.set(step);
        let receipt = node.run("a").await;
        assert_disposition_failed(&node, &receipt, "cell-disposition.quarantine-failed", cause);
        assert_eq!(node.pool.operations(), ["quarantine"], "one attempt");
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_never_answers_is_given_up_after_exactly_the_grace() {
    for (proof, kind) in [(true, "cell-disposition.release-failed"), (false, "cell-disposition.quarantine-failed")] {
        for step in [PoolStep::Hang, PoolStep::PanicOnDrop] {
            let node = node(used(proof));
            node.pool.set(step);
            let mut handle = node.start("a");
            waits(&mut handle);
            node.pass(ALMOST_GRACE).await;
            waits(&mut handle);
            assert_eq!(node.live(), 1, "the quota is held until the cell is settled");
            assert!(node.status("a").terminal.is_none(), "and the record is open");
            node.pass(Duration::from_millis(1)).await;
            let receipt = ready(&mut handle);
            assert_disposition_failed(&node, &receipt, kind, Some("activation.pool-silent"));
            node.assert_settled(1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_answers_within_the_grace_changes_nothing() {
    let node = node(used(true));
    let (entered, leave) = (Gate::closed(), Gate::closed());
    node.pool.set(PoolStep::Gated(entered, leave.clone()));
    let mut handle = node.start("a");
    waits(&mut handle);
    node.pass(ALMOST_GRACE).await;
    leave.open();
    assert_eq!(ready(&mut handle).outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_disposition_goes_before_an_accepted_cancel() {
    let node = node(used(true));
    let (entered, leave) = (Gate::closed(), Gate::closed());
    node.pool.set(PoolStep::Gated(entered, leave.clone()));
    let mut handle = node.start("a");
    waits(&mut handle);
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    drop(leave);
    // Nobody opens the gate: the pool is silent.
    let receipt = finish(handle).await;
    let cause = Some("activation.pool-silent");
    assert_disposition_failed(&node, &receipt, "cell-disposition.release-failed", cause);
    assert_eq!(node.cancel("a"), CancelDisposition::AlreadyTerminal(State::PlatformFailed));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_during_the_disposition_is_accepted_and_the_cell_is_still_released() {
    let node = node(used(true));
    let (entered, leave) = (Gate::closed(), Gate::closed());
    node.pool.set(PoolStep::Gated(entered, leave.clone()));
    let mut handle = node.start("a");
    waits(&mut handle);
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    leave.open();
    let receipt = finish(handle).await;
    assert_eq!(receipt.outcome, failed(PlatformError::cancelled()));
    assert_eq!(receipt.consumption.fuel, 9);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn an_activation_that_is_dropped_while_it_disposes_loses_its_cell_and_keeps_its_account() {
    for step in [PoolStep::Hang, PoolStep::PanicOnDrop] {
        let node = node(used(true));
        node.pool.set(step);
        let mut handle = node.start("a");
        waits(&mut handle);
        drop(handle);
        let end = node.status("a").terminal.unwrap();
        assert_eq!((end.state, end.consumption.fuel), (State::Cancelled, 9));
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn why_the_backend_proves_nothing_is_what_an_operator_reads_of_the_cell() {
    let node = node(used(false));
    let receipt = node.run("a").await;
    assert_eq!(receipt.outcome.terminal_state(), State::Completed, "a quarantine that works is no failure");
    let cells = node.pool.cells.quarantined_cells();
    assert_eq!(cells.len(), 1);
    assert!(format!("{cells:?}").contains("scripted"), "{cells:?}");
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn when_every_cell_is_quarantined_the_next_activation_is_told_so() {
    let node = node(used(false));
    node.run("a").await;
    let receipt = node.run("b").await;
    let (state, error) = error(&receipt);
    assert_eq!((state, error.code(), error.is_retryable()), (State::DependencyFailed, Code::Unavailable, true));
    assert_eq!(error.details()[0].field("reason"), Some("all-cells-quarantined"));
    assert_eq!(node.ended("b"), (State::DependencyFailed, Phase::Queued));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_panics_when_it_is_asked_fails_the_activation_and_keeps_its_cells() {
    let node = node(FakeStep::Echo);
    node.pool.set_panic_in_try_acquire(true);
    let receipt = node.run("a").await;
    assert_eq!(error(&receipt).0, State::PlatformFailed);
    let detail = &error(&receipt).1.details()[0];
    assert_eq!((detail.kind(), detail.field("operation")), ("activation.pool-panic", Some("try_acquire")));
    assert_eq!(node.ended("a"), (State::PlatformFailed, Phase::Queued));
    node.pool.set_panic_in_try_acquire(false);
    assert_eq!(node.run("b").await.outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_panics_when_it_is_asked_for_the_next_one_leaves_that_one_its_place() {
    let node = node(FakeStep::Echo);
    let mut holder = node.start_request(request_of("u", "holder", "acknowledge"));
    let mut waiting = node.start("a");
    waits(&mut holder);
    waits(&mut waiting);
    node.pool.set_panic_in_try_acquire(true);
    let disposition = node.manager.cancel_for(&tenant("u"), &activation("holder"), "make room");
    assert_eq!(disposition, CancelDisposition::Accepted);
    let receipt = finish(holder).await;
    assert_eq!(receipt.outcome.terminal_state(), State::Cancelled, "its own cell was taken back all the same");
    node.pool.set_panic_in_try_acquire(false);
    assert_eq!(finish(waiting).await.outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}
