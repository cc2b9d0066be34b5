//! How far an activation has come, and the events that say so.
//!
//! Invariant: phases follow one another without a gap, every event has the next sequence number, and exactly one event,
//! the last, is terminal. It repeats the last live phase: there is no phase for the end.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use latent_core::TerminalState;

/// The live phases of a stateless activation, in order (`activation-lifecycle.md`, "Resolution and lifecycle").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LifecyclePhase {
    /// Accepted: it has an id and a record.
    Received,
    /// Its revision is pinned.
    Resolved,
    /// Its quota is reserved.
    Admitted,
    /// It is being made ready, or waits for a cell.
    Queued,
    /// It has a cell and gets its instance.
    Materializing,
    /// The guest runs.
    Running,
}

impl LifecyclePhase {
    /// Every phase, in order.
    pub const ALL: [Self; 6] =
        [Self::Received, Self::Resolved, Self::Admitted, Self::Queued, Self::Materializing, Self::Running];

    /// The phase in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Resolved => "resolved",
            Self::Admitted => "admitted",
            Self::Queued => "queued",
            Self::Materializing => "materializing",
            Self::Running => "running",
        }
    }

    /// The only phase that may follow.
    #[must_use]
    pub fn successor(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// Whether `to` may follow.
    pub(crate) fn follow(self, to: Self) -> Result<(), PhaseRefusal> {
        if to as usize == self as usize + 1 { Ok(()) } else { Err(PhaseRefusal::OutOfOrder { at: self, asked: to }) }
    }
}

impl fmt::Display for LifecyclePhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The most events of one activation: one a phase, and the terminal one.
pub const EVENTS_MAX: usize = LifecyclePhase::ALL.len() + 1;

/// The number of an activation's first event.
pub(crate) const FIRST_SEQUENCE: u64 = 1;

/// One moment on both clocks, the monotonic one read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// On the clock that decides.
    pub monotonic: Instant,
    /// On the clock that people read.
    pub wall: SystemTime,
}

impl Moment {
    /// Monotonic nanoseconds from here to `now`; none when that was before.
    pub(crate) fn nanos_until(&self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(self.monotonic);
        elapsed.as_secs().saturating_mul(NANOS_PER_SEC).saturating_add(elapsed.subsec_nanos().into())
    }

    /// The event numbered `sequence`, so many nanoseconds from here.
    pub(crate) fn event(
        &self,
        sequence: u64,
        phase: LifecyclePhase,
        terminal: Option<TerminalState>,
        nanos: u64,
    ) -> LifecycleEvent {
        let since_start = Duration::from_nanos(nanos);
        let at = self.wall.checked_add(since_start).unwrap_or(self.wall);
        LifecycleEvent { sequence, phase, terminal, since_start, at }
    }
}

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Something that happened to an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LifecycleEvent {
    /// Its number within the activation; each is one more than the last.
    pub sequence: u64,
    /// The phase that was reached, or in which it ended.
    pub phase: LifecyclePhase,
    /// How it ended; on the last event only.
    pub terminal: Option<TerminalState>,
    /// Monotonic time since the activation was received. Never less than that of an earlier event.
    pub since_start: Duration,
    /// The wall time of the reception plus `since_start`, so that a wall clock that is set meanwhile moves nothing.
    pub at: SystemTime,
}

/// Why an activation cannot go on as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseRefusal {
    /// Another phase comes next.
    OutOfOrder {
        /// Where the activation is.
        at: LifecyclePhase,
        /// Where it was to go.
        asked: LifecyclePhase,
    },
    /// It has ended.
    Ended(TerminalState),
}

impl fmt::Display for PhaseRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfOrder { at, asked } => write!(f, "an activation that is {at} cannot become {asked}"),
            Self::Ended(state) => write!(f, "the activation has ended as {state}"),
        }
    }
}

impl std::error::Error for PhaseRefusal {}

/// The course of one activation so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    received: Moment,
    first_sequence: u64,
    /// When each event happened; those after the last one are not set yet. Enough for five centuries.
    since_start_nanos: [u64; EVENTS_MAX],
    phase: LifecyclePhase,
    terminal: Option<TerminalState>,
}

