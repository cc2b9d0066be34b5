//! From the cell to the result: what a cell is used again for, and what takes it out of reuse.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use latent_activation::{CancelDisposition, LifecyclePhase as Phase};
use latent_core::{ExecutionOutcome as E, Payload, PlatformError, PlatformErrorCode as Code, TerminalState as State};
use latent_executor::ExecutionBackend as _;
use latent_executor::fake::{FakeMaterialization, FakeStep, Gate};
use latent_node::{CLEANUP_GRACE_MAX, LocalActivationManager, LocalActivationManagerConfig};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_materialization_that_fails_or_panics_returns_the_cell_unused() {
    let refusal = PlatformError::new(Code::ResourceExhausted, "no permit").retryable();
    for (script, state, code) in [
        (FakeMaterialization::Fail(refusal), State::ResourceExhausted, Code::ResourceExhausted),
        (FakeMaterialization::Panic, State::PlatformFailed, Code::Internal),
    ] {
        let node = node(FakeStep::Echo);
        node.backend.fake.set_materialization(script);
        let receipt = node.run("a").await;
        assert_eq!((error(&receipt).0, error(&receipt).1.code()), (state, code));
        assert_eq!(node.ended("a"), (state, Phase::Materializing));
        assert!(node.backend.requests().is_empty() && node.pool.operations().is_empty(), "nothing has run");
        node.backend.fake.set_materialization(FakeMaterialization::Ready);
        assert_eq!(node.run("b").await.outcome.terminal_state(), State::Completed);
        node.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_permit_of_an_instance_is_taken_when_there_is_a_cell_and_given_back_at_the_end() {
    let node = Setup { cells: 2, ..Setup::default() }.node(FakeStep::Hang);
    node.backend.fake.set_instances_max(1);
    let mut first = node.start("first");
    waits(&mut first);
    assert_eq!(node.backend.resources().instance_permits, 1);
    let receipt = node.run("a").await;
    assert_eq!(error(&receipt).0, State::ResourceExhausted);
    assert!(error(&receipt).1.has_detail("activation.instance-permits-exhausted"));
    assert_eq!(node.ended("a"), (State::ResourceExhausted, Phase::Materializing));
    drop(first);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_comes_while_it_materializes_returns_the_cell_and_runs_no_guest() {
    let node = Arc::new(node(FakeStep::Echo));
    let weak = Arc::downgrade(&node);
    node.backend.set_on_materialize(move || {
        let node = weak.upgrade().unwrap();
        assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    });
    let receipt = node.run("a").await;
    assert_eq!(receipt.outcome, failed(PlatformError::cancelled()));
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Materializing));
    assert!(node.backend.requests().is_empty() && node.pool.operations().is_empty());
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_cell_that_was_promised_to_a_dropped_activation_is_back_at_once() {
    let node = node(FakeStep::Echo);
    let mut holder = node.start_request(request_of("t", "holder", "acknowledge"));
    let mut promised = node.start("a");
    waits(&mut holder);
    waits(&mut promised);
    node.cancel("holder");
    finish(holder).await;
    let cells = node.pool.cells.audit().unwrap();
    assert_eq!((cells.available, cells.active_leases), (0, 1), "promised");
    drop(promised);
    assert_eq!(node.pool.cells.audit().unwrap().available, 1, "synchronously");
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Queued));
    node.assert_settled(0);
}

