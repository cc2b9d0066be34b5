//! What a scheduler with queues of its own builds on: acquisition that never queues, and change notifications.

use std::pin::pin;
use std::task::{Context, Waker};

use latent_core::CellClass;
use latent_scheduler::{CellPool, CellPoolChanges, CellRequest};

use crate::support::*;

/// Whether a change has happened since the last look.
fn changed(changes: &mut CellPoolChanges) -> bool {
    let mut look = pin!(changes.changed());
    look.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn an_attempt_that_finds_no_cell_leaves_no_trace() {
    let pool = pool(1, 4);
    let lease = pool.try_acquire(request("a")).unwrap().unwrap();
    assert!(pool.try_acquire(request("b")).unwrap().is_none());
    assert_counts(&pool, [0, 0, 1, 0]);
    now(pool.release(lease)).unwrap();
    let lease = pool.try_acquire(request("b")).unwrap().unwrap();
    now(pool.release(lease)).unwrap();
}

#[test]
fn an_attempt_never_overtakes_a_waiter() {
    let pool = pool(1, 1);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiter = pool.acquire(request("b"));
    waits(&mut waiter);
    assert!(pool.try_acquire(request("c")).unwrap().is_none());
    now(pool.release(lease)).unwrap();
    assert!(pool.try_acquire(request("c")).unwrap().is_none(), "the cell is promised");
    now(pool.release(now(waiter).unwrap())).unwrap();
    now(pool.release(pool.try_acquire(request("c")).unwrap().unwrap())).unwrap();
}

#[test]
fn an_attempt_obeys_every_rule_of_an_acquisition() {
    let pool = pool(1, 1);
    let lease = pool.try_acquire(request("a")).unwrap().unwrap();
    let wrong_class = CellRequest { class: CellClass::Tiny, ..request("b") };
    assert_kind(&pool.try_acquire(wrong_class).unwrap_err(), "invalid-argument", "unsupported-class");
    assert_kind(&pool.try_acquire(request("a")).unwrap_err(), "already-exists", "duplicate-activation");
    drop(lease);
    assert_kind(&pool.try_acquire(request("b")).unwrap_err(), "unavailable", "all-quarantined");
}

#[test]
fn every_way_a_cell_comes_back_or_goes_is_a_change() {
    let pool = pool(4, 0);
    let leases = ["a", "b", "c", "d"].map(|id| now(pool.acquire(request(id))).unwrap());
    let mut changes = pool.changes();
    assert!(!changed(&mut changes), "what happened before the subscription is not news");
    let [released, returned, quarantined, dropped] = leases;
    now(pool.release(released)).unwrap();
    assert!(changed(&mut changes) && !changed(&mut changes));
    returned.return_unaccepted();
    assert!(changed(&mut changes) && !changed(&mut changes));
    now(pool.quarantine(quarantined, "cleanup failed")).unwrap();
    assert!(changed(&mut changes) && !changed(&mut changes));
    drop(dropped);
    assert!(changed(&mut changes) && !changed(&mut changes));
}

#[test]
fn many_changes_are_one_notification() {
    let pool = pool(1, 0);
    let mut changes = pool.changes();
    for round in 0..1_000 {
        now(pool.release(now(pool.acquire(request(&format!("{round}")))).unwrap())).unwrap();
    }
    assert!(changed(&mut changes) && !changed(&mut changes));
}

#[test]
fn a_subscriber_learns_that_the_pool_is_gone() {
    let pool = pool(1, 0);
    let mut changes = pool.changes();
    drop(pool);
    let mut look = pin!(changes.changed());
    match look.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        std::task::Poll::Ready(Err(error)) => assert_kind(&error, "unavailable", "owner-gone"),
        other => panic!("{other:?}"),
    }
}
