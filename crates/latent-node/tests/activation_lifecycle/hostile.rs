//! Wakers, ports and callers that do what nobody should: they call back, keep the runtime busy, or go away late.

mod ports;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use latent_activation::{CancelDisposition, LifecyclePhase as Phase};
use latent_core::{CellClass, NodeId, TerminalState as State};
use latent_executor::ExecutionCancellation;
use latent_executor::fake::FakeStep;
use latent_node::{
    ActivationHandle, ActivationReceipt, LocalActivationManager, LocalActivationManagerConfig,
    LocalActivationManagerParts,
};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};

use crate::support::*;
use ports::{Hostile, Swapped};

/// The same node with guests that do `run`.
fn hostile(
    mut node: Node,
    run: impl Fn(ExecutionCancellation) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> Node {
    let backend = Arc::new(Hostile { inner: node.backend.clone(), run: Box::new(run) });
    let parts = LocalActivationManagerParts { backend, ..node.manager.parts().clone() };
    node.manager = Arc::new(LocalActivationManager::new(parts, LocalActivationManagerConfig::default()).unwrap());
    node
}

/// Calls back at each wake.
struct Calls<F: Fn() + Send + Sync>(F);

impl<F: Fn() + Send + Sync> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn waker(on_wake: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Calls(on_wake)))
}

fn poll_with(handle: &mut ActivationHandle, waker: &Waker) -> Poll<ActivationReceipt> {
    std::pin::Pin::new(handle).poll(&mut Context::from_waker(waker))
}

/// Fails where `work` does not end: it waits for a lock that it holds.
#[track_caller]
fn ends(work: impl FnOnce() + Send + 'static) {
    let (done, ended) = channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        work();
        let _received = done.send(());
    });
    ended.recv_timeout(WATCHDOG).expect("it neither waits for itself nor panics");
}

#[tokio::test(start_paused = true)]
async fn an_activation_that_is_given_up_late_is_dated_then_and_kept_as_long_as_any_other() {
    let node = node(FakeStep::Echo);
    let handle = node.start("a");
    node.pass(Duration::from_mins(10)).await;
    drop(handle);
    let end = node.status("a").terminal.expect("it has ended");
    assert_eq!((end.state, end.since_start), (State::Cancelled, Duration::from_mins(10)));
    node.pass(Duration::from_mins(4)).await;
    assert_eq!(node.ended("a"), (State::Cancelled, Phase::Received));
    node.assert_settled(0);
}

