//! Several classes beside one another, and what a scheduler cannot be made of.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use latent_core::{CellClass, ManualWallClock, NodeId, PlatformErrorCode, StopLatch};
use latent_scheduler::fair::{
    CLEANUP_GRACE_MAX, ClassQueue, LocalScheduler, LocalSchedulerConfig, QUEUE_CAPACITY_MAX, UnassignedReason,
};
use latent_scheduler::{CellPool, FixedCellPool, FixedCellPoolConfig};

use super::support::*;
use crate::support::{CLASS, pool};

fn pool_of(class: CellClass, capacity: usize) -> Arc<FixedCellPool> {
    let config = FixedCellPoolConfig { node: NodeId::new("node").unwrap(), class, capacity, queue_capacity: 0 };
    Arc::new(FixedCellPool::new(config, Arc::new(ManualWallClock::new(std::time::SystemTime::UNIX_EPOCH))).unwrap())
}

#[tokio::test(start_paused = true)]
async fn each_class_has_a_queue_and_a_pool_of_its_own() {
    let (small, large) = (pool_of(CellClass::Small, 1), pool_of(CellClass::Large, 1));
    let queues = [queue(small.clone(), CellClass::Small, 1), queue(large.clone(), CellClass::Large, 1)];
    let scheduler = LocalScheduler::new(LocalSchedulerConfig::default(), queues).unwrap();
    let of = |class| admission(vec![offer(class, 1)]);
    let (to_small, to_large) = (of(CellClass::Small), of(CellClass::Large));
    let latch = StopLatch::new();
    let first = scheduler.assign(admit(&to_small, ask("a", "1")), &latch).now_or_never().unwrap().unwrap();
    let mut second: Assigning<'_> = Box::pin(scheduler.assign(admit(&to_small, ask("a", "2")), &latch));
    waits(&mut second);
    // The small class is full; the large one does not mind.
    let full = scheduler.assign(admit(&to_small, ask("a", "3")), &latch).now_or_never().unwrap().unwrap_err();
    assert!(matches!(full.reason, UnassignedReason::Refused(_)));
    let other = scheduler.assign(admit(&to_large, ask("a", "4")), &latch).now_or_never().unwrap().unwrap();
    assert_eq!(other.lease().class(), CellClass::Large);
    drop(other);
    waits(&mut second);
    drop(first);
    assert_eq!(ready(&mut second).unwrap().lease().class(), CellClass::Small);
    drop(second);
    assert_eq!((small.available(CellClass::Small), large.available(CellClass::Large)), (1, 1));
    scheduler.audit().unwrap();
}

#[test]
fn a_class_without_a_pool_is_refused_by_name_with_the_quota_handed_back() {
    let house = house(1, 1);
    let latch = StopLatch::new();
    let elsewhere = admission(vec![offer(CellClass::Tiny, 1)]);
    let refused = house.scheduler.assign(admit(&elsewhere, ask("a", "1")), &latch).now_or_never().unwrap().unwrap_err();
    assert_eq!(elsewhere.ledger().snapshot().live(), 1, "the quota came back with the refusal");
    let error = refused.reason.into_error();
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    assert_eq!(error.details()[0].field("class"), Some("tiny"));
    drop(refused.quota);
    assert_eq!(elsewhere.ledger().snapshot().live(), 0);
}

#[test]
fn settings_out_of_their_bounds_are_refused_by_name() {
    let good = || queue(Arc::new(pool(1, 0)), CLASS, 1);
    let config = LocalSchedulerConfig::default;
    let field = |config, queues: Vec<ClassQueue>| {
        let error = LocalScheduler::new(config, queues).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
        error.details()[0].field("field").unwrap().to_owned()
    };
    let grace = |cleanup_grace| LocalSchedulerConfig { cleanup_grace, ..config() };
    assert_eq!(field(grace(Duration::ZERO), vec![]), "cleanup_grace");
    assert_eq!(field(grace(CLEANUP_GRACE_MAX + Duration::from_nanos(1)), vec![]), "cleanup_grace");
    assert_eq!(field(config(), vec![good(), good()]), "class");
    assert_eq!(field(config(), vec![ClassQueue { class: CellClass::Tiny, ..good() }]), "pool");
    let long = QUEUE_CAPACITY_MAX + 1;
    assert_eq!(field(config(), vec![ClassQueue { queue_capacity: long, ..good() }]), "queue_capacity");
    assert_eq!(field(config(), vec![ClassQueue { tenant_cells_max: Some(0), ..good() }]), "tenant_cells_max");
}

#[test]
fn a_pool_serves_one_scheduler() {
    let house = house(1, 1);
    let error = LocalScheduler::new(LocalSchedulerConfig::default(), [queue(house.pool, CLASS, 1)]).unwrap_err();
    assert!(error.has_detail("cell-pool.listener-taken"));
}

#[tokio::test(start_paused = true)]
async fn a_configured_cap_keeps_cells_from_a_tenant_even_while_they_are_idle() {
    let cells = Arc::new(pool(3, 0));
    let capped = ClassQueue { tenant_cells_max: Some(1), ..queue(cells.clone(), CLASS, 4) };
    let scheduler = LocalScheduler::new(LocalSchedulerConfig::default(), [capped]).unwrap();
    let admission = admission(vec![offer(CLASS, 3)]);
    let latch = StopLatch::new();
    let assign = |tenant, id| Box::pin(scheduler.assign(admit(&admission, ask(tenant, id)), &latch)) as Assigning<'_>;
    let first = ready(&mut assign("a", "1")).unwrap();
    let mut second = assign("a", "2");
    waits(&mut second);
    let other = ready(&mut assign("b", "1")).unwrap();
    assert_eq!(cells.available(CLASS), 1, "the third cell is idle");
    waits(&mut second);
    drop(first);
    drop(ready(&mut second).unwrap());
    drop((second, other));
    scheduler.audit().unwrap();
    assert_eq!(cells.available(CLASS), 3);
}
