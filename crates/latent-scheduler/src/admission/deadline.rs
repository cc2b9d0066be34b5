//! The one deadline of an activation: made at admission, monotonic, never recomputed.
//!
//! Invariant: wall time is read once, beside a monotonic instant that was taken before it. Later turns of the wall
//! clock change nothing, and the time between the two samples only shortens what is left.

use std::time::{Duration, Instant, SystemTime};

/// Both clocks at admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSample {
    /// The monotonic clock, read first.
    pub monotonic: Instant,
    /// The wall clock, read after it.
    pub wall: SystemTime,
}

/// How long the transport lets the call take, counted from its arrival, so that reading the body does not start
/// the time again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportTimeout {
    /// When the head of the request arrived.
    pub arrival: Instant,
    /// The shortest of the transport's and the client's timeouts.
    pub timeout: Duration,
}

/// The times that restrict one activation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Restrictions {
    /// The caller's absolute deadline.
    pub(super) absolute: Option<SystemTime>,
    pub(super) transport: Option<TransportTimeout>,
    /// The lowest relative limit of request, capsule, deployment and node, counted from admission.
    pub(super) relative: Duration,
}

/// The earliest of all restrictions as a monotonic instant. `None`: it has passed.
pub(super) fn effective(clock: ClockSample, restrictions: Restrictions) -> Option<Instant> {
    let Restrictions { absolute, transport, relative } = restrictions;
    let now = clock.monotonic;
    // A sum past what the clock can express restricts nothing; the node's own limit is far below that.
    let mut deadline = now.checked_add(relative)?;
    if let Some(absolute) = absolute {
        let left = absolute.duration_since(clock.wall).ok()?;
        deadline = now.checked_add(left).map_or(deadline, |absolute| deadline.min(absolute));
    }
    if let Some(TransportTimeout { arrival, timeout }) = transport {
        deadline = arrival.checked_add(timeout).map_or(deadline, |transport| deadline.min(transport));
    }
    (deadline > now).then_some(deadline)
}
