//! How long a guest that computes keeps its thread, and to whom it gives it away.
//!
//! A guest yields at every tick of the engine, and when it says what fuel it burnt. A slice lasts at least one tick, so that
//! guests which yield more often have slices as long as others. Where as many compute as there are threads, each slice is waited
//! for in the [`Processor`]'s queue; the first one too, once there is an instance. While fewer do, one thread is free for
//! everything else; going behind the other tasks would only wake that thread to take the guest over, at every tick. So it gives
//! way to sockets and timers alone then, and stays.
//!
//! A host call that is ready at once may give way to sockets and timers too, which looks like waiting and comes back before all other
//! tasks. So the time before such a call counts: a slice that was not spent in one poll is followed by a turn of all others.
//!
//! Invariant: all other tasks of its thread have their turns at least once in [`STAYS_MAX`] slices of the guest.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use latent_core::TenantId;
use latent_core::wakes::Wakes;
use tokio::task::coop::has_budget_remaining;

use crate::guard::now;
use crate::processor::{Computing, Processor, Waiting};

/// Of so many slices one gives way to all other tasks, whoever else computes.
const STAYS_MAX: u32 = 4;

/// The slices of one run.
pub struct Slices<'a> {
    /// From the second poll on. Most runs have one poll and no use for them.
    wakes: Option<Wakes>,
    was_polled: bool,
    length: Duration,
    processor: &'a Arc<Processor>,
    /// Whose run it is.
    tenant: &'a TenantId,
    /// Whether there is an instance. Making one is the host's own work, which nobody waits for.
    entered: &'a AtomicBool,
    /// There while it would go on if it had the processor.
    computing: Option<Computing>,
    /// Its place in the queue, if it is there.
    waiting: Option<Waiting>,
    /// Slices after which it gave its thread away.
    given: u32,
    /// What its polls took since then, but for the last.
    used: Duration,
}

impl<'a> Slices<'a> {
    /// Of a run of `tenant` whose slices last at least `length`, and which says when it has `entered` its guest.
    pub fn new(length: Duration, processor: &'a Arc<Processor>, tenant: &'a TenantId, entered: &'a AtomicBool) -> Self {
        let (wakes, was_polled, computing, waiting, given, used) = (None, false, None, None, 0, Duration::ZERO);
        Self { wakes, was_polled, length, processor, tenant, entered, computing, waiting, given, used }
    }

    /// Whether a slice may begin. If not, the task is woken when it may.
    pub fn may_begin(&mut self, cx: &mut Context<'_>) -> bool {
        match &self.waiting {
            Some(waiting) if !waiting.is_granted(cx.waker()) => return false,
            Some(_granted) => self.waiting = None,
            // It begins, or it waited for something else: it waits for the processor like all others.
            None if self.computing.is_none() && self.processor.is_crowded() && self.entered.load(Ordering::Relaxed) => {
                return !self.joins(cx);
            }
            None => {}
        }
        true
    }

    /// One slice that begins at `began`: steps, each with the time of its begin, until the run is ready, waits for something or
    /// has had its slice. The first poll is one step: what wakes the task in it may be the run that
    /// [waits for its first slice](Processor::before_the_first_slice).
    pub fn take<T>(
        &mut self,
        cx: &mut Context<'_>,
        began: Instant,
        mut step: impl FnMut(&mut Context<'_>, Instant) -> Poll<T>,
    ) -> Poll<T> {
        if !std::mem::replace(&mut self.was_polled, true) {
            let polled = step(cx, began);
            if polled.is_pending() {
                self.used = now().duration_since(began);
            }
            return polled;
        }
        self.wakes.get_or_insert_default().register(cx.waker());
        let mut at = began;
        loop {
            let wakes = self.wakes.get_or_insert_default();
            let (polled, goes_on) = wakes.during(|cx| step(cx, at));
            if polled.is_ready() {
                self.computing = None;
                return polled;
            }
            at = now();
            let took = at.duration_since(began);
            if !goes_on {
                self.computing = None;
                self.used += took;
                return polled;
            }
            // Without a budget whatever waits for a socket asks for a slice of its own.
            if self.used + took >= self.length || !has_budget_remaining() {
                self.give_way(cx);
                return Poll::Pending;
            }
        }
    }

    fn give_way(&mut self, cx: &mut Context<'_>) {
        self.computing.get_or_insert_with(|| self.processor.compute());
        self.given = self.given.wrapping_add(1);
        let was_one_poll = std::mem::take(&mut self.used).is_zero();
        if self.processor.is_crowded() {
            if !self.joins(cx) {
                cx.waker().wake_by_ref();
            }
        } else if !was_one_poll || self.given.is_multiple_of(STAYS_MAX) {
            cx.waker().wake_by_ref();
        } else {
            // Wakes this task after the next look at sockets and timers, and is pending until then.
            let _pending = pin!(tokio::task::yield_now()).poll(cx);
        }
    }

    /// Whether it has a place in the queue now.
    fn joins(&mut self, cx: &Context<'_>) -> bool {
        self.computing.get_or_insert_with(|| self.processor.compute());
        self.waiting = self.processor.join(self.tenant, cx.waker());
        self.waiting.is_some()
    }
}

#[cfg(test)]
mod tests;
