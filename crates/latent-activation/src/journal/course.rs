//! The phases that one activation has reached: written by whoever holds its reservation, read by anybody, with no lock.
//!
//! Invariant: one writer at a time. A phase's time is stored before the phase is, so that whoever sees the phase sees
//! the time; the end is no phase and is kept with the registration. Whether anybody watches is a bit of the phase itself:
//! a watcher that sets it and then sees an old phase is seen by the step to the next.

#[cfg(latent_loom)]
use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering};
#[cfg(not(latent_loom))]
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use std::time::Instant;

use crate::phase::{LifecyclePhase, Moment, PhaseRefusal, Progress};

/// Somebody has asked to be woken at the next phase.
const WATCHED: u8 = 0x80;

#[derive(Debug)]
pub(super) struct Course {
    received: Moment,
    /// The index of the last phase that was reached, and [`WATCHED`].
    reached: AtomicU8,
    /// When each phase after the first was reached, in nanoseconds since the reception.
    since_start_nanos: [AtomicU64; LifecyclePhase::ALL.len() - 1],
}

impl Course {
    pub(super) fn received(received: Moment) -> Self {
        let since_start_nanos = std::array::from_fn(|_| AtomicU64::new(0));
        Self { received, reached: AtomicU8::new(0), since_start_nanos }
    }

    pub(super) fn received_at(&self) -> Moment {
        self.received
    }

    /// The live phases up to now.
    pub(super) fn progress(&self) -> Progress {
        let reached = usize::from(self.reached.load(Ordering::Acquire) & !WATCHED);
        let times = self.since_start_nanos[..reached].iter().map(|nanos| nanos.load(Ordering::Relaxed));
        Progress::restored(self.received, times)
    }

    /// Asks for watchers to be looked for at each phase from now on.
    pub(super) fn set_watched(&self) {
        self.reached.fetch_or(WATCHED, Ordering::AcqRel);
    }

    /// Goes on to the next phase, and says whether somebody watches. For the one writer alone.
    pub(super) fn advance(&self, to: LifecyclePhase, now: Instant) -> Result<bool, PhaseRefusal> {
        let reached = usize::from(self.reached.load(Ordering::Relaxed) & !WATCHED);
        LifecyclePhase::ALL[reached].follow(to)?;
        let before = reached.checked_sub(1).map_or(0, |last| self.since_start_nanos[last].load(Ordering::Relaxed));
        let nanos = self.received.nanos_until(now).max(before);
        self.since_start_nanos[reached].store(nanos, Ordering::Relaxed);
        Ok(self.reached.fetch_add(1, Ordering::AcqRel) & WATCHED != 0)
    }
}
