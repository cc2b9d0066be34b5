//! The pool, the quota ledger and the fair queues under every interleaving of two threads. Only with `--cfg latent_loom`:
//!
//! `RUSTFLAGS="--cfg latent_loom" cargo test --release -p latent-scheduler --test loom --target-dir target/loom`
#![cfg(latent_loom)]

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::BoxFuture;
use latent_core::{
    ActivationId, AdmissionPolicy, BudgetCeilings, CellClass, ManualWallClock, NodeId, PlatformError, Principal,
    PrincipalKind, ResourceBudget, ServiceName, StopLatch, TenantId, Threading,
};
use latent_scheduler::admission::{
    Admission, AdmissionConfig, AdmissionPermit, AdmissionRequest, ClassOffer, ClockSample, Conditions, QueueClass,
    Quota, QuotaLedger,
};
use latent_scheduler::fair::{Assignment, ClassQueue, LocalScheduler, LocalSchedulerConfig, Unassigned};
use latent_scheduler::{CellPool, CellRequest, FixedCellPool, FixedCellPoolConfig};
use loom::future::block_on;
use loom::thread;

fn pool(capacity: usize, queue_capacity: usize) -> Arc<FixedCellPool> {
    let node = NodeId::new("node").unwrap();
    let config = FixedCellPoolConfig { node, class: CellClass::Standard, capacity, queue_capacity };
    Arc::new(FixedCellPool::new(config, Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH))).unwrap())
}

fn request(id: &str) -> CellRequest {
    CellRequest {
        activation_id: ActivationId::new(id).unwrap(),
        tenant: TenantId::new("tenant").unwrap(),
        class: CellClass::Standard,
        budget: ResourceBudget::default(),
        expires_at: None,
    }
}

fn poll<T>(future: &mut BoxFuture<'_, T>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn now<T>(mut future: BoxFuture<'_, T>) -> T {
    match poll(&mut future) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future is not ready at once"),
    }
}

fn assert_idle(pool: &FixedCellPool, available: usize) {
    let counted = pool.audit().unwrap();
    assert_eq!((counted.available, counted.queue_depth, counted.active_leases), (available, 0, 0));
}

#[test]
fn release_against_cancel() {
    loom::model(|| {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut waiter = pool.acquire(request("b"));
        let releaser = thread::spawn({
            let pool = pool.clone();
            move || now(pool.release(lease)).unwrap()
        });
        let first = poll(&mut waiter);
        let cancel = thread::spawn({
            let pool = pool.clone();
            move || {
                let request = request("b");
                now(pool.cancel_waiting(&request.tenant, &request.activation_id)).unwrap()
            }
        });
        let second = if first.is_pending() { poll(&mut waiter) } else { first };
        releaser.join().unwrap();
        let cancelled = cancel.join().unwrap();
        let answer = match second {
            Poll::Ready(answer) => answer,
            Poll::Pending => now(waiter),
        };
        match answer {
            Ok(lease) => {
                assert!(!cancelled);
                now(pool.release(lease)).unwrap();
            }
            Err(error) => assert!(cancelled && error.has_detail("cell-pool.waiter-cancelled")),
        }
        assert_idle(&pool, 1);
    });
}

#[test]
fn release_against_a_dropped_wait() {
    loom::model(|| {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut waiter = pool.acquire(request("b"));
        let releaser = thread::spawn({
            let pool = pool.clone();
            move || now(pool.release(lease)).unwrap()
        });
        match poll(&mut waiter) {
            Poll::Ready(lease) => now(pool.release(lease.unwrap())).unwrap(),
            Poll::Pending => drop(waiter),
        }
        releaser.join().unwrap();
        assert_idle(&pool, 1);
    });
}

#[test]
fn a_grant_against_a_dropped_wait_reaches_the_next_waiter() {
    loom::model(|| {
        let pool = pool(1, 2);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut dropped = pool.acquire(request("b"));
        assert!(poll(&mut dropped).is_pending());
        let next = thread::spawn({
            let pool = pool.clone();
            move || {
                // Sleeps until woken: a lost wake-up is a deadlock, which the model reports.
                let lease = block_on(pool.acquire(request("c"))).unwrap();
                now(pool.release(lease)).unwrap();
            }
        });
        now(pool.release(lease)).unwrap();
        drop(dropped);
        next.join().unwrap();
        assert_idle(&pool, 1);
    });
}