impl Progress {
    /// An activation that was received just now.
    #[must_use]
    pub fn received(at: Moment) -> Self {
        Self {
            received: at,
            first_sequence: FIRST_SEQUENCE,
            since_start_nanos: [0; EVENTS_MAX],
            phase: LifecyclePhase::Received,
            terminal: None,
        }
    }

    /// The same with another first number, or `None` where the numbers of a whole life would not fit above it: they
    /// are set aside here, so that no later step can run out of them.
    #[must_use]
    pub fn numbered_from(at: Moment, first_sequence: u64) -> Option<Self> {
        first_sequence.checked_add(EVENTS_MAX as u64)?;
        Some(Self { first_sequence, ..Self::received(at) })
    }

    /// One that has reached a phase for each of `since_start_nanos`, besides the first.
    pub(crate) fn restored(received: Moment, since_start_nanos: impl Iterator<Item = u64>) -> Self {
        let mut progress = Self::received(received);
        for (phase, nanos) in LifecyclePhase::ALL.into_iter().skip(1).zip(since_start_nanos) {
            progress.phase = phase;
            progress.since_start_nanos[phase as usize] = nanos;
        }
        progress
    }

    /// Where the activation is, or was when it ended.
    #[must_use]
    pub fn phase(&self) -> LifecyclePhase {
        self.phase
    }

    /// How it ended.
    #[must_use]
    pub fn terminal(&self) -> Option<TerminalState> {
        self.terminal
    }

    /// When it was received.
    #[must_use]
    pub fn received_at(&self) -> Moment {
        self.received
    }

    /// Goes on to the next phase. A `now` before the last event counts as that event's.
    ///
    /// # Errors
    /// [`PhaseRefusal`] when another phase comes next or the activation has ended; nothing changes.
    pub fn advance(&mut self, to: LifecyclePhase, now: Instant) -> Result<LifecycleEvent, PhaseRefusal> {
        self.still_live()?;
        self.phase.follow(to)?;
        let nanos = self.elapsed_nanos(now);
        self.phase = to;
        Ok(self.record(nanos))
    }

    /// Ends the activation in the phase in which it is.
    ///
    /// # Errors
    /// [`PhaseRefusal::Ended`] when it has ended already; nothing changes.
    pub fn finish(&mut self, state: TerminalState, now: Instant) -> Result<LifecycleEvent, PhaseRefusal> {
        self.still_live()?;
        let nanos = self.elapsed_nanos(now);
        self.terminal = Some(state);
        Ok(self.record(nanos))
    }

    /// The last event.
    #[must_use]
    pub fn last(&self) -> LifecycleEvent {
        self.event(self.last_index())
    }

    /// All events, in order.
    #[must_use]
    pub fn events(&self) -> impl ExactSizeIterator<Item = LifecycleEvent> {
        let (progress, events) = (*self, self.last_index() + 1);
        (0..events).map(move |index| progress.event(index))
    }

    fn still_live(&self) -> Result<(), PhaseRefusal> {
        self.terminal.map_or(Ok(()), |state| Err(PhaseRefusal::Ended(state)))
    }

    fn elapsed_nanos(&self, now: Instant) -> u64 {
        self.received.nanos_until(now).max(self.since_start_nanos[self.last_index()])
    }

    /// One event a phase that was reached, and the terminal one.
    fn last_index(&self) -> usize {
        self.phase as usize + usize::from(self.terminal.is_some())
    }

    fn record(&mut self, nanos: u64) -> LifecycleEvent {
        let index = self.last_index();
        self.since_start_nanos[index] = nanos;
        self.event(index)
    }

    fn event(&self, index: usize) -> LifecycleEvent {
        let ended = index > self.phase as usize;
        let phase = if ended { self.phase } else { LifecyclePhase::ALL[index] };
        let terminal = if ended { self.terminal } else { None };
        self.received.event(self.first_sequence + index as u64, phase, terminal, self.since_start_nanos[index])
    }
}

#[cfg(test)]
mod tests;
