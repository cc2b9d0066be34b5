//! The clock and the timer of whatever runs here.
//!
//! Invariant: both are the runtime's, so that tests turn them together; what has to wait for nothing makes no timer.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::task::unconstrained;
use tokio::time::{Sleep, sleep_until};

/// The monotonic time of the runtime whose timers the waits use.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// A timer that is made when it is first waited for.
#[derive(Default)]
pub(crate) struct LazyTimer(Option<Pin<Box<Sleep>>>);

impl LazyTimer {
    /// Whether `at` has come. If not, the task is woken then. Also for a task that has used up its turn: what it waits
    /// for may do so at every poll.
    pub(crate) fn poll(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(at.into())));
        pin!(unconstrained(timer.as_mut())).poll(cx)
    }

    /// Waits for another time from now on.
    pub(crate) fn restart(&mut self, at: Instant) {
        if let Some(timer) = &mut self.0 {
            timer.as_mut().reset(at.into());
        }
    }
}