#[test]
fn a_release_wakes_whoever_is_about_to_sleep() {
    loom::model(|| {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let waiter = thread::spawn({
            let pool = pool.clone();
            move || {
                let lease = block_on(pool.acquire(request("b"))).unwrap();
                now(pool.release(lease)).unwrap();
            }
        });
        now(pool.release(lease)).unwrap();
        waiter.join().unwrap();
        assert_idle(&pool, 1);
    });
}

#[test]
fn a_dropped_lease_against_a_wait_strands_nobody() {
    loom::model(|| {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let waiter = thread::spawn({
            let pool = pool.clone();
            move || block_on(pool.acquire(request("b"))).unwrap_err()
        });
        drop(lease);
        assert!(waiter.join().unwrap().has_detail("cell-pool.all-quarantined"));
        assert_idle(&pool, 0);
    });
}

#[test]
fn two_releases_serve_two_waits() {
    loom::model(|| {
        let pool = pool(2, 1);
        let [first, second] = ["a", "b"].map(|id| now(pool.acquire(request(id))).unwrap());
        let releaser = thread::spawn({
            let pool = pool.clone();
            move || now(pool.release(first)).unwrap()
        });
        let waiter = thread::spawn({
            let pool = pool.clone();
            move || {
                let lease = block_on(pool.acquire(request("c"))).unwrap();
                lease.return_unaccepted();
            }
        });
        now(pool.release(second)).unwrap();
        releaser.join().unwrap();
        waiter.join().unwrap();
        assert_idle(&pool, 2);
    });
}

fn admission(live: u64) -> Arc<Admission> {
    let offer = ClassOffer {
        class: CellClass::Standard,
        cells: 1,
        memory_bytes: 64 << 20,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    };
    let mut config = AdmissionConfig::open(vec![offer], live);
    // Time stands still in a model: deadlines are far away.
    config.ceilings.wall_limit = Duration::from_hours(24);
    Arc::new(Admission::new(Arc::new(QuotaLedger::new()), config).unwrap())
}

fn admit(admission: &Admission, tenant: &str, id: &str) -> Result<AdmissionPermit, PlatformError> {
    let tenant = TenantId::new(tenant).unwrap();
    let subject = ServiceName::new("caller").unwrap();
    #[expect(clippy::disallowed_methods, reason = "the shell of the models makes its own instant")]
    let clock = ClockSample { monotonic: Instant::now(), wall: SystemTime::UNIX_EPOCH };
    let request = AdmissionRequest {
        activation_id: &ActivationId::new(id).unwrap(),
        tenant: &tenant,
        principal: &Principal { tenant: tenant.clone(), subject, kind: PrincipalKind::User },
        policy: Some(&AdmissionPolicy::default()),
        budget: BudgetCeilings::default(),
        payload_bytes: 0,
        priority: 0,
        queue_class: QueueClass::Standard,
        deadline: None,
        transport: None,
    };
    admission.admit(&request, &Conditions { clock, pressure: None, observed_delay: [Duration::ZERO; 5] })
}

#[test]
fn two_admissions_for_the_last_place_and_exactly_one_is_admitted() {
    loom::model(|| {
        let admission = admission(1);
        let other = thread::spawn({
            let admission = admission.clone();
            move || admit(&admission, "a", "1")
        });
        let own = admit(&admission, "b", "2");
        let other = other.join().unwrap();
        assert_eq!(usize::from(own.is_ok()) + usize::from(other.is_ok()), 1);
        assert_eq!(admission.ledger().audit().unwrap().live(), 1);
        drop((own, other));
        assert_eq!(admission.ledger().audit().unwrap().live(), 0);
    });
}

#[test]
fn a_refund_against_an_admission_and_a_start() {
    loom::model(|| {
        let admission = admission(2);
        let held = admit(&admission, "a", "held").unwrap();
        let refund = thread::spawn(move || drop(held.into_running()));
        let own = admit(&admission, "a", "own").unwrap().into_running();
        refund.join().unwrap();
        let usage = admission.ledger().audit().unwrap();
        assert_eq!((usage.queued, usage.running), (0, 1));
        drop(own);
        assert_eq!(admission.ledger().audit().unwrap().live(), 0);
    });
}

/// One class of cells with what leads to it.
struct House {
    admission: Arc<Admission>,
    pool: Arc<FixedCellPool>,
    scheduler: LocalScheduler,
}

