//! Real threads that start together at a barrier, many rounds: whatever the order, the books are right.

use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;

use latent_scheduler::{CellPool, FixedCellPool};

use crate::support::*;

const ROUNDS: usize = 1_000;

#[test]
fn of_release_and_cancel_exactly_one_decides_the_wait() {
    for _ in 0..ROUNDS {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut waiter = pool.acquire(request("b"));
        waits(&mut waiter);
        let (released, cancelled) =
            together(|| now(pool.release(lease)), || now(pool.cancel_waiting(&tenant("tenant"), &id("b"))).unwrap());
        released.unwrap();
        assert!(cancelled, "the waiter has accepted nothing yet, so the cancel always wins");
        assert_kind(&now(waiter).unwrap_err(), "cancelled", "waiter-cancelled");
        assert_counts(&pool, [1, 0, 0, 0]);
    }
}

#[test]
fn of_acceptance_and_cancel_exactly_one_wins() {
    for _ in 0..ROUNDS {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut waiter = pool.acquire(request("b"));
        waits(&mut waiter);
        now(pool.release(lease)).unwrap();
        let (accepted, cancelled) =
            together(|| now(waiter), || now(pool.cancel_waiting(&tenant("tenant"), &id("b"))).unwrap());
        match accepted {
            Ok(lease) => {
                assert!(!cancelled);
                now(pool.release(lease)).unwrap();
            }
            Err(error) => {
                assert!(cancelled);
                assert_kind(&error, "cancelled", "waiter-cancelled");
            }
        }
        assert_counts(&pool, [1, 0, 0, 0]);
    }
}

#[test]
fn a_wait_dropped_while_its_cell_is_released_leaves_the_cell_idle() {
    for _ in 0..ROUNDS {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut waiter = pool.acquire(request("b"));
        waits(&mut waiter);
        together(|| now(pool.release(lease)).unwrap(), || drop(waiter));
        assert_counts(&pool, [1, 0, 0, 0]);
    }
}

#[test]
fn a_wait_dropped_while_its_cell_is_released_hands_on_to_the_next() {
    for _ in 0..ROUNDS {
        let pool = pool(1, 2);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut waiters = ["b", "c"].map(|id| pool.acquire(request(id)));
        waiters.iter_mut().for_each(waits);
        let [dropped, next] = waiters;
        together(|| now(pool.release(lease)).unwrap(), || drop(dropped));
        now(pool.release(now(next).unwrap())).unwrap();
        assert_counts(&pool, [1, 0, 0, 0]);
    }
}

#[test]
fn the_last_quarantine_and_a_new_wait_leave_nobody_stranded() {
    for _ in 0..ROUNDS {
        let pool = pool(1, 1);
        let lease = now(pool.acquire(request("a"))).unwrap();
        let mut waiter = pool.acquire(request("b"));
        let ((), first) = together(|| drop(lease), || poll(&mut waiter));
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => now(waiter),
        };
        assert_kind(&answer.unwrap_err(), "unavailable", "all-quarantined");
        assert_counts(&pool, [0, 0, 0, 1]);
    }
}

#[test]
fn a_task_aborted_while_its_cell_is_released_leaves_the_cell_idle_or_its_lease_with_the_handle() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    for _ in 0..ROUNDS {
        let pool = Arc::new(pool(1, 1));
        let lease = now(pool.acquire(request("a"))).unwrap();
        let task = runtime.spawn({
            let pool = pool.clone();
            async move { pool.acquire(request("b")).await }
        });
        while pool.observations(CLASS).queue_depth == 0 {
            thread::yield_now();
        }
        together(|| now(pool.release(lease)).unwrap(), || task.abort());
        match runtime.block_on(task) {
            Ok(lease) => now(pool.release(lease.unwrap())).unwrap(),
            Err(error) => assert!(error.is_cancelled()),
        }
        assert_counts(&pool, [1, 0, 0, 0]);
    }
}

/// 64 threads ask at once while `free` cells are idle: how many leases, waits and refusals that makes.
fn rush(pool: &FixedCellPool) -> [usize; 3] {
    let barrier = Barrier::new(64);
    let answers: Vec<_> = thread::scope(|scope| {
        let barrier = &barrier;
        let asks: Vec<_> = (0..64)
            .map(|ask| {
                scope.spawn(move || {
                    let mut acquisition = pool.acquire(request(&format!("ask-{ask}")));
                    barrier.wait();
                    let answer = poll(&mut acquisition);
                    (acquisition, answer)
                })
            })
            .collect();
        asks.into_iter().map(|ask| ask.join().unwrap()).collect()
    });
    let observed = pool.audit().unwrap();
    let mut counts = [0; 3];
    for (_acquisition, answer) in answers {
        match answer {
            Poll::Ready(Ok(lease)) => {
                counts[0] += 1;
                lease.return_unaccepted();
            }
            Poll::Pending => counts[1] += 1,
            Poll::Ready(Err(error)) => {
                assert_kind(&error, "resource-exhausted", "queue-full");
                counts[2] += 1;
            }
        }
    }
    assert_eq!(counts[1], observed.queue_depth);
    counts
}

#[test]
fn racing_acquisitions_at_the_limit_get_exactly_what_is_left() {
    for _ in 0..20 {
        let full = pool(8, 0);
        let held: Vec<_> = (0..7).map(|held| now(full.acquire(request(&format!("held-{held}")))).unwrap()).collect();
        assert_eq!(rush(&full), [1, 0, 63]);
        assert_counts(&full, [1, 0, 7, 0]);
        for lease in held {
            lease.return_unaccepted();
        }

        let queueing = pool(8, 5);
        assert_eq!(rush(&queueing), [8, 5, 51]);
        assert_counts(&queueing, [8, 0, 0, 0]);
    }
}
