//! The queue: its order, its bound, and the ways out of it.

use std::sync::Arc;
use std::task::{Context, Waker};

use latent_scheduler::CellPool;

use crate::support::*;

#[test]
fn a_full_queue_refuses_and_says_that_a_retry_may_help() {
    let pool = pool(1, 2);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiters = ["b", "c"].map(|id| pool.acquire(request(id)));
    waiters.iter_mut().for_each(waits);
    let error = now(pool.acquire(request("d"))).unwrap_err();
    assert_kind(&error, "resource-exhausted", "queue-full");
    assert!(error.is_retryable());
    assert_counts(&pool, [0, 2, 1, 0]);
    drop(waiters);
    now(pool.release(lease)).unwrap();
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[test]
fn a_queue_of_no_places_is_legal() {
    let pool = pool(1, 0);
    let lease = now(pool.acquire(request("a"))).unwrap();
    assert_kind(&now(pool.acquire(request("b"))).unwrap_err(), "resource-exhausted", "queue-full");
    now(pool.release(lease)).unwrap();
    now(pool.release(now(pool.acquire(request("b"))).unwrap())).unwrap();
}

#[test]
fn whoever_waits_longest_is_served_first() {
    let pool = pool(1, 8);
    let mut lease = now(pool.acquire(request("first"))).unwrap();
    let mut waiters = ["a", "b", "c", "d"].map(|id| pool.acquire(request(id)));
    waiters.iter_mut().for_each(waits);
    for mut waiter in waiters {
        now(pool.release(lease)).unwrap();
        assert_counts(&pool, [0, pool.observations(CLASS).queue_depth, 1, 0]);
        let std::task::Poll::Ready(granted) = poll(&mut waiter) else { panic!("the longest waiter is next") };
        lease = granted.unwrap();
    }
    assert_eq!(lease.activation_id().as_str(), "d");
    now(pool.release(lease)).unwrap();
}

#[test]
fn nothing_is_asked_for_before_the_first_poll() {
    let pool = pool(1, 1);
    let unpolled = pool.acquire(request("a"));
    assert_counts(&pool, [1, 0, 0, 0]);
    drop(unpolled);
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[test]
fn a_released_cell_goes_to_the_waiter_and_wakes_it_alone() {
    let pool = pool(1, 2);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let counts = [(); 2].map(|()| Arc::new(WakeCount::default()));
    let mut waiters = ["b", "c"].map(|id| pool.acquire(request(id)));
    for (waiter, count) in waiters.iter_mut().zip(&counts) {
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_pending());
    }
    now(pool.release(lease)).unwrap();
    assert_eq!(counts.each_ref().map(|count| count.get()), [1, 0]);
    assert_counts(&pool, [0, 1, 1, 0]);
    assert_kind(&now(pool.acquire(request("b"))).unwrap_err(), "already-exists", "duplicate-activation");
    let [first, second] = waiters;
    now(pool.release(now(first).unwrap())).unwrap();
    now(pool.release(now(second).unwrap())).unwrap();
    assert_eq!(counts.each_ref().map(|count| count.get()), [1, 1]);
}

#[test]
fn the_last_waker_given_is_the_one_woken() {
    let pool = pool(1, 1);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let counts = [(); 2].map(|()| Arc::new(WakeCount::default()));
    let mut waiter = pool.acquire(request("b"));
    for count in &counts {
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_pending());
    }
    now(pool.release(lease)).unwrap();
    assert_eq!(counts.each_ref().map(|count| count.get()), [0, 1]);
    now(pool.release(now(waiter).unwrap())).unwrap();
}

#[test]
fn a_cancelled_waiter_is_told_so_and_never_gets_a_cell() {
    let pool = pool(1, 1);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let count = Arc::new(WakeCount::default());
    let mut waiter = pool.acquire(request("b"));
    assert!(waiter.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_pending());
    assert!(now(pool.cancel_waiting(&tenant("tenant"), &id("b"))).unwrap());
    assert!(!now(pool.cancel_waiting(&tenant("tenant"), &id("b"))).unwrap(), "it waits no more");
    assert_eq!(count.get(), 1);
    assert_counts(&pool, [0, 0, 1, 0]);
    now(pool.release(lease)).unwrap();
    assert_counts(&pool, [1, 0, 0, 0]);
    let error = now(waiter).unwrap_err();
    assert_kind(&error, "cancelled", "waiter-cancelled");
    assert!(error.has_detail("activation.cancelled") && !error.is_retryable());
}

