//! Getting ready: after admission, before the queue, without a cell.

use std::time::Duration;

use latent_activation::{ActivationRequest, LifecyclePhase as Phase};
use latent_core::{ImportGrant, PlatformError, PlatformErrorCode as Code, TerminalState as State};
use latent_executor::ExecutionBackend as _;
use latent_executor::fake::{FakePreparation, FakeStep, Gate};

use crate::support::*;

/// A node whose pool fails the test when it is touched.
fn untouched(preparation: FakePreparation) -> Node {
    let node = node(FakeStep::Echo);
    node.backend.fake.set_preparation(preparation);
    node.pool.set_probe(|operation| panic!("the pool is asked for {operation}"));
    node
}

/// Asserts that the activation failed while it got ready, with its revision, and that no cell was touched.
async fn assert_not_ready(node: &Node, state: State, code: Code, kind: Option<&str>) {
    let receipt = node.run("a").await;
    let (found, error) = error(&receipt);
    assert_eq!((found, error.code()), (state, code), "{error}");
    if let Some(kind) = kind {
        assert!(error.has_detail(kind), "{error:?}");
    }
    assert_eq!(node.ended("a"), (state, Phase::Queued));
    assert!(receipt.resolved.is_some());
    assert!(node.backend.requests().is_empty() && node.pool.operations().is_empty());
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_preparation_that_fails_ends_at_queued_with_its_own_error_and_touches_no_cell() {
    let refusal = |code| PlatformError::new(code, "scripted");
    for (error, state) in [
        (refusal(Code::CorruptArtifact), State::Rejected),
        (refusal(Code::IncompatibleContract), State::Rejected),
        (refusal(Code::InvalidArgument), State::Rejected),
        (refusal(Code::NotFound), State::Rejected),
        (refusal(Code::Unavailable), State::DependencyFailed),
        (refusal(Code::Unavailable).retryable(), State::DependencyFailed),
        // A limit that the component exceeds against room that is wanting for now.
        (refusal(Code::ResourceExhausted), State::ResourceExhausted),
        (refusal(Code::ResourceExhausted).retryable(), State::Rejected),
        (refusal(Code::Internal), State::PlatformFailed),
    ] {
        let node = untouched(FakePreparation::Fail(error.clone()));
        assert_not_ready(&node, state, error.code(), None).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_or_missing_release_is_rejected() {
    let node = untouched(FakePreparation::Ready);
    node.repository.damage(&tenant("t"), artifact("first").digest());
    assert_not_ready(&node, State::Rejected, Code::CorruptArtifact, None).await;

    let node = untouched(FakePreparation::Ready);
    node.catalog.inner.apply(apply("t", "d", "never-uploaded", 100)).unwrap();
    assert_not_ready(&node, State::Rejected, Code::NotFound, None).await;
}

#[tokio::test(start_paused = true)]
async fn the_repository_answers_for_the_tenant_of_the_activation_only() {
    let node = untouched(FakePreparation::Ready);
    node.repository.put(&tenant("u"), &artifact("of-another"));
    node.catalog.inner.apply(apply("t", "d", "of-another", 100)).unwrap();
    assert_not_ready(&node, State::Rejected, Code::NotFound, None).await;
}

#[tokio::test(start_paused = true)]
async fn a_preparation_that_panics_is_a_platform_failure() {
    let gated = FakePreparation::Gated {
        entered: Gate::closed(),
        leave: {
            let open = Gate::closed();
            open.open();
            open
        },
        then: Box::new(FakePreparation::PanicOnPoll),
    };
    for script in [FakePreparation::Panic, FakePreparation::PanicOnPoll, gated] {
        let node = untouched(script);
        assert_not_ready(&node, State::PlatformFailed, Code::Internal, Some("activation.port-panic")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_destructor_that_panics_after_the_answer_is_a_platform_failure() {
    let node = untouched(FakePreparation::Ready);
    node.backend.set_bombs(Bombs { preparation: true, ..Bombs::default() });
    assert_not_ready(&node, State::PlatformFailed, Code::Internal, Some("activation.port-panic")).await;
}

#[tokio::test(start_paused = true)]
async fn an_import_that_the_deployment_does_not_grant_is_rejected_by_name() {
    let node = untouched(FakePreparation::Ready);
    node.backend.fake.set_imports(&["latent:log/log@0.1.0", "wasi:random/random@0.2.0"]);
    let mut apply = apply("t", "d", "first", 100);
    apply.manifest.imports = ImportGrant::Only(["latent:log/log".into()].into());
    node.catalog.inner.apply(apply).unwrap();
    assert_not_ready(&node, State::Rejected, Code::PermissionDenied, Some("activation.import-not-granted")).await;
}

#[tokio::test(start_paused = true)]
async fn a_component_with_granted_imports_runs_under_its_own_grant() {
    let node = node(FakeStep::Echo);
    node.backend.fake.set_imports(&["latent:log/log@0.1.0"]);
    let mut apply = apply("t", "d", "first", 100);
    apply.manifest.imports = ImportGrant::Only(["latent:log/log".into()].into());
    node.catalog.inner.apply(apply.clone()).unwrap();
    assert_eq!(node.run("a").await.outcome.terminal_state(), State::Completed);
    assert_eq!(node.backend.requests()[0].policy.execution.imports, apply.manifest.imports);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn what_admission_denies_is_never_prepared() {
    let node = Setup { live: 1, ..Setup::default() }.node(FakeStep::Hang);
    let mut first = node.start("first");
    waits(&mut first);
    assert_eq!(node.repository.fetches(), 1);
    assert_eq!(error(&node.run("a").await).0, State::Rejected);
    assert_eq!(node.repository.fetches(), 1);
    drop(first);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn ready_code_is_pinned_without_an_instance_until_there_is_a_cell() {
    let node = node(FakeStep::Echo);
    let mut holder = node.start_request(request_of("u", "holder", "acknowledge"));
    waits(&mut holder);
    let mut handle = node.start("a");
    waits(&mut handle);
    let held = node.backend.resources();
    assert_eq!((held.ready_pins, held.prepared_pins, held.instance_permits), (2, 1, 1), "the holder's, and one pin");
    assert_eq!(node.status("a").phase, Phase::Queued);
    drop(handle);
    let held = node.backend.resources();
    assert_eq!((held.ready_pins, held.instance_permits), (1, 1), "a dropped one gives its pin up");
    drop(holder);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_cold_activation_holds_no_place_so_that_a_warm_one_that_came_later_overtakes_it() {
    let node = node(FakeStep::Echo);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let then = Box::new(FakePreparation::Ready);
    node.backend.fake.set_preparation(FakePreparation::Gated { entered, leave: leave.clone(), then });
    let mut cold = node.start("cold");
    waits(&mut cold);
    assert_eq!((node.status("cold").phase, node.queued(), node.live()), (Phase::Queued, 0, 1));
    assert_eq!(node.backend.resources().preparations, 1);
    node.backend.fake.set_preparation(FakePreparation::Ready);
    let warm = node.run("warm").await;
    assert_eq!(warm.outcome.terminal_state(), State::Completed);
    waits(&mut cold);
    leave.open();
    assert_eq!(finish(cold).await.outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_after_the_activation_was_dropped_is_nobodys() {
    let node = untouched(FakePreparation::Ready);
    let leave = Gate::closed();
    let then = Box::new(FakePreparation::Ready);
    node.backend.fake.set_preparation(FakePreparation::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let mut handle = node.start("a");
    waits(&mut handle);
    drop(handle);
    let events = node.events("a");
    leave.open();
    assert_eq!(node.events("a"), events);
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Queued));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_while_preparing_ends_the_wait_at_that_instant() {
    let node = untouched(FakePreparation::Hang);
    let asked = ActivationRequest { deadline: node.due(Duration::from_millis(30)), ..request("a") };
    let mut handle = node.start_request(asked);
    waits(&mut handle);
    node.pass(Duration::from_millis(29)).await;
    waits(&mut handle);
    node.pass(Duration::from_millis(1)).await;
    assert_eq!(ready(&mut handle).outcome, failed(PlatformError::deadline_exceeded()));
    assert_eq!(node.ended("a"), (State::DeadlineExceeded, Phase::Queued));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_stop_goes_before_an_answer_that_is_there_at_the_same_poll() {
    let node = untouched(FakePreparation::Ready);
    let leave = Gate::closed();
    let failure = PlatformError::new(Code::CorruptArtifact, "scripted");
    let then = Box::new(FakePreparation::Fail(failure));
    node.backend.fake.set_preparation(FakePreparation::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let mut handle = node.start("a");
    waits(&mut handle);
    leave.open();
    node.cancel("a");
    assert_eq!(ready(&mut handle).outcome, failed(PlatformError::cancelled()));
    node.assert_settled(0);
}
