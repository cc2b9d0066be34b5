//! What becomes of a cell, and in which order it and the quota go back.

use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use latent_core::{CellClass, CellId, NodeId, PlatformError, PlatformErrorCode, StopCause, StopLatch};
use latent_scheduler::admission::{Admission, QuotaLedger};
use latent_scheduler::fair::{Disposed, LocalScheduler, LocalSchedulerConfig, NonqueueingCellPool, UnassignedReason};
use latent_scheduler::{CellLease, CellLeaseIdentity, CellLeaseLifecycle, CellPool, CellRequest};

use super::support::*;
use crate::support::CLASS;

#[test]
fn an_idle_cell_is_assigned_at_the_first_poll_without_a_runtime() {
    let house = house(2, 4);
    let assignment = house.assigned(ask("a", "1"));
    assert_eq!(assignment.lease().activation_id().as_str(), "1");
    assert_eq!(assignment.lease().expires_at(), None, "the pool gets no wall-clock deadline");
    assert_eq!(assignment.lease().budget(), assignment.permit().granted());
    let usage = house.admission.ledger().snapshot();
    assert_eq!((usage.queued, usage.running), (0, 1));
    house.assert_counts([1, 0, 0, 1]);
    drop(assignment);
    house.assert_idle();
}

#[test]
fn nothing_is_asked_for_before_the_first_poll() {
    let house = house(1, 4);
    let latch = StopLatch::new();
    let unpolled = house.assign(ask("a", "1"), &latch);
    house.assert_counts([1, 0, 0, 1]);
    drop(unpolled);
    house.assert_idle();
}

#[test]
fn an_assignment_dropped_before_entry_returns_its_cell_and_its_quota_at_once() {
    let house = house(1, 4);
    drop(house.assigned(ask("a", "1")));
    house.assert_idle();
    let permit = house.assigned(ask("a", "1")).give_back();
    house.assert_counts([1, 0, 0, 1]);
    drop(permit);
    house.assert_idle();
}

#[test]
fn a_released_run_returns_its_cell_and_keeps_its_quota_until_the_permit_goes() {
    let house = house(1, 4);
    let entered = house.assigned(ask("a", "1")).enter();
    let Disposed { result, permit } = entered.release().now_or_never().unwrap();
    result.unwrap();
    house.assert_counts([1, 0, 0, 1]);
    drop(permit);
    house.assert_idle();
}

#[test]
fn a_run_without_proof_loses_its_cell() {
    let house = house(3, 4);
    drop(house.assigned(ask("a", "1")).enter());
    house.assert_counts([2, 1, 0, 0]);
    let entered = house.assigned(ask("a", "2")).enter();
    let Disposed { result, permit } = entered.quarantine("no proof").now_or_never().unwrap();
    result.unwrap();
    house.assert_counts([1, 2, 0, 1]);
    drop(permit);
    house.assert_counts([1, 2, 0, 0]);
}

#[test]
fn a_release_that_is_never_polled_is_a_dropped_run() {
    let house = house(1, 4);
    drop(house.assigned(ask("a", "1")).enter().release());
    house.assert_counts([0, 1, 0, 0]);
}

#[test]
fn a_panic_before_entry_returns_the_cell_and_one_after_it_quarantines() {
    let house = house(2, 4);
    let panic_with = |enter: bool| {
        let assignment = house.assigned(ask("a", "1"));
        let run = std::panic::AssertUnwindSafe(|| {
            let _held = if enter { Ok(assignment.enter()) } else { Err(assignment) };
            panic!("the holder fails");
        });
        assert!(std::panic::catch_unwind(run).is_err());
    };
    panic_with(false);
    house.assert_idle();
    panic_with(true);
    house.assert_counts([1, 1, 0, 0]);
}

/// A pool of any number of cells that writes down what the ledger counted when each lease ended.
struct Outside {
    ledger: Arc<QuotaLedger>,
    ends: Arc<Mutex<Vec<(&'static str, u64)>>>,
    release: fn() -> Option<Result<(), PlatformError>>,
    when_asked: Box<dyn Fn() + Send + Sync>,
}

struct Lifecycle {
    ledger: Arc<QuotaLedger>,
    ends: Arc<Mutex<Vec<(&'static str, u64)>>>,
}

impl CellLeaseLifecycle for Lifecycle {
    fn on_abandoned(&self) {
        self.ends.lock().unwrap().push(("abandoned", self.ledger.snapshot().live()));
    }
    fn on_unaccepted(&self) {
        self.ends.lock().unwrap().push(("unaccepted", self.ledger.snapshot().live()));
    }
}

impl CellPool for Outside {
    fn acquire(&self, _: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        unreachable!("the scheduler never queues in a pool")
    }
    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        match (self.release)() {
            Some(answer) => Box::pin(async move {
                drop(lease);
                answer
            }),
            None => Box::pin(async move {
                let _held = lease;
                std::future::pending().await
            }),
        }
    }
    fn capacity(&self, _: CellClass) -> usize {
        4
    }
    fn available(&self, _: CellClass) -> usize {
        4
    }
}

impl NonqueueingCellPool for Outside {
    fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError> {
        (self.when_asked)();
        let identity = CellLeaseIdentity {
            activation_id: request.activation_id,
            tenant: request.tenant,
            cell: CellId::new("outside"),
            node: NodeId::new("node").unwrap(),
            class: request.class,
            generation: 1,
            budget: request.budget,
            expires_at: request.expires_at,
        };
        let lifecycle = Lifecycle { ledger: self.ledger.clone(), ends: self.ends.clone() };
        Ok(Some(CellLease::new(identity, Arc::new(lifecycle))))
    }
    fn listen(&self, _: Waker) -> Result<(), PlatformError> {
        Ok(())
    }
}

struct OutsideHouse {
    admission: Admission,
    ends: Arc<Mutex<Vec<(&'static str, u64)>>>,
    scheduler: Arc<LocalScheduler>,
}

fn outside(
    release: fn() -> Option<Result<(), PlatformError>>,
    when_asked: impl Fn() + Send + Sync + 'static,
) -> OutsideHouse {
    let admission = admission(vec![offer(CLASS, 4)]);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let pool =
        Outside { ledger: admission.ledger().clone(), ends: ends.clone(), release, when_asked: Box::new(when_asked) };
    let queues = [queue(Arc::new(pool), CLASS, 4)];
    let scheduler = Arc::new(LocalScheduler::new(LocalSchedulerConfig::default(), queues).unwrap());
    OutsideHouse { admission, ends, scheduler }
}

impl OutsideHouse {
    fn assigned(&self) -> latent_scheduler::fair::Assignment {
        let latch = StopLatch::new();
        let permit = admit(&self.admission, ask("a", "1"));
        self.scheduler.assign(permit, &latch).now_or_never().unwrap().unwrap()
    }

