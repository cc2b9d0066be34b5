//! How long a guest that computes keeps its thread, and to whom it gives it away.
//!
//! A guest yields at every tick of the engine, and when it says what fuel it burnt. Its turn lasts at least one tick, so that
//! guests which yield more often have turns as long as others. Then it goes behind all other tasks of its thread. While fewer guests
//! compute than there are threads, one of them is free for everything else; going behind the others would only wake that
//! thread to take the guest over, at every tick. So it gives way to sockets and timers alone then, and stays.
//!
//! Invariant: everything else on its thread has a turn at least once in [`STAYS_MAX`] turns of the guest.

use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use latent_core::wakes::Wakes;
use tokio::runtime::Handle;
use tokio::task::coop::has_budget_remaining;

use crate::gauges::{Gauges, Held, Kind};
use crate::guard::now;

/// Of so many turns one gives way to all other tasks, whoever else computes.
const STAYS_MAX: u32 = 4;

/// The turns of one run.
pub struct Turns<'a> {
    wakes: Wakes,
    length: Duration,
    gauges: &'a Gauges,
    /// There from the end of its first turn on, for as long as the run computes.
    computing: Option<Held<'a>>,
    given: u32,
}

impl<'a> Turns<'a> {
    /// Of a run whose turns last at least `length`, among those that `gauges` count.
    pub fn new(length: Duration, gauges: &'a Gauges) -> Self {
        Self { wakes: Wakes::new(), length, gauges, computing: None, given: 0 }
    }

    /// One turn that begins at `began`: steps, each with the time of its begin, until the run is ready, waits for something or
    /// has had its turn.
    pub fn take<T>(
        &mut self,
        cx: &mut Context<'_>,
        began: Instant,
        mut step: impl FnMut(&mut Context<'_>, Instant) -> Poll<T>,
    ) -> Poll<T> {
        self.wakes.register(cx.waker());
        let mut at = began;
        loop {
            let (polled, goes_on) = self.wakes.during(|cx| step(cx, at));
            if polled.is_ready() || !goes_on {
                self.computing = None;
                return polled;
            }
            at = now();
            // Without a budget whatever waits for a socket asks for a turn of its own.
            if at.duration_since(began) >= self.length || !has_budget_remaining() {
                self.give_way(cx);
                return Poll::Pending;
            }
        }
    }

    fn give_way(&mut self, cx: &mut Context<'_>) {
        self.computing.get_or_insert_with(|| self.gauges.hold(Kind::Computing));
        self.given = self.given.wrapping_add(1);
        if self.given.is_multiple_of(STAYS_MAX) || self.gauges.get(Kind::Computing) >= threads() {
            cx.waker().wake_by_ref();
        } else {
            // Wakes this task after the next look at sockets and timers, and is pending until then.
            let _pending = pin!(tokio::task::yield_now()).poll(cx);
        }
    }
}

/// Threads of the runtime.
fn threads() -> u64 {
    Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers() as u64)
}

#[cfg(test)]
mod tests;
