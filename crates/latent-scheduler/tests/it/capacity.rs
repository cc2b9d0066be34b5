//! How many cells there are, what they are called, and what a pool cannot be.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use latent_core::{CellClass, SystemWallClock};
use latent_scheduler::{CellLease, CellPool, FixedCellPool, POOL_CAPACITY_MAX};

use crate::support::*;

#[test]
fn a_pool_without_cells_or_with_too_many_is_refused() {
    for capacity in [0, POOL_CAPACITY_MAX + 1, usize::MAX] {
        let error = FixedCellPool::new(config(capacity, 1), Arc::new(SystemWallClock)).unwrap_err();
        assert_kind(&error, "invalid-argument", "invalid-capacity");
        assert!(error.message().contains(&capacity.to_string()), "{error}");
    }
    assert_counts(
        &FixedCellPool::new(config(POOL_CAPACITY_MAX, 1), Arc::new(SystemWallClock)).unwrap(),
        [POOL_CAPACITY_MAX, 0, 0, 0],
    );
}

#[test]
fn every_cell_is_leased_under_its_own_name_and_no_more_than_there_are() {
    let pool = pool(3, 0);
    let leases: Vec<CellLease> = ["a", "b", "c"].map(|id| now(pool.acquire(request(id))).unwrap()).into();
    assert_eq!(leases.iter().map(|lease| lease.cell().clone()).collect::<HashSet<_>>().len(), 3);
    assert_counts(&pool, [0, 0, 3, 0]);
    assert_kind(&now(pool.acquire(request("d"))).unwrap_err(), "resource-exhausted", "queue-full");
    for lease in leases {
        now(pool.release(lease)).unwrap();
    }
    assert_counts(&pool, [3, 0, 0, 0]);
}

#[test]
fn a_lease_records_what_was_asked_and_the_next_use_of_its_cell_is_another_generation() {
    let pool = pool(1, 0);
    let asked = request("a");
    let lease = now(pool.acquire(asked.clone())).unwrap();
    let identity = lease.identity().clone();
    assert_eq!((&identity.activation_id, &identity.tenant), (&asked.activation_id, &asked.tenant));
    assert_eq!((identity.class, identity.budget, identity.expires_at), (CLASS, asked.budget, None));
    assert_eq!((identity.node.as_str(), identity.generation), ("node", 1));
    now(pool.release(lease)).unwrap();
    let again = now(pool.acquire(asked)).unwrap();
    assert_eq!((again.cell(), again.generation()), (&identity.cell, 2));
    now(pool.release(again)).unwrap();
}

#[test]
fn another_class_has_no_cells_here() {
    let pool = pool(2, 2);
    let mut asked = request("a");
    asked.class = CellClass::Large;
    assert_kind(&now(pool.acquire(asked)).unwrap_err(), "invalid-argument", "unsupported-class");
    assert_eq!((pool.capacity(CellClass::Large), pool.available(CellClass::Large)), (0, 0));
    let seen = pool.observations(CellClass::Large);
    assert_eq!((seen.capacity, seen.available, seen.active_leases, seen.quarantined), (0, 0, 0, 0));
}

#[test]
fn a_live_activation_is_refused_a_second_cell() {
    let pool = pool(2, 2);
    let lease = now(pool.acquire(request("a"))).unwrap();
    assert_kind(&now(pool.acquire(request("a"))).unwrap_err(), "already-exists", "duplicate-activation");
    let other = now(pool.acquire(request("b"))).unwrap();
    let mut waiter = pool.acquire(request("c"));
    waits(&mut waiter);
    assert_kind(&now(pool.acquire(request("c"))).unwrap_err(), "already-exists", "duplicate-activation");
    assert_counts(&pool, [0, 1, 2, 0]);
    now(pool.release(lease)).unwrap();
    assert_kind(&now(pool.acquire(request("c"))).unwrap_err(), "already-exists", "duplicate-activation");
    let granted = now(waiter).unwrap();
    assert_kind(&now(pool.acquire(request("c"))).unwrap_err(), "already-exists", "duplicate-activation");
    now(pool.release(granted)).unwrap();
    let again = now(pool.acquire(request("c"))).unwrap();
    for lease in [again, other] {
        now(pool.release(lease)).unwrap();
    }
}

#[test]
fn two_tenants_may_use_the_same_id() {
    let pool = pool(1, 1);
    let lease = now(pool.acquire(request_of("one", "a"))).unwrap();
    let mut waiter = pool.acquire(request_of("two", "a"));
    waits(&mut waiter);
    assert!(!now(pool.cancel_waiting(&tenant("one"), &id("a"))).unwrap(), "that one holds a lease");
    now(pool.release(lease)).unwrap();
    let lease = now(waiter).unwrap();
    assert_eq!(lease.tenant().as_str(), "two");
    now(pool.release(lease)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_never_hold_more_cells_than_there_are() {
    const CELLS: usize = 3;
    let pool = Arc::new(pool(CELLS, 64));
    let held = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let (pool, held) = (pool.clone(), held.clone());
            tokio::spawn(async move {
                for round in 0..500 {
                    let lease = pool.acquire(request(&format!("{task}-{round}"))).await.unwrap();
                    assert!(held.fetch_add(1, Ordering::SeqCst) < CELLS);
                    tokio::task::yield_now().await;
                    held.fetch_sub(1, Ordering::SeqCst);
                    pool.release(lease).await.unwrap();
                    pool.audit().unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_counts(&pool, [CELLS, 0, 0, 0]);
}
