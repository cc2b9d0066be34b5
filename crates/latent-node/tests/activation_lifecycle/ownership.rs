//! One owner an activation: whoever holds the handle. Nothing else polls it, and it needs nothing to be given up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};

use latent_activation::id_source::IdsExhausted;
use latent_activation::journal::RetainedOutcome;
use latent_activation::{ActivationIdSource, ActivationRequest, LifecyclePhase as Phase};
use latent_core::{ActivationId, ActivationOutcome, PlatformErrorCode as Code, TerminalState as State, WallClock};
use latent_executor::fake::{FakePreparation, FakeStep, Gate};
use latent_node::{
    ActivationReceipt, LocalActivationManager, LocalActivationManagerConfig, LocalActivationManagerParts,
};
use latent_scheduler::admission::TransportTimeout;

use crate::support::*;

/// The kind of the error that the record of `a` keeps.
fn kind(node: &Node) -> String {
    match node.status("a").terminal.expect("it has ended").outcome {
        RetainedOutcome::Failed(error) => error.details()[0].kind().to_owned(),
        other => panic!("it did not fail: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn no_task_is_spawned_at_any_point() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let node = node(FakeStep::Yield { polls: 1, then: Box::new(FakeStep::Echo) });
    let leave = Gate::closed();
    let then = Box::new(FakePreparation::Ready);
    node.backend.fake.set_preparation(FakePreparation::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    node.pool.set(PoolStep::YieldOnce);
    let before = tasks();
    let mut handle = node.start("a");
    let mut pending = 0;
    while poll(&mut handle).is_pending() {
        pending += 1;
        assert_eq!(tasks(), before, "after {pending} polls");
        leave.open();
    }
    assert_eq!((pending, tasks()), (3, before));
    node.assert_settled(0);
}

#[test]
fn a_handle_that_was_never_polled_can_be_dropped_without_a_runtime() {
    let node = node(FakeStep::Echo);
    drop(node.start("a"));
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Received));
    assert_eq!(kind(&node), "activation.abandoned");
    assert!(node.catalog.asked().is_empty());
    node.assert_settled(0);
}

#[test]
fn a_run_that_never_waits_for_a_timer_needs_no_runtime() {
    let node = node(FakeStep::Echo);
    assert_eq!(ready(&mut node.start("a")).outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}

#[test]
fn a_running_activation_can_be_dropped_after_its_runtime() {
    let node = node(FakeStep::Hang);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut handle = node.start("a");
    runtime.block_on(async { waits(&mut handle) });
    drop(runtime);
    drop(handle);
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Running));
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_whoever_holds_the_handle_abandons_the_activation() {
    let node = node(FakeStep::Hang);
    let mut handle = node.start("a");
    waits(&mut handle);
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _held = handle;
        panic!("the caller's own");
    }));
    assert!(unwound.is_err());
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Running), "it is no fault of the node");
    assert_eq!(kind(&node), "activation.abandoned");
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_handle_may_move_between_tasks_between_its_polls() {
    let leave = Gate::closed();
    let then = Box::new(FakeStep::Echo);
    let node = node(FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then });
    let mut handle = node.start("a");
    waits(&mut handle);
    let polled = tokio::spawn(async move {
        waits(&mut handle);
        Some(handle)
    });
    let handle = polled.await.unwrap().unwrap();
    let ended = tokio::spawn(finish(handle));
    tokio::task::yield_now().await;
    leave.open();
    assert_eq!(ended.await.unwrap().outcome.terminal_state(), State::Completed);
    node.assert_settled(0);
}

/// A waker that panics when it is used while it is armed.
#[derive(Default)]
struct Explosive(AtomicBool);

impl Wake for Explosive {
    fn wake(self: Arc<Self>) {
        assert!(!self.0.load(Ordering::Relaxed), "scripted panic of a waker");
    }
}

