//! The pool under every interleaving of two threads. Only with `--cfg latent_loom`:
//!
//! `RUSTFLAGS="--cfg latent_loom" cargo test --release -p latent-scheduler --test loom --target-dir target/loom`
#![cfg(latent_loom)]

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use latent_core::{ActivationId, CellClass, ManualWallClock, NodeId, ResourceBudget, TenantId};
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
