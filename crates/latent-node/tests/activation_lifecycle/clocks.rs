//! A wall clock that is set while activations are under way moves none of them.

use std::time::Duration;

use latent_activation::{ActivationRequest, LifecyclePhase as Phase};
use latent_core::{PlatformError, TerminalState as State, WallClock as _};
use latent_executor::fake::{FakePreparation, FakeStep};

use crate::support::*;

const HOUR: Duration = Duration::from_hours(1);
const YEAR: Duration = Duration::from_hours(24 * 365);
const LEFT: Duration = Duration::from_millis(500);

/// Sets the wall clock an hour back or a year forward.
fn turn(node: &Node, forward: bool) {
    let now = node.clock.now();
    node.clock.set(if forward { now + YEAR } else { now - HOUR });
}

/// Asserts that an activation that waits in `phase`, with a deadline in [`LEFT`], reaches it exactly then, although the
/// wall clock is turned.
async fn assert_unmoved(node: &Node, forward: bool, phase: Phase, grace: Duration) {
    let asked = ActivationRequest { deadline: node.due(LEFT), ..request("a") };
    let received = node.clock.now();
    let mut handle = node.start_request(asked);
    waits(&mut handle);
    assert_eq!(node.status("a").phase, phase);
    turn(node, forward);
    waits(&mut handle);
    tokio::time::advance(Duration::from_millis(499)).await;
    waits(&mut handle);
    assert!(node.status("a").terminal.is_none());
    let late = tokio::time::Instant::now();
    let receipt = finish(handle).await;
    assert_eq!(receipt.outcome, failed(PlatformError::deadline_exceeded()));
    assert_eq!(late.elapsed(), Duration::from_millis(1) + grace);
    let events = node.events("a");
    assert!(events.iter().all(|event| event.at == received + event.since_start), "the records' times stand too");
    assert_eq!(node.ended("a"), (State::DeadlineExceeded, phase));
}

#[tokio::test(start_paused = true)]
async fn while_it_prepares() {
    for forward in [false, true] {
        let node = node(FakeStep::Echo);
        node.backend.fake.set_preparation(FakePreparation::Hang);
        assert_unmoved(&node, forward, Phase::Queued, Duration::ZERO).await;
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn while_it_is_queued() {
    for forward in [false, true] {
        let node = node(FakeStep::Hang);
        let mut holder = node.start("holder");
        waits(&mut holder);
        assert_unmoved(&node, forward, Phase::Queued, Duration::ZERO).await;
        drop(holder);
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn while_it_runs() {
    for forward in [false, true] {
        let node = node(FakeStep::Hang);
        assert_unmoved(&node, forward, Phase::Running, GRACE).await;
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn records_are_kept_and_evicted_by_monotonic_time() {
    let node = node(FakeStep::Echo);
    node.run("a").await;
    turn(&node, true);
    assert_eq!(node.status("a").phase, Phase::Running, "a year of wall time evicts nothing");
    turn(&node, false);
    tokio::time::advance(Duration::from_mins(5)).await;
    assert!(node.manager.status(&tenant("t"), &activation("a")).found().is_none());
    node.assert_settled(0);
}
