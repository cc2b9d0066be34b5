//! Waiting for a port while an activation may be stopped: by a cancel, its deadline, or its transport.
//!
//! Invariant: before a sleep the latch is registered and then looked at, so that no stop falls between the look and the
//! sleep; what has to wait for nothing costs neither a registration nor a timer.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use latent_core::{ExecutionOutcome, PlatformError, StopCause, StopLatch};

use crate::contain::{Foreign, contained};
use crate::time::{LazyTimer, now};

/// What a stop comes to when nothing has run.
pub(super) fn stopped(cause: StopCause) -> ExecutionOutcome {
    match cause {
        StopCause::Cancelled => ExecutionOutcome::Cancelled,
        StopCause::DeadlineExceeded => ExecutionOutcome::DeadlineExceeded,
        StopCause::TransportStopped => ExecutionOutcome::TransportStopped,
    }
}

/// Waits for the first of a stop and an answer, in this order.
pub(super) async fn unless_stopped<T>(
    future: &mut Foreign<BoxFuture<'_, T>>,
    latch: &StopLatch,
    (since, deadline): (Instant, Instant),
    panicked: fn() -> PlatformError,
) -> Result<T, ExecutionOutcome> {
    let mut timer = LazyTimer::default();
    // The first look goes by the time that the caller has just read.
    let mut just_read = Some(since);
    poll_fn(|cx| {
        loop {
            let at = just_read.take().unwrap_or_else(now);
            if let Some(cause) = latch.checkpoint(at, Some(deadline)) {
                return Poll::Ready(Err(stopped(cause)));
            }
            if let Poll::Ready(answer) = future.poll(cx, panicked) {
                return Poll::Ready(answer.map_err(ExecutionOutcome::Failed));
            }
            latch.register(cx.waker());
            if let Some(cause) = latch.checkpoint(at, None) {
                return Poll::Ready(Err(stopped(cause)));
            }
            if timer.poll(deadline, cx).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// How the wait for an answer ended.
pub(super) enum Answer<T> {
    Came(T),
    /// In a poll or in the destructor of what was polled.
    Panicked,
    /// Not within the grace.
    Missing,
}

/// Waits for an answer, but not longer than `grace`. What was waited for is gone when this returns.
pub(super) async fn within<T>(grace: Duration, mut future: Pin<&mut Option<impl Future<Output = T>>>) -> Answer<T> {
    let mut timer = LazyTimer::default();
    let mut until = None;
    let answer = poll_fn(|cx| {
        let polled = contained(|| future.as_mut().as_pin_mut().map(|future| future.poll(cx)));
        match polled {
            Some(Some(Poll::Ready(answer))) => return Poll::Ready(Answer::Came(answer)),
            Some(Some(Poll::Pending)) => {}
            None | Some(None) => return Poll::Ready(Answer::Panicked),
        }
        let until = *until.get_or_insert_with(|| now() + grace);
        timer.poll(until, cx).map(|()| Answer::Missing)
    })
    .await;
    match (contained(|| future.set(None)), answer) {
        // An answer out of something that then breaks is worth nothing.
        (None, Answer::Came(_)) => Answer::Panicked,
        (_, answer) => answer,
    }
}
