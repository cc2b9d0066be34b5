//! One view of the catalog serves an activation for life.

use std::collections::HashMap;

use latent_activation::{ActivationRequest, CancelDisposition, LifecyclePhase as Phase};
use latent_catalog::ActivationCatalog as _;
use latent_core::{
    BudgetCeilings, PlatformError, PlatformErrorCode as Code, RouteName, ServiceName, TerminalState as State,
};
use latent_executor::fake::{FakePreparation, FakeStep, Gate};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn one_view_serves_route_and_policy_and_is_asked_once() {
    let node = node(FakeStep::Echo);
    let generation = node.catalog.inner.view().generation();
    let receipt = node.run("a").await;
    assert_eq!(node.catalog.asked(), [("pin", generation), ("resolve", generation), ("policy", generation)]);
    let resolved = receipt.resolved.unwrap();
    assert_eq!(resolved.route_generation, generation);
    assert_eq!(resolved.release, artifact("first").digest());
    assert_eq!(node.status("a").resolved, Some(resolved));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_policy_that_a_deployment_pins_is_what_is_granted() {
    let node = node(FakeStep::Echo);
    let mut apply = apply("t", "d", "first", 100);
    apply.manifest.ceilings = BudgetCeilings { fuel: Some(77), log_bytes: Some(0), ..BudgetCeilings::default() };
    node.catalog.inner.apply(apply).unwrap();
    node.run("a").await;
    let seen = node.backend.requests().remove(0);
    assert_eq!((seen.budget.fuel, seen.budget.log_bytes), (77, 0));
    assert_eq!(seen.policy.admission.deployment.fuel, Some(77));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_routing_key_is_the_id_and_never_the_idempotency_key() {
    let node = node(FakeStep::Echo);
    publish(&node.catalog, &node.repository, "t", "d", "first", 50);
    publish(&node.catalog, &node.repository, "t", "e", "second", 50);
    let mut seen = HashMap::new();
    for round in 0..2 {
        // The ids of the other tenant are the same ones; records of its own keep them from being duplicates.
        for n in 0..40 {
            let id = format!("id-{n}");
            let asked = ActivationRequest { idempotency_key: Some(format!("key-{round}")), ..request(&id) };
            let handle = node.start_request(asked);
            let deployment = finish(handle).await.resolved.unwrap().deployment;
            assert_eq!(*seen.entry(id).or_insert_with(|| deployment.clone()), deployment, "the same id, the same one");
        }
        let expired = tokio::time::Instant::now() + std::time::Duration::from_hours(1 + round);
        assert_eq!(node.journal.sweep(expired.into_std()), 40);
    }
    let of_d = seen.values().filter(|deployment| deployment.as_str() == "d").count();
    assert!((8..=32).contains(&of_d), "different ids spread over the weights: {of_d} of 40");
    node.assert_settled(0);
}

/// Starts an activation, deploys something else while it is `held`, lets it go on, and asserts that it ran on what it
/// was pinned to, while the next one runs on the new release.
async fn assert_not_redirected(node: &Node, mut handle: latent_node::ActivationHandle, go_on: impl FnOnce()) {
    waits(&mut handle);
    let pinned = node.status("a").resolved.expect("it is pinned");
    let mut other = apply("t", "d", "second", 100);
    other.manifest.ceilings.fuel = Some(5);
    node.repository.put(&tenant("t"), &artifact("second"));
    node.catalog.inner.apply(other).unwrap();
    go_on();
    let receipt = finish(handle).await;
    assert_eq!(receipt.outcome.terminal_state(), State::Completed);
    assert_eq!(receipt.resolved, Some(pinned.clone()));
    assert_eq!(pinned.release, artifact("first").digest());
    let next = node.run("next").await.resolved.unwrap();
    assert_eq!(next.release, artifact("second").digest());
    assert!(next.route_generation > pinned.route_generation);
    assert_eq!(node.backend.releases(), [artifact("first").digest(), artifact("second").digest()]);
    let fuel: Vec<_> = node.backend.requests().iter().map(|request| request.budget.fuel).collect();
    assert_eq!(fuel, [100_000_000, 5], "the budget is the pinned one too");
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_while_it_prepares_redirects_nothing() {
    let node = node(FakeStep::Echo);
    let leave = Gate::closed();
    let then = Box::new(FakePreparation::Ready);
    node.backend.fake.set_preparation(FakePreparation::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let handle = node.start("a");
    assert_not_redirected(&node, handle, || leave.open()).await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_while_it_is_queued_redirects_nothing() {
    let node = node(FakeStep::Hang);
    let mut holder = node.start_request(request_of("u", "holder", "acknowledge"));
    waits(&mut holder);
    node.backend.fake.set_step("f", FakeStep::Echo);
    let handle = node.start("a");
    let go_on = || {
        let disposition = node.manager.cancel_for(&tenant("u"), &activation("holder"), "make room");
        assert_eq!(disposition, CancelDisposition::Accepted);
    };
    let asserted = assert_queued_not_redirected(&node, handle, go_on);
    let (_holder, ()) = tokio::join!(finish(holder), asserted);
    node.assert_settled(0);
}

async fn assert_queued_not_redirected(node: &Node, mut handle: latent_node::ActivationHandle, go_on: impl FnOnce()) {
    waits(&mut handle);
    assert_eq!(node.queued(), 1);
    publish(&node.catalog, &node.repository, "t", "d", "second", 100);
    go_on();
    let receipt = finish(handle).await;
    assert_eq!(receipt.resolved.unwrap().release, artifact("first").digest());
    assert_eq!(node.backend.releases().pop(), Some(artifact("first").digest()));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_while_it_runs_redirects_nothing() {
    let leave = Gate::closed();
    let then = Box::new(FakeStep::Echo);
    let node = node(FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let handle = node.start("a");
    assert_not_redirected(&node, handle, || leave.open()).await;
}

#[tokio::test(start_paused = true)]
async fn deleting_the_deployment_does_not_stop_what_runs() {
    let leave = Gate::closed();
    let then = Box::new(FakeStep::Echo);
    let node = node(FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let mut handle = node.start("a");
    waits(&mut handle);
    let manifest = apply("t", "d", "first", 100).manifest;
    let delete = latent_catalog::Delete {
        tenant: manifest.tenant,
        service: manifest.service,
        deployment: manifest.deployment,
        expected_generation: None,
    };
    node.catalog.inner.delete(&delete).unwrap();
    leave.open();
    assert_eq!(finish(handle).await.outcome.terminal_state(), State::Completed);
    let late = node.run("late").await;
    assert_eq!(error(&late).1.code(), Code::RouteUnavailable);
    node.assert_settled(0);
}

/// Asserts how `asked` fails before it is admitted, and in which phase.
async fn assert_unresolved(node: &Node, asked: ActivationRequest, (state, code): (State, Code), phase: Phase) {
    let receipt = finish(node.start_request(asked)).await;
    let (found, error) = error(&receipt);
    assert_eq!((found, error.code()), (state, code), "{error}");
    assert_eq!(node.ended("a"), (state, phase));
    assert_eq!(receipt.resolved.is_some(), phase >= Phase::Resolved);
    assert_eq!(node.status("a").resolved, receipt.resolved);
    assert!(node.backend.requests().is_empty());
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_route_is_a_failed_dependency_without_a_revision() {
    for (service, route) in [("s", "nowhere"), ("unknown", "default")] {
        let node = node(FakeStep::Echo);
        let (service, route) = (ServiceName::new(service).unwrap(), RouteName::new(route).unwrap());
        let asked = ActivationRequest { service, route, ..request("a") };
        let end = (State::DependencyFailed, Code::RouteUnavailable);
        assert_unresolved(&node, asked, end, Phase::Received).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_that_no_candidate_offers_is_rejected() {
    let node = node(FakeStep::Echo);
    let asked = request_of("t", "a", "no-such-function");
    assert_unresolved(&node, asked, (State::Rejected, Code::IncompatibleContract), Phase::Received).await;
}

#[tokio::test(start_paused = true)]
async fn a_revision_without_a_policy_is_rejected_by_admission_with_its_revision() {
    let node = node(FakeStep::Echo);
    node.catalog.set(CatalogScript::NoPolicy);
    let end = (State::Rejected, Code::AdmissionRejected);
    assert_unresolved(&node, request("a"), end, Phase::Resolved).await;
    let retained = node.status("a").terminal.unwrap().outcome;
    let latent_activation::journal::RetainedOutcome::Failed(error) = retained else { panic!("{retained:?}") };
    assert_eq!(error.details()[0].field("reason"), Some("revision-not-available"));
}

#[tokio::test(start_paused = true)]
async fn a_catalog_that_fails_to_tell_a_policy_fails_the_activation_with_its_revision() {
    let node = node(FakeStep::Echo);
    node.catalog.set(CatalogScript::RefusePolicy(PlatformError::new(Code::Unavailable, "later")));
    let end = (State::DependencyFailed, Code::Unavailable);
    assert_unresolved(&node, request("a"), end, Phase::Resolved).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_resolution_keeps_its_own_error() {
    let node = node(FakeStep::Echo);
    node.catalog.set(CatalogScript::Refuse(PlatformError::new(Code::StateConflict, "it moved")));
    let end = (State::StateConflict, Code::StateConflict);
    assert_unresolved(&node, request("a"), end, Phase::Received).await;
}

#[tokio::test(start_paused = true)]
async fn a_catalog_that_panics_is_a_platform_failure() {
    for (script, operation, phase) in [
        (CatalogScript::PanicInPin, "pin", Phase::Received),
        (CatalogScript::PanicInResolve, "resolve", Phase::Received),
        (CatalogScript::PanicInPolicy, "policy", Phase::Resolved),
        (CatalogScript::PanicInDrop, "drop", Phase::Resolved),
    ] {
        let node = node(FakeStep::Echo);
        node.catalog.set(script);
        assert_unresolved(&node, request("a"), (State::PlatformFailed, Code::Internal), phase).await;
        let receipt = node.status("a").terminal.unwrap().outcome;
        let latent_activation::journal::RetainedOutcome::Failed(error) = receipt else { panic!("{receipt:?}") };
        let detail = &error.details()[0];
        assert_eq!((detail.kind(), detail.field("operation")), ("activation.port-panic", Some(operation)));
        node.catalog.set(CatalogScript::Nothing);
        assert_eq!(node.run("b").await.outcome.terminal_state(), State::Completed, "the next one is well");
        node.assert_settled(0);
    }
}
