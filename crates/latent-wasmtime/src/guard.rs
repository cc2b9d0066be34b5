//! Polling under the stop latch: every poll of a run looks at the latch first, a stop drops the run at once, and no
//! panic gets past.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use latent_core::StopCause;
use latent_executor::ExecutionCancellation;

use crate::slices::Slices;
use crate::ticker::Ticker;

/// How the guarded part of a run ended.
pub enum Ended<T> {
    /// It was ready.
    Done(T),
    /// It was stopped.
    Stopped(StopCause),
    /// It panicked, in a poll or while it was dropped.
    Panicked,
}

/// Polls `work` under the latch: it is read before each poll and once more after success, because lifting and
/// lowering are host code that no epoch interrupts. A stop drops `work` at once; a panic of a poll or of that drop is
/// caught. Answers also when it ended. The first look is at `started`, which its caller has just read.
///
/// Guest code comes with its `slices`; what is the host's own work has none.
pub async fn guarded<T, W: Future<Output = T>>(
    ticker: &Ticker,
    cancellation: &ExecutionCancellation,
    started: Instant,
    mut slices: Option<Slices<'_>>,
    mut work: Pin<&mut Option<W>>,
) -> (Ended<T>, Instant) {
    let mut looked_at = Some(started);
    let end = poll_fn(|cx| {
        cancellation.probe().register_running(cx.waker(), ticker.interrupter());
        let began = looked_at.take().unwrap_or_else(now);
        let mut step = |cx: &mut Context<'_>, at| step(cancellation, work.as_mut(), cx, at);
        let Some(slices) = &mut slices else { return step(cx, began) };
        if slices.may_begin(cx) {
            return slices.take(cx, began, step);
        }
        let stopped = cancellation.checkpoint(began);
        stopped.map_or(Poll::Pending, |cause| Poll::Ready((Ended::Stopped(cause), began)))
    })
    .await;
    match catch_unwind(AssertUnwindSafe(|| work.set(None))) {
        Ok(()) => end,
        Err(_panic) => (Ended::Panicked, end.1),
    }
}

/// One poll of `work` at the time `before`.
fn step<T, W: Future<Output = T>>(
    cancellation: &ExecutionCancellation,
    work: Pin<&mut Option<W>>,
    cx: &mut Context<'_>,
    before: Instant,
) -> Poll<(Ended<T>, Instant)> {
    if let Some(cause) = cancellation.checkpoint(before) {
        return Poll::Ready((Ended::Stopped(cause), before));
    }
    let Some(running) = work.as_pin_mut() else {
        return Poll::Ready((Ended::Panicked, before));
    };
    match catch_unwind(AssertUnwindSafe(|| running.poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => {
            let after = now();
            let stopped = cancellation.checkpoint(after);
            Poll::Ready((stopped.map_or(Ended::Done(value), Ended::Stopped), after))
        }
        Err(_panic) => Poll::Ready((Ended::Panicked, now())),
    }
}

/// The monotonic clock, which the running side reads itself.
#[expect(clippy::disallowed_methods, reason = "the running side compares its deadline with the clock itself")]
pub fn now() -> Instant {
    Instant::now()
}
