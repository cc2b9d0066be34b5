//! The transfer to the cleanup driver under every interleaving of two or three threads. Only with `--cfg latent_loom`:
//!
//! `RUSTFLAGS="--cfg latent_loom" cargo test --release -p latent-node --test loom --target-dir target/loom`
#![cfg(latent_loom)]

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use loom::future::block_on;
use loom::thread;

// Without the timers and ports around it, which no model can turn.
#[path = "../src/supervisor/transfers.rs"]
mod transfers;

use transfers::{CleanupSupervisorSnapshot, Outlook, Refused, Transfers, Went};

type Desk = Arc<Transfers<u32>>;

fn desk(continuations_max: usize) -> Desk {
    Arc::new(Transfers::new(continuations_max))
}

/// One that loses its transport. Where there is no driver it is given up on the spot.
fn transfer(desk: &Desk, continuation: u32) {
    if desk.transfer(continuation).is_err() {
        desk.settle(Went::Overrun);
    }
}

/// A driver whose continuations end at their first poll. Sleeps until woken: a lost wake-up is a deadlock, which the
/// model reports. Returns what it was given.
fn drive(desk: &Desk) -> Vec<u32> {
    let (mut batch, mut driven) = (Vec::new(), Vec::new());
    block_on(poll_fn(|cx| {
        loop {
            if desk.look(cx.waker(), &mut batch) == Outlook::Over {
                return Poll::Ready(());
            }
            if batch.is_empty() {
                return Poll::Pending;
            }
            for continuation in batch.drain(..) {
                driven.push(continuation);
                desk.settle(Went::InTime);
            }
        }
    }));
    driven.sort_unstable();
    driven
}

/// Looks once, then is dropped: what it took and what is queued is given up.
fn look_and_drop(desk: &Desk) -> usize {
    let mut batch = Vec::new();
    block_on(poll_fn(|cx| {
        let _outlook = desk.look(cx.waker(), &mut batch);
        Poll::Ready(())
    }));
    batch.extend(desk.abandon());
    for _given_up in &batch {
        desk.settle(Went::Overrun);
    }
    batch.len()
}

fn idle(desk: &Desk) -> CleanupSupervisorSnapshot {
    let counted = desk.audit().unwrap();
    assert_eq!((counted.reserved, counted.continuing), (0, 0));
    counted
}

#[test]
fn what_is_transferred_while_the_driver_goes_to_sleep_is_driven() {
    loom::model(|| {
        let desk = desk(1);
        desk.reserve().unwrap();
        let driver = thread::spawn({
            let desk = desk.clone();
            move || drive(&desk)
        });
        transfer(&desk, 1);
        desk.close();
        assert_eq!(driver.join().unwrap(), [1]);
        assert_eq!(idle(&desk).ended, 1);
    });
}

#[test]
fn two_transfers_at_once_and_a_close_are_all_seen() {
    // At most three switches that nothing forces: all interleavings of so many would take minutes.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let desk = desk(2);
        desk.reserve().unwrap();
        desk.reserve().unwrap();
        let driver = thread::spawn({
            let desk = desk.clone();
            move || drive(&desk)
        });
        let other = thread::spawn({
            let desk = desk.clone();
            move || transfer(&desk, 2)
        });
        desk.close();
        transfer(&desk, 1);
        other.join().unwrap();
        assert_eq!(driver.join().unwrap(), [1, 2]);
        assert_eq!(idle(&desk).ended, 2);
    });
}

#[test]
fn the_driver_ends_when_the_last_slot_comes_back_around_a_close() {
    loom::model(|| {
        let desk = desk(1);
        desk.reserve().unwrap();
        let driver = thread::spawn({
            let desk = desk.clone();
            move || drive(&desk)
        });
        let closer = thread::spawn({
            let desk = desk.clone();
            move || desk.close()
        });
        desk.give_back();
        closer.join().unwrap();
        assert!(driver.join().unwrap().is_empty());
        idle(&desk);
    });
}

#[test]
fn a_slot_that_is_given_around_a_close_is_waited_for() {
    loom::model(|| {
        let desk = desk(1);
        let driver = thread::spawn({
            let desk = desk.clone();
            move || drive(&desk)
        });
        let closer = thread::spawn({
            let desk = desk.clone();
            move || desk.close()
        });
        let reserved = desk.reserve();
        if reserved.is_ok() {
            transfer(&desk, 1);
        }
        closer.join().unwrap();
        let given = driver.join().unwrap();
        match reserved {
            Ok(()) => assert_eq!(given, [1]),
            Err(refused) => assert!(refused == Refused::Closed && given.is_empty()),
        }
        idle(&desk);
    });
}

#[test]
fn two_reservations_of_the_last_slot_and_exactly_one_has_it() {
    loom::model(|| {
        let desk = desk(2);
        desk.reserve().unwrap();
        let other = thread::spawn({
            let desk = desk.clone();
            move || desk.reserve()
        });
        let own = desk.reserve();
        let answers = [own, other.join().unwrap()];
        assert!(answers.contains(&Ok(())) && answers.contains(&Err(Refused::Exhausted)));
        assert_eq!((desk.audit().unwrap().reserved, desk.snapshot().continuations_max), (2, 2));
    });
}

#[test]
fn a_slot_that_comes_back_or_is_settled_is_free_for_the_next() {
    loom::model(|| {
        let desk = desk(1);
        desk.reserve().unwrap();
        let driver = thread::spawn({
            let desk = desk.clone();
            move || drive(&desk)
        });
        transfer(&desk, 1);
        let next = desk.reserve();
        if next.is_ok() {
            desk.give_back();
        }
        desk.close();
        assert_eq!(driver.join().unwrap(), [1]);
        assert_eq!(idle(&desk).ended, 1);
    });
}

#[test]
fn transfers_against_a_dropped_driver_are_each_given_up_once() {
    loom::model(|| {
        let desk = desk(2);
        desk.reserve().unwrap();
        desk.reserve().unwrap();
        let driver = thread::spawn({
            let desk = desk.clone();
            move || look_and_drop(&desk)
        });
        let other = thread::spawn({
            let desk = desk.clone();
            move || transfer(&desk, 2)
        });
        transfer(&desk, 1);
        other.join().unwrap();
        assert!(driver.join().unwrap() <= 2);
        let counted = idle(&desk);
        assert_eq!((counted.ended, counted.overruns, counted.driven), (0, 2, false));
        assert_eq!(desk.reserve(), Err(Refused::Closed));
    });
}
