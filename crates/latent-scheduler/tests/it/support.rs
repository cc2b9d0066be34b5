//! Pools, requests and single polls, as every module here needs them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use latent_core::{ActivationId, CellClass, ManualWallClock, NodeId, PlatformError, ResourceBudget, TenantId};
use latent_scheduler::{CellPool, CellPoolSnapshot, CellRequest, FixedCellPool, FixedCellPoolConfig};

pub const CLASS: CellClass = CellClass::Standard;

pub fn config(capacity: usize, queue_capacity: usize) -> FixedCellPoolConfig {
    FixedCellPoolConfig { node: NodeId::new("node").unwrap(), class: CLASS, capacity, queue_capacity }
}

pub fn pool(capacity: usize, queue_capacity: usize) -> FixedCellPool {
    pool_with_clock(capacity, queue_capacity).0
}

pub fn pool_with_clock(capacity: usize, queue_capacity: usize) -> (FixedCellPool, Arc<ManualWallClock>) {
    let clock = Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH));
    (FixedCellPool::new(config(capacity, queue_capacity), clock.clone()).unwrap(), clock)
}

pub fn tenant(text: &str) -> TenantId {
    TenantId::new(text).unwrap()
}

pub fn id(text: &str) -> ActivationId {
    ActivationId::new(text).unwrap()
}

pub fn request(activation_id: &str) -> CellRequest {
    request_of("tenant", activation_id)
}

pub fn request_of(owner: &str, activation_id: &str) -> CellRequest {
    let budget = ResourceBudget::default();
    CellRequest { activation_id: id(activation_id), tenant: tenant(owner), class: CLASS, budget, expires_at: None }
}

/// Polls once, with a waker that does nothing.
pub fn poll<T>(future: &mut BoxFuture<'_, T>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls once and expects an answer.
pub fn now<T>(mut future: BoxFuture<'_, T>) -> T {
    match poll(&mut future) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future is not ready at once"),
    }
}

/// Polls once and expects to wait.
pub fn waits<T>(future: &mut BoxFuture<'_, T>) {
    assert!(poll(future).is_pending(), "the future is ready where it should wait");
}

/// Asserts that the error has `code` and a detail of kind `cell-pool.{kind}`.
#[track_caller]
pub fn assert_kind(error: &PlatformError, code: &str, kind: &str) {
    assert_eq!(error.code().as_str(), code, "{error:?}");
    assert!(error.has_detail(&format!("cell-pool.{kind}")), "{error:?}");
}

/// Counts the books and asserts what is available, waiting, active and quarantined.
#[track_caller]
pub fn assert_counts(pool: &FixedCellPool, [available, queue_depth, active_leases, quarantined]: [usize; 4]) {
    let counted = pool.audit().unwrap();
    let capacity = pool.capacity(CLASS);
    let expected = CellPoolSnapshot { class: CLASS, capacity, available, queue_depth, active_leases, quarantined };
    assert_eq!(counted, expected);
    assert_eq!(pool.observations(CLASS), expected);
    assert_eq!(pool.available(CLASS), available);
    assert_eq!(available + active_leases + quarantined, capacity);
}

/// Counts how often it was woken.
#[derive(Default)]
pub struct WakeCount(AtomicUsize);

impl WakeCount {
    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs both at once, on threads that meet at a barrier.
pub fn together<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let a = scope.spawn(|| {
            barrier.wait();
            a()
        });
        barrier.wait();
        let b = b();
        (a.join().unwrap(), b)
    })
}