#[test]
fn a_cancelled_waiter_leaves_place_and_id_to_others_at_once() {
    let pool = pool(1, 1);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut cancelled = pool.acquire(request("b"));
    waits(&mut cancelled);
    assert!(now(pool.cancel_waiting(&tenant("tenant"), &id("b"))).unwrap());
    let mut next = pool.acquire(request("b"));
    waits(&mut next);
    drop(cancelled);
    assert_counts(&pool, [0, 1, 1, 0]);
    now(pool.release(lease)).unwrap();
    now(pool.release(now(next).unwrap())).unwrap();
}

#[test]
fn cancelling_reaches_neither_strangers_nor_holders_nor_other_tenants() {
    let pool = pool(1, 1);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiter = pool.acquire(request("b"));
    waits(&mut waiter);
    for (owner, activation) in [("tenant", "a"), ("tenant", "unknown"), ("other", "b")] {
        assert!(!now(pool.cancel_waiting(&tenant(owner), &id(activation))).unwrap());
    }
    assert_counts(&pool, [0, 1, 1, 0]);
    drop(waiter);
    now(pool.release(lease)).unwrap();
}

#[test]
fn cancelling_a_promised_but_unaccepted_grant_hands_the_cell_to_the_next() {
    let pool = pool(1, 2);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiters = ["b", "c"].map(|id| pool.acquire(request(id)));
    waiters.iter_mut().for_each(waits);
    now(pool.release(lease)).unwrap();
    assert!(now(pool.cancel_waiting(&tenant("tenant"), &id("b"))).unwrap());
    let [cancelled, next] = waiters;
    assert_kind(&now(cancelled).unwrap_err(), "cancelled", "waiter-cancelled");
    now(pool.release(now(next).unwrap())).unwrap();
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[test]
fn a_waiter_dropped_before_the_release_is_passed_over() {
    let pool = pool(1, 2);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiters = ["b", "c"].map(|id| pool.acquire(request(id)));
    waiters.iter_mut().for_each(waits);
    let [dropped, next] = waiters;
    drop(dropped);
    assert_counts(&pool, [0, 1, 1, 0]);
    now(pool.release(lease)).unwrap();
    now(pool.release(now(next).unwrap())).unwrap();
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[test]
fn a_waiter_dropped_after_its_grant_returns_the_cell_unused() {
    let pool = pool(1, 2);
    let lease = now(pool.acquire(request("a"))).unwrap();
    let mut waiters = ["b", "c"].map(|id| pool.acquire(request(id)));
    waiters.iter_mut().for_each(waits);
    now(pool.release(lease)).unwrap();
    let [granted, next] = waiters;
    drop(granted);
    assert_counts(&pool, [0, 0, 1, 0]);
    let lease = now(next).unwrap();
    assert_eq!(lease.activation_id().as_str(), "c");
    now(pool.release(lease)).unwrap();
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[test]
fn quarantining_the_last_cell_fails_everybody_who_waits_and_everybody_after() {
    let pool = pool(2, 2);
    let [first, second] = ["a", "b"].map(|id| now(pool.acquire(request(id))).unwrap());
    let mut waiters = ["c", "d"].map(|id| pool.acquire(request(id)));
    waiters.iter_mut().for_each(waits);
    now(pool.quarantine(first, "cleanup failed")).unwrap();
    waiters.iter_mut().for_each(waits);
    drop(second);
    assert_counts(&pool, [0, 0, 0, 2]);
    for late in waiters.into_iter().chain([pool.acquire(request("e"))]) {
        let error = now(late).unwrap_err();
        assert_kind(&error, "unavailable", "all-quarantined");
        assert!(error.is_retryable());
    }
}
