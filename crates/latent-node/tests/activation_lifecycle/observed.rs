//! What the observer is told, when, and that it changes nothing. That every end is told once, on every path, is counted
//! by `assert_settled` in every other test.

use latent_core::{ActivationOutcome, ExecutionOutcome as Came, RouteName, TerminalState};
use latent_executor::fake::{FakeStep, Gate};
use latent_node::Limit;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_returned_activation_is_told_after_its_end_is_published_and_its_quota_refunded() {
    let node = node(FakeStep::Echo);
    let receipt = node.run("a").await;
    assert!(matches!(receipt.outcome, ActivationOutcome::Succeeded { .. }));
    let ends = node.ends.of("a");
    let [end] = &ends[..] else { panic!("told {} times", ends.len()) };
    assert!(end.published, "the record said nothing of the end yet");
    assert_eq!(end.live, 0, "the quota was not refunded yet");
    assert_eq!((end.service.as_str(), end.route.as_str(), end.resolved), ("s", "default", true));
    assert_eq!((end.state, end.limit), (TerminalState::Completed, None));
    assert_eq!(end.bytes, (6, 6), "it echoes");
    assert_eq!((end.consumption, end.events), (receipt.consumption, receipt.progress.events().len()));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn an_activation_without_a_route_is_told_with_what_was_asked_for() {
    let node = node(FakeStep::Echo);
    let mut wrong = request("a");
    wrong.route = RouteName::new("nowhere").unwrap();
    finish(node.start_request(wrong)).await;
    let end = node.ends.of("a").remove(0);
    assert_eq!((end.route.as_str(), end.resolved, end.bytes), ("nowhere", false, (6, 0)));
    assert_eq!((end.state, end.limit), (TerminalState::DependencyFailed, None));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn limits_are_told_by_name() {
    for (came, limit) in [(Came::FuelExhausted, Limit::Fuel), (Came::MemoryExhausted, Limit::Memory)] {
        let node = node(FakeStep::End(came));
        node.run("a").await;
        assert_eq!(node.ends.of("a")[0].limit, Some(limit));
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_denial_by_quota_is_told_as_a_rejection_by_the_quotas_limit() {
    let node = Setup { live: 1, ..Setup::default() }.node(FakeStep::Echo);
    let mut first = node.start_request(request_of("t", "first", "acknowledge"));
    waits(&mut first);
    node.run("a").await;
    let end = node.ends.of("a").remove(0);
    assert_eq!((end.state, end.limit), (TerminalState::Rejected, Some(Limit::NodeCapacity)));
    drop(first);
    assert_eq!(node.ends.of("first")[0].state, TerminalState::Cancelled, "it was given up");
    assert_eq!(node.ends.of("first")[0].live, 0, "its quota was refunded before");
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_changes_nothing() {
    let node = node(FakeStep::Echo);
    node.ends.set_panics();
    let receipt = node.run("a").await;
    assert!(matches!(receipt.outcome, ActivationOutcome::Succeeded { .. }));
    let (entered, leave) = (Gate::closed(), Gate::closed());
    node.backend.fake.set_step("f", FakeStep::Gated { entered, leave, then: Box::new(FakeStep::Echo) });
    let mut dropped = node.start("b");
    waits(&mut dropped);
    drop(dropped);
    assert_eq!(node.ended("b").0, TerminalState::Cancelled);
    node.assert_settled(1);
}