#[track_caller]
fn assert_receipt_is_the_record(node: &Node, receipt: &ActivationReceipt) {
    let status = node.status("a");
    let end = status.terminal.expect("it has ended");
    let ActivationOutcome::Failed { terminal_state, error } = &receipt.outcome else { panic!("{receipt:?}") };
    assert_eq!((*terminal_state, RetainedOutcome::Failed(error.clone())), (end.state, end.outcome));
    assert_eq!((receipt.consumption, &receipt.resolved), (end.consumption, &status.resolved));
    assert_eq!(receipt.progress.events().collect::<Vec<_>>(), node.events("a"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_midst_of_the_manager_hides_no_stop_that_came_before_and_costs_the_cell() {
    for cancelled in [false, true] {
        let charged = FakeStep::Use { fuel: 9, memory_bytes: 8, log_bytes: 7, then: Box::new(FakeStep::Hang) };
        let node = node(charged);
        let mut handle = node.start_request(ActivationRequest { deadline: node.due(GRACE), ..request("a") });
        let explosive = Arc::new(Explosive::default());
        let waker = Waker::from(explosive.clone());
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut handle).poll(&mut cx).is_pending());
        let expected = if cancelled {
            node.cancel("a");
            State::Cancelled
        } else {
            node.pass(GRACE).await;
            State::DeadlineExceeded
        };
        // The manager shows the stop to the backend, and wakes whoever polls for that.
        explosive.0.store(true, Ordering::Relaxed);
        let Poll::Ready(receipt) = Pin::new(&mut handle).poll(&mut cx) else { panic!("it is over") };
        assert_eq!(node.ended("a"), (expected, Phase::Running));
        assert_receipt_is_the_record(&node, &receipt);
        assert_eq!(receipt.consumption.fuel, 9);
        node.assert_settled(1);
    }
}

/// A manager over the same parts but for what `change` does to them.
fn manager(node: &Node, change: impl FnOnce(&mut LocalActivationManagerParts)) -> LocalActivationManager {
    let mut parts = node.manager.parts().clone();
    change(&mut parts);
    LocalActivationManager::new(parts, LocalActivationManagerConfig::default()).unwrap()
}

struct Ids(Result<(), IdsExhausted>);

impl ActivationIdSource for Ids {
    fn next_id(&self) -> Result<ActivationId, IdsExhausted> {
        self.0?;
        panic!("scripted panic")
    }
}

#[test]
fn an_id_source_that_is_exhausted_or_panics_refuses_the_start_and_records_nothing() {
    for (ids, code) in [(Ids(Err(IdsExhausted)), Code::Unavailable), (Ids(Ok(())), Code::Internal)] {
        let node = node(FakeStep::Echo);
        let manager = manager(&node, |parts| parts.ids = Arc::new(ids));
        let unnamed = ActivationRequest { activation_id: None, ..request("") };
        assert_eq!(manager.start(unnamed).map(drop).unwrap_err().code(), code);
        assert_eq!(node.journal.snapshot().active, 0);
        assert!(manager.start(request("named")).is_ok(), "a named one asks for no id");
        node.assert_settled(0);
    }
}

/// A clock that panics from the moment that it is told to.
struct Broken(AtomicBool);

impl WallClock for Broken {
    fn now(&self) -> SystemTime {
        assert!(!self.0.load(Ordering::Relaxed), "scripted panic");
        SystemTime::UNIX_EPOCH + Duration::from_secs(1)
    }
}

#[test]
fn a_clock_that_panics_refuses_a_start_and_fails_what_was_started() {
    let node = node(FakeStep::Echo);
    let clock = Arc::new(Broken(AtomicBool::new(false)));
    let manager = manager(&node, |parts| parts.clock = clock.clone());
    let mut handle = manager.start(request("a")).unwrap();
    clock.0.store(true, Ordering::Relaxed);
    assert_eq!(manager.start(request("b")).map(drop).unwrap_err().code(), Code::Internal);
    let receipt = ready(&mut handle);
    assert_eq!(error(&receipt).0, State::PlatformFailed);
    assert_eq!(kind(&node), "activation.port-panic");
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn numbers_at_their_maximum_neither_wrap_nor_panic() {
    let charged =
        FakeStep::Use { fuel: u64::MAX, memory_bytes: u64::MAX, log_bytes: u64::MAX, then: Box::new(FakeStep::Echo) };
    let node = node(charged);
    let mut asked = request("a");
    asked.budget.fuel = Some(i64::MAX.unsigned_abs());
    asked.budget.memory_bytes = Some(1 << 40);
    asked.budget.log_bytes = Some(1 << 40);
    asked.budget.wall_limit = Some(Duration::from_hours(366 * 24));
    let arrival = tokio::time::Instant::now().into_std();
    let transport = Some(TransportTimeout { arrival, timeout: Duration::MAX });
    let arrived = latent_node::ActivationArrival { transport, priority: u8::MAX, ..Default::default() };
    let receipt = finish(node.manager.start_arrived(asked, arrived).unwrap()).await;
    assert_eq!(receipt.outcome.terminal_state(), State::Completed);
    let used = receipt.consumption;
    assert_eq!(
        (used.fuel, used.peak_memory_bytes, used.log_bytes),
        (u64::MAX, u64::MAX, 0),
        "an over-long log is none"
    );
    let granted = node.backend.requests()[0].budget;
    assert_eq!((granted.fuel, granted.memory_bytes), (100_000_000, 64 << 20), "the node's ceilings hold");
    for wrong in [u64::MAX, 0] {
        let mut asked = request("b");
        asked.budget.fuel = Some(wrong);
        assert_eq!(node.manager.start(asked).map(drop).unwrap_err().code(), Code::InvalidArgument);
    }
    node.assert_settled(0);
}
