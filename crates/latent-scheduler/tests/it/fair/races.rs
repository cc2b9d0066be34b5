//! Threads that meet at barriers, and many tasks at once: whatever the interleaving, the books are exact.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;

use latent_core::{StopCause, StopLatch};
use latent_scheduler::fair::UnassignedReason;
use tokio::runtime::Runtime;

use super::support::*;
use crate::support::together;

const ROUNDS: usize = 300;

/// Waits need a timer; threads borrow this runtime's.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

#[test]
fn of_a_grant_and_a_cancel_exactly_one_decides_and_the_cell_is_idle_again() {
    let runtime = runtime();
    for _ in 0..ROUNDS {
        let _timer = runtime.enter();
        let house = house(1, 4);
        let held = house.assigned(ask("a", "held"));
        let latch = StopLatch::new();
        let mut wait = house.assign(ask("b", "1"), &latch);
        waits(&mut wait);
        together(|| drop(held), || latch.request_cancel());
        let unassigned = ready(&mut wait).unwrap_err();
        assert_eq!(unassigned.reason, UnassignedReason::Stopped(StopCause::Cancelled));
        drop((wait, unassigned));
        house.assert_idle();
    }
}

#[test]
fn a_wait_dropped_while_its_cell_comes_back_hands_on_to_the_next() {
    let runtime = runtime();
    for _ in 0..ROUNDS {
        let _timer = runtime.enter();
        let house = house(1, 4);
        let held = house.assigned(ask("a", "held"));
        let latch = StopLatch::new();
        let [mut dropped, mut next] = ["1", "2"].map(|id| house.assign(ask("b", id), &latch));
        waits(&mut dropped);
        waits(&mut next);
        together(|| drop(held), || drop(dropped));
        drop(ready(&mut next).unwrap());
        drop(next);
        house.assert_idle();
    }
}

#[test]
fn a_first_poll_while_the_cell_comes_back_is_never_stranded() {
    let runtime = runtime();
    for _ in 0..ROUNDS {
        let house = house(1, 4);
        let held = house.assigned(ask("a", "held"));
        let latch = StopLatch::new();
        let mut wait = house.assign(ask("b", "1"), &latch);
        let poll_once = || {
            let _timer = runtime.enter();
            poll(&mut wait)
        };
        let ((), first) = together(|| drop(held), poll_once);
        let assignment = match first {
            Poll::Ready(answer) => answer.unwrap(),
            Poll::Pending => {
                let _timer = runtime.enter();
                ready(&mut wait).unwrap()
            }
        };
        drop((wait, assignment));
        house.assert_idle();
    }
}

#[test]
fn sixty_four_first_polls_at_once_get_exactly_the_cells_and_the_places() {
    let runtime = runtime();
    for _ in 0..20 {
        let house = house(8, 16);
        let latch = StopLatch::new();
        let barrier = Barrier::new(64);
        let mut answers = thread::scope(|scope| {
            let (house, barrier, runtime, latch) = (&house, &barrier, &runtime, &latch);
            let racers: Vec<_> = (0..64)
                .map(|racer| {
                    scope.spawn(move || {
                        let _timer = runtime.enter();
                        let mut assigning =
                            house.assign(ask(&format!("tenant-{}", racer % 16), &racer.to_string()), latch);
                        barrier.wait();
                        let answer = poll(&mut assigning);
                        (assigning, answer)
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect::<Vec<_>>()
        });
        house.scheduler.audit().unwrap();
        let refused = answers.iter().filter(|(_, answer)| matches!(answer, Poll::Ready(Err(_)))).count();
        let queue = house.scheduler.snapshot(crate::support::CLASS).unwrap();
        let assigned = answers.iter().filter(|(_, answer)| matches!(answer, Poll::Ready(Ok(_)))).count();
        assert_eq!(assigned + queue.promised, 8);
        assert_eq!((queue.queued, refused), (16, 40));
        let _timer = runtime.enter();
        answers.clear();
        house.assert_idle();
    }
}

#[test]
fn thousands_of_activations_with_cancels_and_drops_leave_every_book_exact() {
    let runtime = runtime();
    let house = Arc::new(house(3, 64));
    let (done, running, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let counters = Arc::new((done, running, most));
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..16usize {
            let (house, counters) = (house.clone(), counters.clone());
            tasks.spawn(async move {
                let (done, running, most) = &*counters;
                for round in 0..500usize {
                    let mix = (worker * 31 + round * 17) % 11;
                    let latch = StopLatch::new();
                    let tenant = format!("tenant-{}", worker % 4);
                    let id = format!("{worker}-{round}");
                    let mut assigning = house.assign(ask(&tenant, &id), &latch);
                    if mix == 0 {
                        // Dropped after one poll, with a place, a promise or a cell.
                        drop(poll(&mut assigning));
                        continue;
                    }
                    if mix == 1 {
                        let first = poll(&mut assigning);
                        latch.request_cancel();
                        if first.is_pending() {
                            assert!(assigning.await.is_err());
                        }
                        continue;
                    }
                    let assignment = assigning.await.unwrap();
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let entered = assignment.enter();
                    if mix % 2 == 0 {
                        tokio::task::yield_now().await;
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                    entered.release().await.result.unwrap();
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.unwrap();
        }
    });
    assert!(counters.0.load(Ordering::SeqCst) > 5000);
    assert!(counters.2.load(Ordering::SeqCst) <= 3, "never more than there are cells");
    house.assert_idle();
}
