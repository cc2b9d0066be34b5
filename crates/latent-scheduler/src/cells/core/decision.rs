//! What the core's decisions say. Nothing here decides; whatever must outlive the lock travels in these.

use super::Ticket;
use crate::cells::refusal::AcquireRefusal;
use crate::cells::slots::Grant;

/// What is left to do once the lock is let go.
#[must_use = "the waiters that a decision settled are waiting to be woken"]
#[derive(Debug)]
pub(in crate::cells) struct Aftermath<W> {
    /// Wake these: they are settled and have to look.
    pub(in crate::cells) wake: Vec<W>,
    /// Only drop this one: its waiter ended the wait itself.
    pub(in crate::cells) discard: Option<W>,
    /// Whether a cell came back or went out of reuse.
    pub(in crate::cells) cells_changed: bool,
}

impl<W> Aftermath<W> {
    pub(super) fn none() -> Self {
        Self { wake: Vec::new(), discard: None, cells_changed: false }
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub(in crate::cells) enum Admission {
    /// A cell was idle and is leased now.
    Granted(Grant),
    /// The request waits under this ticket, until `PoolCore::progress` settles it or it is withdrawn.
    Queued(Ticket),
    /// No cell is idle and the request was not to wait. Nothing has changed.
    Busy,
    /// The request breaks a rule or meets a limit.
    Refused(AcquireRefusal),
}

/// What a request does when no cell is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cells) enum WhenBusy {
    Queue,
    Return,
}

/// How a waiter fares.
#[derive(Debug)]
pub(in crate::cells) enum Progress<W> {
    /// It has a lease and waits no more.
    Granted(Grant),
    /// It gets none and waits no more.
    Failed(AcquireRefusal, Aftermath<W>),
    /// It still waits.
    Waiting,
}
