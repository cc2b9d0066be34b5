//! What the decisions about one class's queue say. Nothing here decides; whatever must outlive the lock travels in
//! these.

use crate::fair::ask::{Ask, Ticket};
use crate::fair::refusal::Refusal;

/// Counters of one class, taken at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerSnapshot {
    /// Entries that wait for a cell.
    pub queued: usize,
    /// Cells that are promised to an entry whose owner has not looked yet.
    pub promised: usize,
    /// The most entries that may wait.
    pub queue_capacity: usize,
}

/// Whether an activation may ask the pool at once.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::fair) enum Direct {
    /// It may, and counts as having a cell until it says otherwise.
    Ask,
    /// Others wait, or its tenant has its share.
    Wait,
    /// It gets none.
    Refused(Refusal),
}

/// What a dispatcher does next.
#[derive(Debug)]
pub(in crate::fair) enum Step<L> {
    /// Return this cell: its owner did not come.
    TakeBack(L),
    /// Ask the pool for this entry, then say what came of it.
    Ask(Ticket, Ask),
    /// Nothing; the dispatch has ended.
    Done,
}

/// How an entry fares.
#[derive(Debug)]
pub(in crate::fair) enum Look<L> {
    Granted(L),
    Failed(Refusal),
    Waiting,
}

/// What an entry leaves when its owner withdraws it.
#[must_use = "a promised cell has to go back to the pool"]
#[derive(Debug)]
pub(in crate::fair) struct Withdrawn<W, L> {
    pub(in crate::fair) lease: Option<L>,
    /// Only to be dropped.
    pub(in crate::fair) wake: Option<W>,
}
