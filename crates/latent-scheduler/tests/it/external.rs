//! A pool written outside of the crate: it implements only what is required, and mints and ends its own leases.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use latent_core::{CellClass, CellId, NodeId, PlatformError, PlatformErrorCode};
use latent_scheduler::{CellLease, CellLeaseIdentity, CellLeaseLifecycle, CellPool, CellRequest};

use crate::support::*;

/// What the pool remembers of its one cell.
#[derive(Default)]
struct OneCell {
    lost: AtomicUsize,
}

impl CellLeaseLifecycle for OneCell {
    fn on_abandoned(&self) {
        self.lost.fetch_add(1, Ordering::SeqCst);
    }
}

/// One cell, no queue, and none of the later operations.
#[derive(Default)]
struct OneCellPool {
    leased: Mutex<Option<Arc<dyn CellLeaseLifecycle>>>,
    cell: Arc<OneCell>,
}

impl CellPool for OneCellPool {
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        Box::pin(async move {
            let mut leased = self.leased.lock().unwrap();
            if leased.is_some() {
                return Err(PlatformError::new(PlatformErrorCode::ResourceExhausted, "the cell is taken").retryable());
            }
            let lifecycle: Arc<dyn CellLeaseLifecycle> = self.cell.clone();
            *leased = Some(lifecycle.clone());
            Ok(CellLease::new(identity(request), lifecycle))
        })
    }

    fn release(&self, mut lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        Box::pin(async move {
            let recorded = self.leased.lock().unwrap().take();
            match recorded {
                Some(lifecycle) if lease.disarm_lifecycle(&lifecycle) => Ok(()),
                _ => Err(PlatformError::new(PlatformErrorCode::NotFound, "no such lease")),
            }
        })
    }

    fn capacity(&self, class: CellClass) -> usize {
        usize::from(class == CLASS)
    }

    fn available(&self, class: CellClass) -> usize {
        let idle = self.leased.lock().unwrap().is_none() && self.cell.lost.load(Ordering::SeqCst) == 0;
        usize::from(class == CLASS && idle)
    }
}

fn identity(request: CellRequest) -> CellLeaseIdentity {
    CellLeaseIdentity {
        activation_id: request.activation_id,
        tenant: request.tenant,
        cell: CellId::new("the-cell"),
        node: NodeId::new("elsewhere").unwrap(),
        class: request.class,
        generation: 1,
        budget: request.budget,
        expires_at: request.expires_at,
    }
}

#[test]
fn an_outside_pool_mints_leases_and_takes_them_back() {
    let pool = OneCellPool::default();
    let lease = now(pool.acquire(request("a"))).unwrap();
    assert_eq!((lease.cell().as_str(), lease.node().as_str()), ("the-cell", "elsewhere"));
    let seen = pool.observations(CLASS);
    assert_eq!((seen.capacity, seen.available, seen.active_leases), (1, 0, 1));
    now(pool.release(lease)).unwrap();
    assert_eq!((pool.available(CLASS), pool.cell.lost.load(Ordering::SeqCst)), (1, 0));
}

#[test]
fn an_outside_pool_hears_of_a_dropped_lease_once() {
    let pool = OneCellPool::default();
    drop(now(pool.acquire(request("a"))).unwrap());
    assert_eq!(pool.cell.lost.load(Ordering::SeqCst), 1);
}

#[test]
fn an_unaccepted_lease_counts_as_abandoned_unless_the_issuer_says_otherwise() {
    let pool = OneCellPool::default();
    now(pool.acquire(request("a"))).unwrap().return_unaccepted();
    assert_eq!(pool.cell.lost.load(Ordering::SeqCst), 1);
}

#[test]
fn only_the_very_arc_of_the_issuer_disarms_a_lease() {
    let issuer: Arc<dyn CellLeaseLifecycle> = Arc::new(OneCell::default());
    let equal: Arc<dyn CellLeaseLifecycle> = Arc::new(OneCell::default());
    let mut lease = CellLease::new(identity(request("a")), issuer.clone());
    assert!(!lease.disarm_lifecycle(&equal));
    assert!(lease.disarm_lifecycle(&issuer));
    assert!(!lease.disarm_lifecycle(&issuer), "it is disarmed already");
}

#[test]
fn a_disarmed_lease_drops_in_silence_and_an_armed_one_does_not() {
    let cell = Arc::new(OneCell::default());
    let issuer: Arc<dyn CellLeaseLifecycle> = cell.clone();
    let mut disarmed = CellLease::new(identity(request("a")), issuer.clone());
    let mut armed = CellLease::new(identity(request("b")), issuer.clone());
    assert!(disarmed.disarm_lifecycle(&issuer));
    assert!(!armed.disarm_lifecycle(&(Arc::new(OneCell::default()) as Arc<dyn CellLeaseLifecycle>)));
    drop(disarmed);
    assert_eq!(cell.lost.load(Ordering::SeqCst), 0);
    drop(armed);
    assert_eq!(cell.lost.load(Ordering::SeqCst), 1);
}

#[test]
fn a_consumer_cannot_disarm_a_lease_of_the_fixed_pool() {
    let pool = pool(1, 0);
    let mut lease = now(pool.acquire(request("a"))).unwrap();
    assert!(!lease.disarm_lifecycle(&(Arc::new(OneCell::default()) as Arc<dyn CellLeaseLifecycle>)));
    drop(lease);
    assert_counts(&pool, [0, 0, 0, 1]);
}

#[test]
fn a_lease_minted_elsewhere_cannot_pass_for_one_of_the_fixed_pool() {
    let pool = pool(1, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let cell = Arc::new(OneCell::default());
    let forged = CellLease::new(lease.identity().clone(), cell.clone());
    assert_kind(&now(pool.release(forged)).unwrap_err(), "permission-denied", "foreign-lease");
    assert_eq!(cell.lost.load(Ordering::SeqCst), 1, "a refused lease is dropped, and its issuer hears of it");
    assert_counts(&pool, [0, 0, 1, 0]);
    now(pool.release(lease)).unwrap();
}

#[test]
fn the_later_operations_are_refused_by_default_and_quarantine_drops_the_lease() {
    let pool = OneCellPool::default();
    let lease = now(pool.acquire(request("a"))).unwrap();
    let error = now(pool.cancel_waiting(&tenant("tenant"), &id("b"))).unwrap_err();
    assert_kind(&error, "unavailable", "unsupported-operation");
    assert!(!error.is_retryable());
    let error = now(pool.quarantine(lease, "cleanup failed")).unwrap_err();
    assert_kind(&error, "unavailable", "unsupported-operation");
    assert!(!error.is_retryable());
    assert_eq!(pool.cell.lost.load(Ordering::SeqCst), 1);
}

#[test]
fn a_pool_is_used_as_an_object() {
    let pools: [Arc<dyn CellPool>; 2] = [Arc::new(OneCellPool::default()), Arc::new(pool(1, 0))];
    for pool in pools {
        let lease = now(pool.acquire(request("a"))).unwrap();
        now(pool.release(lease)).unwrap();
        assert_eq!(pool.observations(CLASS).available, 1);
    }
}
