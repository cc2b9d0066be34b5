//! The queue from the waiter's side: who comes next, and every way a wait ends.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use latent_core::{PlatformError, PlatformErrorCode, StopCause, StopLatch};
use latent_scheduler::fair::{Unassigned, UnassignedReason};
use latent_scheduler::{CellPool, CellRequest};

use super::support::*;
use crate::support::{CLASS, WakeCount, id, now, tenant};

/// Asserts that a refusal has the code and the reason, and says whether a retry may help.
#[track_caller]
fn assert_refused(unassigned: Unassigned, code: PlatformErrorCode, reason: &str) -> bool {
    let UnassignedReason::Refused(error) = unassigned.reason else { panic!("{:?} is no refusal", unassigned.reason) };
    assert_eq!(error.code(), code, "{error}");
    let [detail] = error.details() else { panic!("exactly one detail: {error:?}") };
    assert_eq!((detail.kind(), detail.field("reason")), ("scheduler.limit", Some(reason)));
    assert_eq!(detail.field("class"), Some("standard"));
    error.is_retryable()
}

#[tokio::test(start_paused = true)]
async fn a_returned_cell_goes_to_the_next_tenant_and_wakes_its_entry_alone() {
    let house = house(1, 8);
    let latches = [(); 3].map(|()| StopLatch::new());
    let held = house.assigned(ask("a", "held"));
    let counts = [(); 3].map(|()| Arc::new(WakeCount::default()));
    let asks = [ask("a", "1"), ask("a", "2"), ask("b", "3")];
    let mut waits: Vec<_> = asks.iter().zip(&latches).map(|(ask, latch)| house.assign(*ask, latch)).collect();
    for (wait, count) in waits.iter_mut().zip(&counts) {
        assert!(wait.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_pending());
    }
    drop(held);
    assert_eq!(counts.each_ref().map(|count| count.get()), [1, 0, 0]);
    let first = ready(&mut waits[0]).unwrap();
    drop(first.enter().release().await);
    assert_eq!(counts.each_ref().map(|count| count.get()), [1, 0, 1], "tenant b's turn comes before a's second");
    drop(ready(&mut waits[2]).unwrap());
    assert_eq!(counts.each_ref().map(|count| count.get()), [1, 1, 1]);
    drop(ready(&mut waits[1]).unwrap());
    drop(waits);
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_wait_at_once_and_hands_the_quota_back() {
    let house = house(1, 8);
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    let mut wait = house.assign(ask("a", "1"), &latch);
    let count = Arc::new(WakeCount::default());
    assert!(wait.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_pending());
    latch.request_cancel();
    assert_eq!(count.get(), 1);
    let unassigned = ready(&mut wait).unwrap_err();
    assert_eq!(unassigned.reason, UnassignedReason::Stopped(StopCause::Cancelled));
    assert_eq!(unassigned.reason.clone().into_error(), PlatformError::cancelled());
    house.assert_counts([0, 0, 0, 2]);
    drop((unassigned, held));
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_cancel_beats_a_grant_that_has_not_been_picked_up() {
    let house = house(1, 8);
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    let mut wait = house.assign(ask("a", "1"), &latch);
    waits(&mut wait);
    drop(held);
    latch.request_cancel();
    let unassigned = ready(&mut wait).unwrap_err();
    assert_eq!(unassigned.reason, UnassignedReason::Stopped(StopCause::Cancelled));
    house.assert_counts([1, 0, 0, 1]);
    drop(unassigned);
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_its_deadline_and_not_before() {
    let house = house(1, 8);
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    let started = tokio::time::Instant::now();
    let limit = Duration::from_millis(1234);
    let unassigned = house.assign(Ask { wall_limit: limit, ..ask("b", "1") }, &latch).await.unwrap_err();
    assert_eq!(unassigned.reason, UnassignedReason::Stopped(StopCause::DeadlineExceeded));
    assert_eq!(unassigned.reason.clone().into_error(), PlatformError::deadline_exceeded());
    let waited = started.elapsed();
    assert!(waited >= limit && waited <= limit + Duration::from_millis(2), "{waited:?}");
    drop((unassigned, held));
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_first_poll_takes_no_cell() {
    type Request = fn(&StopLatch);
    let house = house(1, 8);
    let causes: [(Request, StopCause); 2] = [
        (StopLatch::request_cancel, StopCause::Cancelled),
        (StopLatch::request_transport_stop, StopCause::TransportStopped),
    ];
    for (request, cause) in causes {
        let latch = StopLatch::new();
        let mut assigning = house.assign(ask("a", "1"), &latch);
        request(&latch);
        let unassigned = ready(&mut assigning).unwrap_err();
        assert_eq!(unassigned.reason, UnassignedReason::Stopped(cause));
        drop(unassigned);
        house.assert_idle();
    }
    let latch = StopLatch::new();
    let mut late = house.assign(Ask { wall_limit: Duration::from_millis(5), ..ask("a", "1") }, &latch);
    tokio::time::advance(Duration::from_millis(5)).await;
    let unassigned = ready(&mut late).unwrap_err();
    assert_eq!(unassigned.reason, UnassignedReason::Stopped(StopCause::DeadlineExceeded));
}

#[tokio::test(start_paused = true)]
async fn a_gone_transport_ends_a_wait_after_cancel_and_deadline_have_had_their_say() {
    let house = house(1, 8);
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    let mut wait = house.assign(ask("a", "1"), &latch);
    waits(&mut wait);
    latch.request_transport_stop();
    let error = ready(&mut wait).unwrap_err().reason.into_error();
    assert!(error.has_detail("activation.transport-stopped") && error.code() == PlatformErrorCode::Cancelled);
    let latch = StopLatch::new();
    let mut wait = house.assign(Ask { wall_limit: Duration::from_millis(5), ..ask("a", "2") }, &latch);
    waits(&mut wait);
    latch.request_transport_stop();
    tokio::time::advance(Duration::from_millis(5)).await;
    let unassigned = ready(&mut wait).unwrap_err();
    assert_eq!(unassigned.reason, UnassignedReason::Stopped(StopCause::DeadlineExceeded));
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_leaves_its_place_and_a_promised_cell_to_the_next() {
    let house = house(1, 2);
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    let [mut first, mut second, mut third] = ["1", "2", "3"].map(|id| house.assign(ask("b", id), &latch));
    waits(&mut first);
    waits(&mut second);
    drop(first);
    waits(&mut third);
    drop(held);
    // The second has been promised the cell and goes without a look.
    drop(second);
    drop(ready(&mut third).unwrap());
    drop(third);
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_and_says_that_a_retry_may_help() {
    let house = house(1, 1);
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    let mut wait = house.assign(ask("a", "1"), &latch);
    waits(&mut wait);
    let refused = ready(&mut house.assign(ask("b", "2"), &latch)).unwrap_err();
    assert!(assert_refused(refused, PlatformErrorCode::ResourceExhausted, "queue-full"));
    drop((wait, held));
    house.assert_idle();
}

#[test]
fn a_queue_without_places_denies_what_could_run_at_once() {
    let house = house(1, 0);
    let latch = StopLatch::new();
    let refused = ready(&mut house.assign(ask("a", "1"), &latch)).unwrap_err();
    assert!(!assert_refused(refused, PlatformErrorCode::ResourceExhausted, "queue-full"), "no retry helps");
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn quarantining_the_last_cell_fails_everybody_who_waits_and_everybody_after() {
    let house = house(2, 8);
    let runs = ["1", "2"].map(|id| house.assigned(ask("a", id)).enter());
    let latch = StopLatch::new();
    let mut wait = [house.assign(ask("a", "3"), &latch), house.assign(ask("b", "4"), &latch)];
    wait.iter_mut().for_each(waits);
    let [first, second] = runs;
    drop(first);
    wait.iter_mut().for_each(waits);
    drop(second);
    for mut wait in wait {
        let refused = ready(&mut wait).unwrap_err();
        assert!(assert_refused(refused, PlatformErrorCode::Unavailable, "all-cells-quarantined"));
    }
    let refused = ready(&mut house.assign(ask("c", "5"), &latch)).unwrap_err();
    assert!(assert_refused(refused, PlatformErrorCode::Unavailable, "all-cells-quarantined"));
    house.assert_counts([0, 2, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_refuses_who_waits_who_is_promised_and_who_comes_and_leaves_runs_alone() {
    let house = house(2, 8);
    let running = house.assigned(ask("a", "running")).enter();
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    let mut promised = house.assign(ask("b", "1"), &latch);
    waits(&mut promised);
    let mut waiting = house.assign(ask("b", "2"), &latch);
    waits(&mut waiting);
    drop(held);
    house.scheduler.shut_down();
    house.scheduler.shut_down();
    let mut coming = house.assign(ask("c", "3"), &latch);
    for assigning in [&mut promised, &mut waiting, &mut coming] {
        let refused = ready(assigning).unwrap_err();
        assert!(assert_refused(refused, PlatformErrorCode::Unavailable, "shutting-down"));
    }
    house.assert_counts([1, 0, 0, 1]);
    running.release().await.result.unwrap();
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_cell_that_comes_back_without_the_scheduler_is_noticed() {
    let house = house(1, 8);
    let request = CellRequest {
        activation_id: id("elsewhere"),
        tenant: tenant("other"),
        class: CLASS,
        budget: latent_core::ResourceBudget::default(),
        expires_at: None,
    };
    let lease = house.pool.try_acquire(request).unwrap().unwrap();
    let latch = StopLatch::new();
    let mut wait = house.assign(ask("a", "1"), &latch);
    let count = Arc::new(WakeCount::default());
    assert!(wait.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))).is_pending());
    now(house.pool.release(lease)).unwrap();
    assert_eq!(count.get(), 1);
    drop(ready(&mut wait).unwrap());
    drop(wait);
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_pools_own_ends_the_one_it_is_about() {
    let house = house(2, 8);
    let latch = StopLatch::new();
    // Somebody else leases from the pool under the same name.
    let shadow = admission(vec![offer(CLASS, 2)]);
    let request = CellRequest {
        activation_id: id("twin"),
        tenant: tenant("a"),
        class: CLASS,
        budget: latent_core::ResourceBudget::default(),
        expires_at: None,
    };
    let lease = house.pool.try_acquire(request).unwrap().unwrap();
    let permit = admit(&shadow, ask("a", "twin"));
    let mut refused: Assigning<'_> = Box::pin(house.scheduler.assign(permit, &latch));
    let error = ready(&mut refused).unwrap_err().reason.into_error();
    assert!(error.has_detail("cell-pool.duplicate-activation"));
    now(house.pool.release(lease)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_observed_delay_is_the_age_of_whoever_waits_longest() {
    let house = house(1, 8);
    let held = house.assigned(ask("a", "held"));
    let latch = StopLatch::new();
    assert_eq!(house.scheduler.observed_delay()[CLASS as usize], Duration::ZERO);
    let mut wait = house.assign(ask("a", "1"), &latch);
    waits(&mut wait);
    tokio::time::advance(Duration::from_millis(70)).await;
    assert_eq!(house.scheduler.observed_delay()[CLASS as usize], Duration::from_millis(70));
    drop(held);
    assert_eq!(house.scheduler.observed_delay()[CLASS as usize], Duration::ZERO);
}