#[tokio::test]
async fn a_guest_that_uses_up_its_tasks_turn_at_every_poll_has_no_longer_grace() {
    let node = hostile(node(FakeStep::Hang), |_cancellation| {
        Box::pin(async {
            loop {
                tokio::task::consume_budget().await;
            }
        })
    });
    let mut handle = node.start("a");
    waits(&mut handle);
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    assert_eq!(error(&finish(handle).await).0, State::Cancelled);
    node.assert_settled(1);
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_waits_in_a_task_of_its_own_takes_no_wake_up_from_its_owner() {
    let node = hostile(node(FakeStep::Hang), |cancellation| {
        Box::pin(async move {
            let elsewhere = tokio::spawn(async move {
                cancellation.probe().register(Waker::noop());
                std::future::pending::<()>().await;
            });
            elsewhere.await.unwrap();
        })
    });
    let handle = node.start("a");
    let ending = tokio::spawn(finish(handle));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
    let cancelled = tokio::time::Instant::now();
    assert_eq!(error(&ending.await.unwrap()).0, State::Cancelled);
    assert_eq!(cancelled.elapsed(), GRACE);
    node.assert_settled(1);
}

#[test]
fn a_waker_may_ask_cancel_start_and_drop_anything_of_its_node() {
    for queued in [false, true] {
        ends(move || {
            let node = Arc::new(node(FakeStep::Hang));
            let mut holder = queued.then(|| node.start("holder"));
            holder.iter_mut().for_each(waits);
            let slot = Arc::new(Mutex::new(Some(node.start("a"))));
            let weak: Weak<Node> = Arc::downgrade(&node);
            let own = Arc::downgrade(&slot);
            let calls = move || {
                let (Some(node), Some(own)) = (weak.upgrade(), own.upgrade()) else { return };
                assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
                assert!(node.status("a").terminal.is_none());
                let _page = node.manager.list(&tenant("t"), None, 10);
                let own = own.lock().unwrap().take();
                drop((node.start("another"), own));
                node.scheduler.audit().unwrap();
            };
            let waker = waker(calls);
            let mut handle = slot.lock().unwrap().take().unwrap();
            assert!(poll_with(&mut handle, &waker).is_pending());
            *slot.lock().unwrap() = Some(handle);
            assert_eq!(node.cancel("a"), CancelDisposition::Accepted);
            assert_eq!(node.ended("a").0, State::Cancelled);
            assert_eq!(node.ended("another").0, State::Cancelled);
            drop(holder);
            node.assert_settled(1);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_may_cancel_itself_and_start_another_and_wait_for_it() {
    let slot: Arc<Mutex<Weak<Node>>> = Arc::default();
    let inner = slot.clone();
    let setup = Setup { cells: 2, ..Setup::default() };
    let node = hostile(setup.node(FakeStep::Hang), move |_cancellation| {
        let node = inner.lock().unwrap().upgrade().unwrap();
        Box::pin(async move {
            if node.manager.status(&tenant("t"), &activation("child")).found().is_none() {
                let receipt = node.start("child").await;
                assert_eq!(receipt.outcome.terminal_state(), State::Completed);
                assert_eq!(node.cancel("parent"), CancelDisposition::Accepted);
            }
        })
    });
    let node = Arc::new(node);
    *slot.lock().unwrap() = Arc::downgrade(&node);
    let parent = node.run("parent").await;
    assert_eq!(error(&parent).0, State::Cancelled);
    assert_eq!(node.ended("child").0, State::Completed);
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_panics_costs_nobody_else_an_activation() {
    let node = Setup { live: 8, ..Setup::default() }.node(FakeStep::Echo);
    let mut holder = node.start_request(request_of("t", "holder", "acknowledge"));
    waits(&mut holder);
    let armed = Arc::new(AtomicBool::new(false));
    let explosive = armed.clone();
    let panicking = waker(move || assert!(!explosive.load(Ordering::Relaxed), "scripted panic of a waker"));
    let (mut a, mut b) = (node.start("a"), node.start("b"));
    assert!(poll_with(&mut a, Waker::noop()).is_pending());
    assert!(poll_with(&mut b, &panicking).is_pending());
    let mut c = node.start("c");
    waits(&mut c);
    node.cancel("holder");
    finish(holder).await;
    // The cell is promised to `a`, which does not look. `c` takes it back, and it goes to `b`, whose waker panics.
    node.pass(GRACE).await;
    armed.store(true, Ordering::Relaxed);
    let polled = poll(&mut c);
    armed.store(false, Ordering::Relaxed);
    assert!(polled.is_pending(), "{polled:?}");
    node.pass(GRACE).await;
    assert_eq!(finish(c).await.outcome.terminal_state(), State::Completed);
    drop((a, b));
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_another_pool_fails_its_activation_and_costs_that_pool_the_cell() {
    let mut node = node(FakeStep::Echo);
    let cells = |capacity| FixedCellPoolConfig {
        node: NodeId::new("other").unwrap(),
        class: CellClass::Standard,
        capacity,
        queue_capacity: 0,
    };
    let other = FixedCellPool::new(cells(1), node.clock.clone()).unwrap();
    let pool = Arc::new(Swapped { own: node.pool.clone(), other });
    let queue =
        ClassQueue { class: CellClass::Standard, pool: pool.clone(), queue_capacity: 4, tenant_cells_max: None };
    let scheduler = Arc::new(LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).unwrap());
    node.scheduler = scheduler.clone();
    let parts = LocalActivationManagerParts { scheduler, ..node.manager.parts().clone() };
    node.manager = Arc::new(LocalActivationManager::new(parts, LocalActivationManagerConfig::default()).unwrap());
    let receipt = node.run("a").await;
    assert!(error(&receipt).1.has_detail("cell-disposition.release-failed"), "{receipt:?}");
    assert_eq!(node.ended("a"), (State::PlatformFailed, Phase::Running));
    let cells = pool.other.audit().unwrap();
    assert_eq!((cells.active_leases, cells.quarantined), (0, 1));
    assert_eq!(error(&node.run("b").await).0, State::DependencyFailed, "no cell is left");
    node.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn an_activation_at_either_end_of_the_wall_clock_runs() {
    let node = node(FakeStep::Echo);
    let (late, early) = (Duration::from_secs(i64::MAX as u64), Duration::from_secs(1 << 62));
    for (id, wall) in [("late", SystemTime::UNIX_EPOCH + late), ("early", SystemTime::UNIX_EPOCH - early)] {
        node.clock.set(wall);
        assert_eq!(node.run(id).await.outcome.terminal_state(), State::Completed);
        assert_eq!(node.ended(id), (State::Completed, Phase::Running));
    }
    node.assert_settled(0);
}
