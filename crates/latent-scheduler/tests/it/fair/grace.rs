//! Handles that are not polled: none of them can keep a cell from the others.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use latent_core::StopLatch;

use super::support::*;
use crate::support::WakeCount;

const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_promise_whose_owner_does_not_look_goes_to_the_next_after_the_grace() {
    let house = house(1, 4);
    let latch = StopLatch::new();
    let held = house.assigned(ask("a", "held"));
    let mut sleeper = house.assign(ask("b", "sleeper"), &latch);
    waits(&mut sleeper);
    let next = house.assign(ask("c", "next"), &latch);
    let started = tokio::time::Instant::now();
    let (assignment, ()) = tokio::join!(next, async {
        tokio::task::yield_now().await;
        drop(held);
        // The sleeper was promised the cell and does not come.
        house.assert_counts([0, 0, 1, 3 - 1]);
    });
    let waited = started.elapsed();
    assert!(waited >= 100 * MS && waited <= 201 * MS, "{waited:?}");
    // It has lost the cell, not its place.
    waits(&mut sleeper);
    drop(assignment);
    drop(ready(&mut sleeper).unwrap());
    drop(sleeper);
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_looks_within_the_grace_keeps_its_promise() {
    let house = house(1, 4);
    let latch = StopLatch::new();
    let held = house.assigned(ask("a", "held"));
    let [mut first, mut second] = ["1", "2"].map(|id| house.assign(ask("b", id), &latch));
    waits(&mut first);
    waits(&mut second);
    drop(held);
    tokio::time::advance(99 * MS).await;
    waits(&mut second);
    drop(ready(&mut first).unwrap());
    drop(ready(&mut second).unwrap());
    drop((first, second));
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn one_that_lost_its_promise_is_not_promised_another_until_it_looks_and_then_comes_first() {
    let house = house(1, 8);
    let latch = StopLatch::new();
    let mut held = Some(house.assigned(ask("a", "held")));
    let count = Arc::new(WakeCount::default());
    let mut sleeper = house.assign(ask("b", "sleeper"), &latch);
    assert!(sleeper.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_pending());
    let mut others = ["1", "2", "3"].map(|id| house.assign(ask("b", id), &latch));
    others.iter_mut().for_each(waits);
    held.take();
    assert_eq!(count.get(), 1);
    tokio::time::advance(100 * MS).await;
    let woken = count.get();
    let [first, second, third] = &mut others;
    // Whoever looks takes the cell back and passes it on.
    let passed_on = ready(first).unwrap();
    drop(passed_on);
    assert_eq!(count.get(), woken, "a sleeper is not promised anything");
    let served = ready(second).unwrap();
    waits(&mut sleeper);
    drop(served);
    drop(ready(&mut sleeper).unwrap());
    drop(ready(third).unwrap());
    drop((sleeper, others));
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn any_number_of_unpolled_handles_delays_nobody_for_good() {
    let house = house(2, 64);
    let latch = StopLatch::new();
    let held = [house.assigned(ask("a", "x")), house.assigned(ask("a", "y"))];
    let mut sleepers: Vec<_> = (0..40).map(|id| house.assign(ask("b", &format!("s{id}")), &latch)).collect();
    sleepers.iter_mut().for_each(waits);
    let started = tokio::time::Instant::now();
    let alive = async {
        let mut alive = house.assign(ask("b", "alive"), &latch);
        waits(&mut alive);
        drop(held);
        alive.await.unwrap()
    };
    drop(alive.await);
    // Two cells: each pair of sleepers keeps them for a grace, and is found out a look later.
    assert!(started.elapsed() <= 40 * 100 * MS, "{:?}", started.elapsed());
    drop(sleepers);
    house.assert_idle();
}
