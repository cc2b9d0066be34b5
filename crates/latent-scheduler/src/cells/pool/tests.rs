//! What only the inside can try: leases that lie, leases that exist twice, counters near their end.

use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use latent_core::{CellId, ManualWallClock, PlatformErrorCode, ResourceBudget};

use super::*;
use crate::cells::lease::CellLeaseIdentity;

fn pool(capacity: usize, queue_capacity: usize) -> FixedCellPool {
    let node = NodeId::new("node").unwrap();
    let config = FixedCellPoolConfig { node, class: CellClass::Standard, capacity, queue_capacity };
    FixedCellPool::new(config, Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH))).unwrap()
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

#[test]
fn a_lease_altered_in_any_field_is_refused_and_its_cell_quarantined() {
    let alterations: [fn(&mut CellLeaseIdentity); 8] = [
        |identity| identity.activation_id = ActivationId::new("other").unwrap(),
        |identity| identity.tenant = TenantId::new("other").unwrap(),
        |identity| identity.cell = CellId::new("other"),
        |identity| identity.node = NodeId::new("other").unwrap(),
        |identity| identity.class = CellClass::Large,
        |identity| identity.generation += 1,
        |identity| identity.budget.fuel += 1,
        |identity| identity.expires_at = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1)),
    ];
    for (index, alter) in alterations.into_iter().enumerate() {
        for disposition in ["release", "quarantine"] {
            let pool = pool(1, 0);
            let mut lease = now(pool.acquire(request("a"))).unwrap();
            alter(lease.identity_mut());
            let answer = match disposition {
                "release" => now(pool.release(lease)),
                _ => now(pool.quarantine(lease, "cleanup failed")),
            };
            assert!(answer.unwrap_err().has_detail("cell-pool.identity-mismatch"), "field {index}");
            let counted = pool.audit().unwrap();
            assert_eq!((counted.available, counted.quarantined), (0, 1), "field {index}");
            assert_eq!(pool.quarantined_cells()[0].reason, QuarantineReason::Abandoned);
        }
    }
}

#[test]
fn a_lease_returned_twice_counts_once() {
    let pool = pool(2, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let twin = lease.forged_twin();
    now(pool.release(lease)).unwrap();
    let error = now(pool.release(twin)).unwrap_err();
    assert!(error.has_detail("cell-pool.double-release") && !error.is_retryable());
    assert_eq!(error.code(), PlatformErrorCode::NotFound);
    let counted = pool.audit().unwrap();
    assert_eq!((counted.available, counted.quarantined), (2, 0));
}

#[test]
fn a_stale_lease_cannot_end_the_next_lease_of_its_cell() {
    let pool = pool(1, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let twins = [lease.forged_twin(), lease.forged_twin(), lease.forged_twin(), lease.forged_twin()];
    now(pool.release(lease)).unwrap();
    // Everything but generation and lease number is the same.
    let next = now(pool.acquire(request("a"))).unwrap();
    assert_eq!(next.generation(), 2);
    let [released, quarantined, returned, dropped] = twins;
    assert!(now(pool.release(released)).unwrap_err().has_detail("cell-pool.double-release"));
    assert!(now(pool.quarantine(quarantined, "stale")).unwrap_err().has_detail("cell-pool.double-release"));
    returned.return_unaccepted();
    drop(dropped);
    let counted = pool.audit().unwrap();
    assert_eq!((counted.active_leases, counted.quarantined), (1, 0));
    now(pool.release(next)).unwrap();
}

#[test]
fn a_lease_quarantined_twice_counts_once() {
    let pool = pool(2, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let twin = lease.forged_twin();
    now(pool.quarantine(lease, "cleanup failed")).unwrap();
    assert!(now(pool.release(twin)).unwrap_err().has_detail("cell-pool.double-release"));
    let counted = pool.audit().unwrap();
    assert_eq!((counted.available, counted.quarantined), (1, 1));
}

#[test]
fn lease_number_exhaustion_fails_queued_acquisitions_instead_of_stranding_them() {
    let pool = pool(1, 3);
    pool.shared.decide(|core| core.seed(u64::MAX - 1, 0, 1));
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiters = [pool.acquire(request("b")), pool.acquire(request("c")), pool.acquire(request("d"))];
    assert!(waiters.iter_mut().all(|waiter| poll(waiter).is_pending()));
    now(pool.release(lease)).unwrap();
    let [first, others @ ..] = waiters;
    // The last number; when its cell comes back, the two behind it fail.
    let last = now(first).unwrap();
    now(pool.release(last)).unwrap();
    for waiter in others {
        let error = now(waiter).unwrap_err();
        assert!(error.has_detail("cell-pool.sequence-exhausted") && error.code() == PlatformErrorCode::Internal);
    }
    let counted = pool.audit().unwrap();
    assert_eq!((counted.available, counted.queue_depth, counted.quarantined), (0, 0, 1));
}
