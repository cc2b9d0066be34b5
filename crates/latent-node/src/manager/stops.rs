//! Waiting for a port while an activation may be stopped: by a cancel, its deadline, or its transport.
//!
//! Invariant: the latch is registered before it is looked at, so that no stop falls between the look and the sleep; a
//! timer is made only for what has to wait.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use latent_core::{ExecutionOutcome, PlatformError, StopCause, StopLatch};
use tokio::time::{Sleep, sleep_until};

use crate::contain::Foreign;

/// The monotonic time of the runtime whose timers the waits use, so that tests turn both together.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// What a stop comes to when nothing has run.
pub(super) fn stopped(cause: StopCause) -> ExecutionOutcome {
    match cause {
        StopCause::Cancelled => ExecutionOutcome::Cancelled,
        StopCause::DeadlineExceeded => ExecutionOutcome::DeadlineExceeded,
        StopCause::TransportStopped => ExecutionOutcome::TransportStopped,
    }
}

/// A timer that is made when it is first waited for.
#[derive(Default)]
pub(super) struct LazyTimer(Option<Pin<Box<Sleep>>>);

impl LazyTimer {
    /// Whether `at` has come. If not, the task is woken then.
    pub(super) fn poll(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        self.0.get_or_insert_with(|| Box::pin(sleep_until(at.into()))).as_mut().poll(cx)
    }

    /// Waits for another time from now on.
    pub(super) fn restart(&mut self, at: Instant) {
        if let Some(timer) = &mut self.0 {
            timer.as_mut().reset(at.into());
        }
    }
}

/// Waits for the first of a stop and an answer, in this order.
pub(super) async fn unless_stopped<T>(
    future: &mut Foreign<BoxFuture<'_, T>>,
    latch: &StopLatch,
    deadline: Instant,
    panicked: fn() -> PlatformError,
) -> Result<T, ExecutionOutcome> {
    let mut timer = LazyTimer::default();
    poll_fn(|cx| {
        latch.register(cx.waker());
        loop {
            if let Some(cause) = latch.checkpoint(now(), Some(deadline)) {
                return Poll::Ready(Err(stopped(cause)));
            }
            if let Poll::Ready(answer) = future.poll(cx, panicked) {
                return Poll::Ready(answer.map_err(ExecutionOutcome::Failed));
            }
            if timer.poll(deadline, cx).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Waits for an answer, but not longer than `grace`. `None`: it did not come.
pub(super) async fn within<T>(
    grace: Duration,
    future: &mut Foreign<BoxFuture<'_, T>>,
    panicked: impl Fn() -> PlatformError,
) -> Option<Result<T, PlatformError>> {
    let mut timer = LazyTimer::default();
    let mut until = None;
    poll_fn(|cx| {
        if let Poll::Ready(answer) = future.poll(cx, &panicked) {
            return Poll::Ready(Some(answer));
        }
        let until = *until.get_or_insert_with(|| now() + grace);
        timer.poll(until, cx).map(|()| None)
    })
    .await
}