fn house(cells: usize) -> Arc<House> {
    let pool = pool(cells, 0);
    let queue =
        ClassQueue { class: CellClass::Standard, pool: pool.clone(), queue_capacity: 4, tenant_cells_max: None };
    let scheduler = LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).unwrap();
    Arc::new(House { admission: admission(8), pool, scheduler })
}

impl House {
    fn assign<'a>(
        &'a self,
        tenant: &str,
        id: &str,
        latch: &'a StopLatch,
    ) -> BoxFuture<'a, Result<Assignment, Unassigned>> {
        Box::pin(self.scheduler.assign(admit(&self.admission, tenant, id).unwrap(), latch))
    }

    fn assert_idle(&self, available: usize) {
        assert_idle(&self.pool, available);
        self.scheduler.audit().unwrap();
        assert_eq!(self.admission.ledger().audit().unwrap().live(), 0);
    }
}

/// Every interleaving with at most five switches that nothing forces: the queues, the pool and the ledger have so many
/// locks together that all interleavings would take hours.
fn model(scenario: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(5);
    builder.check(scenario);
}

#[test]
fn a_returned_cell_against_a_first_poll_wakes_whoever_is_about_to_sleep() {
    model(|| {
        let house = house(1);
        let latch = StopLatch::new();
        let held = now(house.assign("a", "held", &latch)).unwrap();
        let waiter = thread::spawn({
            let house = house.clone();
            move || {
                let latch = StopLatch::new();
                // Sleeps until woken: a lost wake-up is a deadlock, which the model reports.
                drop(block_on(house.assign("b", "1", &latch)).unwrap());
            }
        });
        drop(held);
        waiter.join().unwrap();
        house.assert_idle(1);
    });
}

#[test]
fn a_grant_against_a_cancel_ends_the_wait_and_returns_the_cell() {
    model(|| {
        let house = house(1);
        let latch = Arc::new(StopLatch::new());
        let held = now(house.assign("a", "held", &latch)).unwrap();
        let cancelled = Arc::new(StopLatch::new());
        let mut wait = house.assign("b", "1", &cancelled);
        assert!(poll(&mut wait).is_pending());
        let canceller = thread::spawn({
            let (house, cancelled) = (house.clone(), cancelled.clone());
            move || {
                cancelled.request_cancel();
                house.scheduler.audit().unwrap();
            }
        });
        drop(held);
        let first = poll(&mut wait);
        canceller.join().unwrap();
        match first {
            Poll::Ready(answer) => drop(answer),
            Poll::Pending => assert!(now(wait).is_err()),
        }
        house.assert_idle(1);
    });
}

#[test]
fn a_grant_against_a_dropped_place_reaches_the_next_in_turn() {
    model(|| {
        let house = house(1);
        let latch = StopLatch::new();
        let held = now(house.assign("a", "held", &latch)).unwrap();
        let mut dropped = house.assign("b", "1", &latch);
        assert!(poll(&mut dropped).is_pending());
        let next = thread::spawn({
            let house = house.clone();
            move || {
                let latch = StopLatch::new();
                drop(block_on(house.assign("c", "2", &latch)).unwrap());
            }
        });
        drop(held);
        drop(dropped);
        next.join().unwrap();
        house.assert_idle(1);
    });
}

#[test]
fn two_returned_cells_at_once_serve_two_places() {
    model(|| {
        let house = house(2);
        let latch = StopLatch::new();
        let [first, second] = ["1", "2"].map(|id| now(house.assign("a", id, &latch)).unwrap());
        let mut waits = ["3", "4"].map(|id| house.assign("b", id, &latch));
        // Polled in the model's own thread, so that all that races is the return of the cells.
        waits.iter_mut().for_each(|wait| assert!(poll(wait).is_pending()));
        let returner = thread::spawn(move || drop(first));
        drop(second);
        returner.join().unwrap();
        let [third, fourth] = waits;
        let third = now(third).unwrap();
        let fourth = now(fourth).unwrap();
        drop((third, fourth));
        house.assert_idle(2);
    });
}

#[test]
fn the_last_cell_lost_against_a_first_poll_strands_nobody() {
    model(|| {
        let house = house(1);
        let latch = StopLatch::new();
        let entered = now(house.assign("a", "held", &latch)).unwrap().enter();
        let waiter = thread::spawn({
            let house = house.clone();
            move || {
                let latch = StopLatch::new();
                drop(block_on(house.assign("b", "1", &latch)).unwrap_err());
            }
        });
        drop(entered);
        waiter.join().unwrap();
        house.assert_idle(0);
    });
}
