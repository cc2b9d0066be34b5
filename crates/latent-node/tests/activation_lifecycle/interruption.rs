//! A transport that goes away: the same handle is polled on, and what its guest came to is no longer what counts.

use std::time::Duration;

use latent_activation::{ActivationRequest, CancelDisposition, LifecyclePhase as Phase};
use latent_core::{PlatformError, TerminalState as State};
use latent_executor::fake::{FakeStep, Gate};
use latent_node::ActivationHandle;
use latent_node::ActivationTransportInterruption::{self as Interruption, DeadlineExceeded, Disconnected};

use crate::support::*;

fn outcome_of(interruption: Interruption) -> PlatformError {
    match interruption {
        Disconnected => PlatformError::transport_stopped(),
        DeadlineExceeded => PlatformError::deadline_exceeded(),
    }
}

/// A call of `acknowledge` that runs.
fn running(node: &Node, deadline: Option<Duration>) -> ActivationHandle {
    let deadline = deadline.and_then(|left| node.due(left));
    let asked = ActivationRequest { deadline, ..request_of("t", "a", "acknowledge") };
    let mut handle = node.start_request(asked);
    waits(&mut handle);
    handle
}

#[tokio::test(start_paused = true)]
async fn the_same_activation_is_handed_back_and_ends_with_its_cell_reused() {
    for interruption in [Disconnected, DeadlineExceeded] {
        let node = node(FakeStep::Echo);
        let handle = running(&node, None);
        let lineage = handle.lineage().clone();
        let handle = handle.interrupt_for_cleanup(interruption);
        assert_eq!((handle.lineage(), handle.tenant()), (&lineage, &tenant("t")));
        assert_eq!((node.status("a").phase, node.live()), (Phase::Running, 1), "nothing has ended by that");
        let receipt = finish(handle).await;
        assert_eq!(receipt.outcome, failed(outcome_of(interruption)));
        assert_eq!(node.backend.requests().len(), 1, "it is the same invocation");
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_interruption_goes_before_what_the_guest_came_to() {
    for interruption in [Disconnected, DeadlineExceeded] {
        let leave = Gate::closed();
        let then = Box::new(FakeStep::Echo);
        let node = node(FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then });
        let mut handle = node.start("a");
        waits(&mut handle);
        let handle = handle.interrupt_for_cleanup(interruption);
        leave.open();
        assert_eq!(finish(handle).await.outcome, failed(outcome_of(interruption)));
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_explicit_cancel_goes_before_an_interruption_in_either_order() {
    for cancel_first in [false, true] {
        let node = node(FakeStep::Echo);
        let mut handle = running(&node, None);
        if cancel_first {
            assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
        }
        handle = handle.interrupt_for_cleanup(Disconnected);
        if !cancel_first {
            assert_eq!(node.cancel("a"), CancelDisposition::Accepted, "an interruption is no cancel");
        }
        assert_eq!(finish(handle).await.outcome, failed(PlatformError::cancelled()));
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_original_deadline_stays_and_goes_before_the_interruption() {
    let node = node(FakeStep::Echo);
    node.backend.set_acknowledge_after(Duration::from_millis(50));
    let mut handle = running(&node, Some(Duration::from_millis(40)));
    node.pass(Duration::from_millis(20)).await;
    handle = handle.interrupt_for_cleanup(Disconnected);
    let receipt = finish(handle).await;
    // Stopped at 20 ms by its transport, proved clean at 70 ms, when its deadline had passed.
    assert_eq!(receipt.outcome, failed(PlatformError::deadline_exceeded()));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_still_ahead_does_not_count() {
    let node = node(FakeStep::Echo);
    let handle = running(&node, Some(Duration::from_secs(3))).interrupt_for_cleanup(Disconnected);
    let interrupted = tokio::time::Instant::now();
    assert_eq!(finish(handle).await.outcome, failed(PlatformError::transport_stopped()));
    assert_eq!(interrupted.elapsed(), Duration::ZERO, "nor is it waited for");
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_first_interruption_counts() {
    for (first, second) in [(Disconnected, DeadlineExceeded), (DeadlineExceeded, Disconnected)] {
        let node = node(FakeStep::Echo);
        let handle = running(&node, None).interrupt_for_cleanup(first).interrupt_for_cleanup(second);
        assert_eq!(finish(handle).await.outcome, failed(outcome_of(first)));
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_grace_that_has_begun_is_not_begun_again() {
    let node = node(FakeStep::Hang);
    let mut handle = node.start("a");
    waits(&mut handle);
    node.cancel("a");
    waits(&mut handle);
    node.pass(Duration::from_millis(60)).await;
    let mut handle = handle.interrupt_for_cleanup(Disconnected);
    waits(&mut handle);
    node.pass(Duration::from_millis(39)).await;
    waits(&mut handle);
    node.pass(Duration::from_millis(1)).await;
    assert_eq!(ready(&mut handle).outcome, failed(PlatformError::cancelled()));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_ignores_an_interruption_is_dropped_after_the_grace() {
    let node = node(FakeStep::Hang);
    let mut handle = node.start("a");
    waits(&mut handle);
    let handle = handle.interrupt_for_cleanup(Disconnected);
    let interrupted = tokio::time::Instant::now();
    assert_eq!(finish(handle).await.outcome, failed(PlatformError::transport_stopped()));
    assert_eq!(interrupted.elapsed(), GRACE);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_activation_that_is_dropped_ends_as_interrupted() {
    for interruption in [Disconnected, DeadlineExceeded] {
        let node = node(FakeStep::Hang);
        let mut handle = node.start("a");
        waits(&mut handle);
        drop(handle.interrupt_for_cleanup(interruption));
        let end = node.status("a").terminal.unwrap();
        let latent_activation::journal::RetainedOutcome::Failed(error) = end.outcome else { panic!("it failed") };
        assert_eq!(error, outcome_of(interruption));
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_interruption_after_the_end_changes_nothing() {
    let node = node(FakeStep::Echo);
    let mut handle = node.start("a");
    let receipt = ready(&mut handle);
    let events = node.events("a");
    drop(handle.interrupt_for_cleanup(Disconnected));
    assert_eq!(receipt.outcome.terminal_state(), State::Completed);
    assert_eq!(node.events("a"), events);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn an_interruption_wakes_whoever_polls() {
    let node = node(FakeStep::Echo);
    let handle = running(&node, None).interrupt_for_cleanup(Disconnected);
    let ended = tokio::spawn(finish(handle)).await.unwrap();
    assert_eq!(ended.outcome, failed(PlatformError::transport_stopped()));
    node.assert_settled(0);
}
