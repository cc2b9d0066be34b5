//! One activation as the model knows it: what was asked, what was done to it, and what must follow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::time::{Duration, Instant, SystemTime};

use latent_core::{ActivationId, TerminalState};
use latent_node::{ActivationHandle, ActivationTransportInterruption as Interruption};

/// Set by a wake-up, cleared by a poll.
#[derive(Default)]
pub struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Flag {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// What a request asks for, as far as the model has to know.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Which deployment's route; `None` is the default one.
    pub deployment: Option<usize>,
    pub known_function: bool,
    pub deadline: Option<SystemTime>,
    pub transport: Option<(Instant, Duration)>,
    pub wall_limit: Option<Duration>,
    pub fuel: Option<u64>,
    pub memory: u64,
    pub priority: u8,
}

/// What it was admitted with.
#[derive(Debug, Clone, Copy)]
pub struct Admitted {
    pub deadline: Instant,
    pub fuel: u64,
    /// Its place in `CLASSES`.
    pub class: usize,
}

/// What was known when the result was handed over.
#[derive(Debug, Clone, Copy)]
pub struct HandOver {
    pub deadline_elapsed: bool,
    pub interrupted: Option<Interruption>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is one fact, and they come in any combination")]
pub struct Activation {
    pub tenant: usize,
    pub id: ActivationId,
    pub asked: Asked,
    pub received: (Instant, SystemTime),
    /// There until it has ended or was given up.
    pub handle: Option<ActivationHandle>,
    pub flag: Arc<Flag>,
    pub polled: bool,
    pub polled_at: Option<Instant>,
    pub admitted: Option<Admitted>,
    pub resolved: bool,
    pub cancelled: bool,
    pub interrupted: Option<Interruption>,
    /// When the first stop could be seen, but for the deadline.
    pub stop_at: Option<Instant>,
    /// When it was first polled with a stop to be seen.
    pub stop_seen_at: Option<Instant>,
    pub handed_over: Option<HandOver>,
    pub dropped: bool,
    pub ended: Option<TerminalState>,
    /// The number of its last grant, and when it got into the queue, by grants.
    pub waits_since: Option<u64>,
    pub promised_at: Option<Instant>,
}

impl Activation {
    pub fn is_open(&self) -> bool {
        self.handle.is_some()
    }

    /// When the first stop could be seen.
    pub fn stopped_at(&self) -> Option<Instant> {
        let deadline = self.admitted.map(|admitted| admitted.deadline);
        self.stop_at.into_iter().chain(deadline).min()
    }

    /// What is known now.
    pub fn evidence(&self, now: Instant) -> HandOver {
        let timed_out = self.interrupted == Some(Interruption::DeadlineExceeded);
        let elapsed = self.admitted.is_some_and(|admitted| now >= admitted.deadline);
        HandOver { deadline_elapsed: timed_out || elapsed, interrupted: self.interrupted }
    }
}