    #[track_caller]
    fn assert_ended(&self, how: &'static str) {
        assert_eq!(std::mem::take(&mut *self.ends.lock().unwrap()), [(how, 1)], "the lease ends before the refund");
        self.scheduler.audit().unwrap();
    }
}

#[test]
fn the_cell_ends_before_the_quota_is_refunded_on_every_way_out() {
    let house = outside(|| None, || {});
    drop(house.assigned());
    house.assert_ended("unaccepted");
    drop(house.assigned().enter());
    house.assert_ended("abandoned");
    let mut release = Box::pin(house.assigned().enter().release());
    assert!(release.as_mut().now_or_never().is_none());
    drop(release);
    house.assert_ended("abandoned");
    let latch = StopLatch::new();
    let mut quarantine = Box::pin(house.assigned().enter().quarantine("no proof"));
    let Disposed { result, permit } = quarantine.as_mut().now_or_never().unwrap();
    assert!(result.unwrap_err().has_detail("cell-pool.unsupported-operation"), "it has the default");
    house.assert_ended("abandoned");
    drop((permit, latch));
    assert_eq!(house.admission.ledger().audit().unwrap().live(), 0);
}

#[test]
fn a_failed_release_tells_why_and_leaves_the_quota_with_the_caller() {
    let failure = || PlatformError::new(PlatformErrorCode::Internal, "the pool cannot");
    let house = outside(|| Some(Err(PlatformError::new(PlatformErrorCode::Internal, "the pool cannot"))), || {});
    let Disposed { result, permit } = house.assigned().enter().release().now_or_never().unwrap();
    assert_eq!(result, Err(failure()));
    house.assert_ended("abandoned");
    assert_eq!(house.admission.ledger().snapshot().live(), 1);
    drop(permit);
    assert_eq!(house.admission.ledger().audit().unwrap().live(), 0);
}

#[test]
fn a_pool_that_panics_costs_no_place_and_no_quota() {
    let house = outside(|| None, || panic!("the pool fails"));
    for _ in 0..8 {
        let attempt = std::panic::AssertUnwindSafe(|| drop(house.assigned()));
        assert!(std::panic::catch_unwind(attempt).is_err());
        house.scheduler.audit().unwrap();
        assert_eq!(house.admission.ledger().audit().unwrap().live(), 0);
    }
}

#[test]
fn a_stop_or_a_shutdown_that_comes_with_the_cell_returns_it_before_it_is_handed_out() {
    let latch = Arc::new(StopLatch::new());
    let stop = latch.clone();
    let house = outside(|| None, move || stop.request_transport_stop());
    house.assert_unassigned(&latch, &UnassignedReason::Stopped(StopCause::TransportStopped));

    let latch = Arc::new(StopLatch::new());
    let stop = latch.clone();
    let house = outside(|| None, move || stop.request_cancel());
    house.assert_unassigned(&latch, &UnassignedReason::Stopped(StopCause::Cancelled));

    let scheduler = Arc::new(OnceLock::<Arc<LocalScheduler>>::new());
    let shut_down = scheduler.clone();
    let house = outside(|| None, move || shut_down.get().unwrap().shut_down());
    scheduler.set(house.scheduler.clone()).unwrap();
    let permit = admit(&house.admission, ask("a", "1"));
    let unassigned = house.scheduler.assign(permit, &StopLatch::new()).now_or_never().unwrap().unwrap_err();
    house.assert_ended("unaccepted");
    assert_eq!(unassigned.reason.into_error().details()[0].field("reason"), Some("shutting-down"));
}

impl OutsideHouse {
    #[track_caller]
    fn assert_unassigned(&self, latch: &StopLatch, reason: &UnassignedReason) {
        let permit = admit(&self.admission, ask("a", "1"));
        let unassigned = self.scheduler.assign(permit, latch).now_or_never().unwrap().unwrap_err();
        assert_eq!(unassigned.reason, *reason);
        self.assert_ended("unaccepted");
        assert_eq!(self.admission.ledger().snapshot().live(), 1, "the quota came back with the stop");
    }
}