/// What was so at each operation of the pool: quota that is held, whether the end is on record, cells out of reuse.
type Seen = Arc<Mutex<Vec<(&'static str, u64, bool, usize)>>>;

fn watch(node: &Arc<Node>) -> Seen {
    let (seen, weak) = (Seen::default(), Arc::downgrade(node));
    node.pool.set_probe({
        let seen = Arc::clone(&seen);
        move |operation| {
            let Some(node) = weak.upgrade() else { return };
            let ended = node.status("a").terminal.is_some();
            let quarantined = node.pool.cells.audit().unwrap().quarantined;
            seen.lock().unwrap().push((operation, node.live(), ended, quarantined));
        }
    });
    seen
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_quarantines_its_cell_before_its_quota_is_refunded_and_its_end_published() {
    let node = Arc::new(node(FakeStep::Hang));
    let mut handle = node.start("a");
    waits(&mut handle);
    let seen = watch(&node);
    drop(handle);
    assert_eq!(*seen.lock().unwrap(), [("change", 1, false, 1)]);
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Running));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_proof_quarantines_its_cell_before_its_end_is_published_and_its_quota_refunded() {
    let node = Arc::new(node(FakeStep::EndUnproven(E::Returned(Payload::json("1")))));
    let mut handle = node.start("a");
    let seen = watch(&node);
    let receipt = ready(&mut handle);
    assert_eq!(receipt.outcome.terminal_state(), State::Completed, "the result is the guest's");
    let expected = [("attempt", 1, false, 0), ("quarantine", 1, false, 0), ("change", 1, false, 1)];
    assert_eq!(*seen.lock().unwrap(), expected);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_run_with_a_proof_has_its_cell_released_before_its_end_is_published() {
    let node = Arc::new(node(FakeStep::Echo));
    let mut handle = node.start("a");
    let seen = watch(&node);
    let _receipt = ready(&mut handle);
    let expected = [("attempt", 1, false, 0), ("release", 1, false, 0), ("change", 1, false, 0)];
    assert_eq!(*seen.lock().unwrap(), expected);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_panics_costs_the_cell_and_fails_only_this_activation() {
    let late = FakeStep::Yield { polls: 0, then: Box::new(FakeStep::Panic) };
    for step in [FakeStep::PanicOnCall, FakeStep::Panic, late] {
        let node = Setup { cells: 2, ..Setup::default() }.node(step);
        let receipt = node.run("a").await;
        let (state, error) = error(&receipt);
        assert_eq!((state, error.code()), (State::PlatformFailed, Code::Internal));
        assert!(error.has_detail("activation.backend-panic"));
        assert!(!error.message().contains("scripted"), "nothing of a panic's payload is told");
        assert_eq!(node.ended("a"), (State::PlatformFailed, Phase::Running));
        let echo = finish(node.start_request(request_of("t", "b", "echo"))).await;
        assert_eq!(echo.outcome.terminal_state(), State::Completed);
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_destructor_panics_after_its_result_proves_nothing() {
    let node = node(FakeStep::Echo);
    node.backend.set_bombs(Bombs { run: true, ..Bombs::default() });
    let receipt = node.run("a").await;
    assert_eq!(error(&receipt).0, State::PlatformFailed);
    assert!(error(&receipt).1.has_detail("activation.backend-panic"));
    assert_eq!(node.pool.operations(), ["quarantine"]);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_ignores_a_stop_is_dropped_after_exactly_the_grace() {
    for grace in [Duration::from_millis(1), GRACE, CLEANUP_GRACE_MAX] {
        let node = Setup { grace, ..Setup::default() }.node(FakeStep::Hang);
        let mut handle = node.start("a");
        waits(&mut handle);
        node.cancel("a");
        waits(&mut handle);
        node.pass(grace.saturating_sub(Duration::from_millis(1))).await;
        if grace > Duration::from_millis(1) {
            waits(&mut handle);
        }
        assert_eq!(node.backend.resources().running_invocations, 1, "{grace:?}");
        node.pass(Duration::from_millis(1)).await;
        assert_eq!(ready(&mut handle).outcome, failed(PlatformError::cancelled()), "{grace:?}");
        assert_eq!(node.pool.operations(), ["quarantine"]);
        node.assert_settled(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_destructor_panics_when_it_is_given_up_is_still_the_cancel_it_was() {
    let node = node(FakeStep::PanicOnDrop);
    let mut handle = node.start("a");
    waits(&mut handle);
    node.cancel("a");
    assert_eq!(finish(handle).await.outcome, failed(PlatformError::cancelled()));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_acknowledges_a_stop_within_the_grace_keeps_its_cell() {
    let millis = Duration::from_millis;
    for (after, quarantined) in [(millis(0), 0), (millis(99), 0), (millis(101), 1)] {
        let node = node(FakeStep::Echo);
        node.backend.set_acknowledge_after(after);
        let mut handle = node.start_request(request_of("t", "a", "acknowledge"));
        waits(&mut handle);
        node.cancel("a");
        let stopped = tokio::time::Instant::now();
        assert_eq!(finish(handle).await.outcome, failed(PlatformError::cancelled()));
        assert_eq!(stopped.elapsed(), after.min(GRACE), "{after:?}");
        node.assert_settled(quarantined);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_comes_just_after_the_backend_looked_is_shown_to_it_at_once() {
    let node = Arc::new(node(FakeStep::Echo));
    let weak = Arc::downgrade(&node);
    node.backend.set_on_look(move || {
        let node = weak.upgrade().unwrap();
        assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    });
    let started = tokio::time::Instant::now();
    let receipt = finish(node.start_request(request_of("t", "a", "look"))).await;
    assert_eq!(receipt.outcome, failed(PlatformError::cancelled()));
    assert_eq!(started.elapsed(), Duration::ZERO, "it is not left alone until its grace is over");
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_returns_after_an_accepted_cancel_is_cancelled_and_its_cell_reused() {
    let leave = Gate::closed();
    let then = Box::new(FakeStep::Echo);
    let node = node(FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let mut handle = node.start("a");
    waits(&mut handle);
    node.cancel("a");
    waits(&mut handle);
    leave.open();
    assert_eq!(finish(handle).await.outcome, failed(PlatformError::cancelled()));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_returns_after_its_deadline_is_late_and_its_cell_reused() {
    let leave = Gate::closed();
    let then = Box::new(FakeStep::Echo);
    let node = node(FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let mut asked = request("a");
    asked.budget.wall_limit = Some(Duration::from_millis(30));
    let mut handle = node.start_request(asked);
    waits(&mut handle);
    node.pass(Duration::from_millis(30)).await;
    leave.open();
    assert_eq!(ready(&mut handle).outcome, failed(PlatformError::deadline_exceeded()));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn what_was_used_is_kept_whatever_the_end() {
    let ends = [
        FakeStep::End(E::Trapped { category: "unreachable" }),
        FakeStep::End(E::FuelExhausted),
        FakeStep::EndUnproven(E::MemoryExhausted),
        FakeStep::Panic,
        FakeStep::Hang,
        FakeStep::PanicOnDrop,
    ];
    for (n, end) in ends.into_iter().enumerate() {
        for dropped in [false, true] {
            let charged = FakeStep::Use { fuel: 9, memory_bytes: 8, log_bytes: 7, then: Box::new(end.clone()) };
            let node = node(charged);
            let mut asked = request("a");
            asked.budget.wall_limit = Some(Duration::from_millis(50));
            let mut handle = node.start_request(asked);
            if dropped {
                let _ended = poll(&mut handle);
                drop(handle);
            } else {
                finish(handle).await;
            }
            let used = node.status("a").terminal.unwrap().consumption;
            assert_eq!((used.fuel, used.peak_memory_bytes, used.log_bytes), (9, 8, 7), "end {n}, dropped {dropped}");
            assert_eq!(used, node.backend.ledgers()[0].consumption(), "the account is shared");
            node.assert_settled(usize::from(n > 1));
        }
    }
}

#[test]
fn a_grace_of_zero_or_above_one_second_is_refused() {
    let node = node(FakeStep::Echo);
    let made = |cleanup_grace| {
        let config = LocalActivationManagerConfig { cleanup_grace, ..Default::default() };
        LocalActivationManager::new(node.manager.parts().clone(), config).map(|manager| manager.cleanup_grace())
    };
    for wrong in [Duration::ZERO, Duration::from_nanos(1_000_000_001)] {
        let error = made(wrong).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert_eq!(error.details()[0].field("setting"), Some("cleanup_grace"));
    }
    for right in [Duration::from_nanos(1), Duration::from_secs(1)] {
        assert_eq!(made(right), Ok(right));
    }
    assert_eq!(LocalActivationManagerConfig::default().cleanup_grace, Duration::from_millis(100));
    node.assert_settled(0);
}
