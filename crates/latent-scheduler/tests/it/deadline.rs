//! Deadlines by the wall clock, with the runtime's timer as alarm: both are turned by hand, together or not.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use latent_core::ManualWallClock;
use latent_scheduler::{CellPool, CellRequest};

use crate::support::*;

fn request_until(activation_id: &str, millis: u64) -> CellRequest {
    let expires_at = Some(SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
    CellRequest { expires_at, ..request(activation_id) }
}

/// Lets time pass for the wall clock and the runtime alike.
async fn pass(clock: &Arc<ManualWallClock>, millis: u64) {
    clock.advance(Duration::from_millis(millis));
    tokio::time::advance(Duration::from_millis(millis)).await;
}

#[test]
fn a_past_deadline_is_refused_though_a_cell_is_idle() {
    let (pool, clock) = pool_with_clock(1, 1);
    clock.advance(Duration::from_millis(10));
    for millis in [0, 9, 10] {
        let error = now(pool.acquire(request_until("a", millis))).unwrap_err();
        assert_kind(&error, "deadline-exceeded", "deadline-exceeded");
        assert!(error.has_detail("activation.deadline-exceeded"));
        assert_kind(
            &pool.try_acquire(request_until("a", millis)).unwrap_err(),
            "deadline-exceeded",
            "deadline-exceeded",
        );
    }
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[test]
fn an_idle_cell_needs_no_runtime_and_so_no_timer() {
    let (pool, _clock) = pool_with_clock(1, 1);
    let lease = now(pool.acquire(request_until("a", 10))).unwrap();
    assert_eq!(lease.expires_at(), Some(SystemTime::UNIX_EPOCH + Duration::from_millis(10)));
    now(pool.release(lease)).unwrap();
}

#[test]
fn the_deadline_of_the_budget_is_recorded_and_not_acted_on() {
    let (pool, clock) = pool_with_clock(1, 1);
    clock.advance(Duration::from_millis(10));
    let mut asked = request("a");
    asked.budget.deadline = Some(SystemTime::UNIX_EPOCH);
    let lease = now(pool.acquire(asked)).unwrap();
    assert_eq!(lease.budget().deadline, Some(SystemTime::UNIX_EPOCH));
    now(pool.release(lease)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_queued_acquisition_ends_at_its_deadline_and_not_before() {
    let (pool, clock) = pool_with_clock(1, 1);
    let lease = pool.acquire(request("a")).await.unwrap();
    let mut waiter = pool.acquire(request_until("b", 100));
    waits(&mut waiter);
    pass(&clock, 99).await;
    waits(&mut waiter);
    pass(&clock, 1).await;
    let error = now(waiter).unwrap_err();
    assert_kind(&error, "deadline-exceeded", "deadline-exceeded");
    assert!(error.has_detail("activation.deadline-exceeded") && !error.is_retryable());
    assert_counts(&pool, [0, 0, 1, 0]);
    pool.release(lease).await.unwrap();
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_timer_alone_wakes_a_task_whose_deadline_comes() {
    let (pool, clock) = pool_with_clock(1, 1);
    let pool = Arc::new(pool);
    let lease = pool.acquire(request("a")).await.unwrap();
    let task = tokio::spawn({
        let pool = pool.clone();
        async move { pool.acquire(request_until("b", 100)).await }
    });
    while pool.observations(CLASS).queue_depth == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_millis(100));
    // Nobody polls the task by hand: the paused clock runs to its timer while this waits for it.
    assert_kind(&task.await.unwrap().unwrap_err(), "deadline-exceeded", "deadline-exceeded");
    pool.release(lease).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_wall_clock_decides_and_the_timer_only_reminds() {
    let (pool, clock) = pool_with_clock(1, 1);
    let lease = pool.acquire(request("a")).await.unwrap();
    let mut waiter = pool.acquire(request_until("b", 100));
    waits(&mut waiter);
    // The timer fires, but the wall clock was set back in the meantime.
    tokio::time::advance(Duration::from_millis(100)).await;
    waits(&mut waiter);
    pass(&clock, 99).await;
    waits(&mut waiter);
    pass(&clock, 1).await;
    assert_kind(&now(waiter).unwrap_err(), "deadline-exceeded", "deadline-exceeded");
    pool.release(lease).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_alarm_that_came_early_is_set_anew() {
    let (pool, clock) = pool_with_clock(1, 1);
    let pool = Arc::new(pool);
    let lease = pool.acquire(request("a")).await.unwrap();
    let task = tokio::spawn({
        let pool = pool.clone();
        async move { pool.acquire(request_until("b", 100)).await }
    });
    while pool.observations(CLASS).queue_depth == 0 {
        tokio::task::yield_now().await;
    }
    // The timer fires while the wall clock stands still, and the task looks and waits on.
    tokio::time::advance(Duration::from_millis(100)).await;
    tokio::task::yield_now().await;
    assert_counts(&pool, [0, 1, 1, 0]);
    clock.advance(Duration::from_millis(100));
    let answer = tokio::time::timeout(Duration::from_secs(1), task).await.expect("the second alarm wakes the task");
    assert_kind(&answer.unwrap().unwrap_err(), "deadline-exceeded", "deadline-exceeded");
    pool.release(lease).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cell_promised_to_an_expired_waiter_goes_to_the_next() {
    let (pool, clock) = pool_with_clock(1, 2);
    let lease = pool.acquire(request("a")).await.unwrap();
    let mut expired = pool.acquire(request_until("b", 100));
    let mut next = pool.acquire(request_until("c", 200));
    waits(&mut expired);
    waits(&mut next);
    pool.release(lease).await.unwrap();
    pass(&clock, 100).await;
    assert_kind(&now(expired).unwrap_err(), "deadline-exceeded", "deadline-exceeded");
    let lease = now(next).unwrap();
    assert_eq!(lease.activation_id().as_str(), "c");
    pool.release(lease).await.unwrap();
    assert_counts(&pool, [1, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_in_the_far_future_overflows_nothing() {
    let (pool, _clock) = pool_with_clock(1, 1);
    let lease = pool.acquire(request("a")).await.unwrap();
    let expires_at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(i64::MAX.unsigned_abs()));
    let mut waiter = pool.acquire(CellRequest { expires_at, ..request("b") });
    waits(&mut waiter);
    pool.release(lease).await.unwrap();
    pool.release(now(waiter).unwrap()).await.unwrap();
}
