//! How a lease ends: released, quarantined or dropped, once, and at the pool that issued it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use latent_core::error::VALUE_BYTES_MAX;
use latent_scheduler::{CellPool, QuarantineReason};

use crate::support::*;

#[test]
fn a_dropped_lease_takes_its_cell_out_of_reuse() {
    let pool = pool(2, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let cell = lease.cell().clone();
    drop(lease);
    assert_counts(&pool, [1, 0, 0, 1]);
    let out = pool.quarantined_cells();
    assert_eq!((out.len(), &out[0].cell, &out[0].reason), (1, &cell, &QuarantineReason::Abandoned));
    let other = now(pool.acquire(request("a"))).unwrap();
    assert_ne!(other.cell(), &cell, "the id is free again, the cell is not");
    now(pool.release(other)).unwrap();
}

#[test]
fn a_quarantined_cell_never_comes_back_and_keeps_its_reason() {
    let pool = pool(2, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let (cell, generation) = (lease.cell().clone(), lease.generation());
    now(pool.quarantine(lease, "  the store did not drop ")).unwrap();
    assert_counts(&pool, [1, 0, 0, 1]);
    for round in 0..10 {
        let lease = now(pool.acquire(request(&format!("b{round}")))).unwrap();
        assert_ne!(lease.cell(), &cell);
        now(pool.release(lease)).unwrap();
    }
    let out = pool.quarantined_cells();
    assert_eq!((&out[0].cell, out[0].generation), (&cell, generation));
    assert_eq!(out[0].reason, QuarantineReason::Requested("the store did not drop".into()));
}

#[test]
fn a_long_quarantine_reason_is_cut() {
    let pool = pool(1, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    now(pool.quarantine(lease, &"é".repeat(10_000))).unwrap();
    let QuarantineReason::Requested(reason) = &pool.quarantined_cells()[0].reason else { panic!("it was requested") };
    assert!(reason.len() <= VALUE_BYTES_MAX && reason.len() > VALUE_BYTES_MAX - 2);
}

#[test]
fn a_blank_quarantine_reason_is_refused_and_the_cell_quarantined_nevertheless() {
    for reason in ["", " ", "\t\n"] {
        let pool = pool(1, 0);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let error = now(pool.quarantine(lease, reason)).unwrap_err();
        assert_kind(&error, "invalid-argument", "invalid-quarantine-reason");
        assert_counts(&pool, [0, 0, 0, 1]);
    }
}

#[test]
fn a_lease_of_another_pool_is_refused_and_quarantined_where_it_came_from() {
    // Two pools with the same node, class, cells and activations: only the issuer differs.
    let (here, there) = (pool(2, 0), pool(2, 0));
    let _same = now(here.acquire(request("a"))).unwrap();
    let foreign = now(there.acquire(request("a"))).unwrap();
    let error = now(here.release(foreign)).unwrap_err();
    assert_kind(&error, "permission-denied", "foreign-lease");
    assert_counts(&here, [1, 0, 1, 0]);
    assert_counts(&there, [1, 0, 0, 1]);
    let foreign = now(there.acquire(request("a"))).unwrap();
    assert_kind(&now(here.quarantine(foreign, "why not")).unwrap_err(), "permission-denied", "foreign-lease");
    assert_counts(&here, [1, 0, 1, 0]);
    assert_counts(&there, [0, 0, 0, 2]);
}

#[test]
fn an_unpolled_release_is_no_release() {
    let pool = pool(1, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    drop(pool.release(lease));
    assert_counts(&pool, [0, 0, 0, 1]);
}

#[test]
fn a_lease_that_was_never_used_returns_at_once_to_whoever_waits() {
    let pool = pool(1, 1);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiter = pool.acquire(request("b"));
    waits(&mut waiter);
    lease.return_unaccepted();
    let lease = now(waiter).unwrap();
    lease.return_unaccepted();
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[test]
fn a_panic_of_the_holder_quarantines_the_cell_and_spares_the_pool() {
    let pool = pool(2, 0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _lease = now(pool.acquire(request("a"))).unwrap();
        panic!("a dependency fails between acquire and release");
    }));
    assert!(panicked.is_err());
    assert_counts(&pool, [1, 0, 0, 1]);
    now(pool.release(now(pool.acquire(request("a"))).unwrap())).unwrap();
}

#[test]
fn a_lease_outlives_the_pool_it_came_from() {
    let pool = pool(1, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    drop(pool);
    assert_eq!(lease.activation_id().as_str(), "a");
    drop(lease);
}
