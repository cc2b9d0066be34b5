//! Every decision of one class's queue, as one pure struct: no clock, no future, no lock, no pool.
//!
//! Invariant: an entry is in the turns exactly while it is ready; each promise belongs to one entry, in the order
//! in which promises were made; what a decision takes out (`W` to wake with, `L` a lease) it hands to the caller.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use latent_core::TenantId;

use super::ask::{Ask, Ticket};
use super::refusal::Refusal;
use super::turns::{TurnRules, Turns};

pub use decision::SchedulerSnapshot;
pub(super) use decision::{Direct, Look, Step, Withdrawn};

/// The rules of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueRules {
    pub(super) turns: TurnRules,
    pub(super) queue_capacity: usize,
    /// How long a promise waits for its owner.
    pub(super) cleanup_grace: Duration,
}

#[derive(Debug)]
struct Entry<W, L> {
    ask: Ask,
    since: Instant,
    wake: Option<W>,
    state: State<L>,
}

#[derive(Debug)]
enum State<L> {
    /// It takes part.
    Ready,
    /// A promise was taken back from it. It takes part again, as old as it is, when its owner looks.
    Dormant,
    /// A cell waits for its owner.
    Promised(L),
    /// Its owner is to be told.
    Failed(Refusal),
}

/// The whole state of one class.
#[derive(Debug)]
pub(super) struct FairCore<W, L> {
    rules: QueueRules,
    turns: Turns,
    /// One an owner that waits or has not looked yet.
    entries: BTreeMap<Ticket, Entry<W, L>>,
    promises: VecDeque<(Instant, Ticket)>,
    /// Entries that are ready or dormant.
    queued: usize,
    next_ticket: Ticket,
    shut_down: bool,
    dispatch: Dispatch,
}

/// At most one dispatcher a class works at a time; whoever comes meanwhile leaves it a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dispatch {
    Idle,
    Working,
    LookAgain,
}

impl<W, L> FairCore<W, L> {
    pub(super) fn new(rules: QueueRules) -> Self {
        Self {
            rules,
            turns: Turns::new(rules.turns),
            entries: BTreeMap::new(),
            promises: VecDeque::new(),
            queued: 0,
            next_ticket: 0,
            shut_down: false,
            dispatch: Dispatch::Idle,
        }
    }

    /// Whether a newcomer of this tenant overtakes nobody by asking the pool itself.
    pub(super) fn direct(&mut self, tenant: &TenantId) -> Direct {
        match () {
            () if self.shut_down => Direct::Refused(Refusal::ShuttingDown),
            () if self.rules.queue_capacity == 0 => Direct::Refused(self.full()),
            () if !self.turns.is_idle() || !self.turns.start_within_cap(tenant) => Direct::Wait,
            () => Direct::Ask,
        }
    }

    /// Makes a ready entry that keeps `wake`, or refuses and leaves it.
    pub(super) fn enqueue(&mut self, now: Instant, ask: Ask, wake: &mut Option<W>) -> Result<Ticket, Refusal> {
        if self.shut_down {
            return Err(Refusal::ShuttingDown);
        }
        if self.queued >= self.rules.queue_capacity {
            return Err(self.full());
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.turns.join(ticket, &ask, now);
        self.entries.insert(ticket, Entry { ask, since: now, wake: wake.take(), state: State::Ready });
        self.queued += 1;
        Ok(ticket)
    }

    /// A cell of the tenant's is about to go back to the pool, or was never got.
    pub(super) fn finish(&mut self, tenant: &TenantId) {
        self.turns.finish(tenant);
    }

    /// Starts a dispatch. `false`: there is nothing to do, or another dispatcher will do it.
    pub(super) fn begin(&mut self) -> bool {
        match self.dispatch {
            Dispatch::Idle if self.turns.is_idle() && self.promises.is_empty() => false,
            Dispatch::Idle => {
                self.dispatch = Dispatch::Working;
                true
            }
            Dispatch::Working | Dispatch::LookAgain => {
                self.dispatch = Dispatch::LookAgain;
                false
            }
        }
    }

    /// The dispatcher's next step.
    pub(super) fn step(&mut self, now: Instant) -> Step<L> {
        if let Some(lease) = self.take_back(now) {
            return Step::TakeBack(lease);
        }
        if let Some(ticket) = self.turns.select(now)
            && let Some(entry) = self.entries.get(&ticket)
        {
            return Step::Ask(ticket, entry.ask.clone());
        }
        // A note that somebody left meanwhile changes nothing: whatever could be selected is seen here.
        self.dispatch = Dispatch::Idle;
        Step::Done
    }

    /// The pool had no cell. `true`: the dispatch has ended; `false`: something changed meanwhile.
    pub(super) fn no_cell(&mut self) -> bool {
        let ended = self.dispatch != Dispatch::LookAgain;
        self.dispatch = if ended { Dispatch::Idle } else { Dispatch::Working };
        ended
    }

    /// Ends a dispatch that broke off.
    pub(super) fn break_off(&mut self) {
        self.dispatch = Dispatch::Idle;
    }

    /// Promises a cell to an entry; the owner is to be woken. An entry that is not ready any more gets none.
    pub(super) fn grant(&mut self, now: Instant, ticket: Ticket, lease: L) -> Result<Option<W>, L> {
        match self.entries.get_mut(&ticket) {
            Some(entry) if matches!(entry.state, State::Ready) => {
                self.turns.grant(ticket, &entry.ask);
                entry.state = State::Promised(lease);
                self.promises.push_back((now, ticket));
                self.queued -= 1;
                Ok(entry.wake.take())
            }
            _ => Err(lease),
        }
    }

    /// Ends an entry's wait without a cell; the owner is to be woken.
    pub(super) fn fail(&mut self, ticket: Ticket, refusal: Refusal) -> Option<W> {
        let entry = self.entries.get_mut(&ticket)?;
        match entry.state {
            State::Ready => self.turns.leave(ticket, &entry.ask),
            State::Dormant => {}
            State::Promised(_) | State::Failed(_) => return None,
        }
        self.queued -= 1;
        entry.state = State::Failed(refusal);
        entry.wake.take()
    }

    /// Ends every wait without a cell; the owners are to be woken. Promises stay.
    pub(super) fn fail_all(&mut self, refusal: &Refusal) -> Vec<W> {
        let tickets: Vec<_> = self.entries.keys().copied().collect();
        tickets.into_iter().filter_map(|ticket| self.fail(ticket, refusal.clone())).collect()
    }

    /// Fails all and takes nobody more.
    pub(super) fn shut_down(&mut self) -> Vec<W> {
        self.shut_down = true;
        self.fail_all(&Refusal::ShuttingDown)
    }

    /// How an entry fares, for its owner. With an answer the entry is gone; if it still waits, `wake` is kept in
    /// exchange for the one before.
    pub(super) fn look(&mut self, ticket: Ticket, wake: &mut Option<W>) -> Look<L> {
        // An entry that is not there was used after its end, and gets nothing.
        let Some(entry) = self.entries.get_mut(&ticket) else { return Look::Failed(Refusal::ShuttingDown) };
        if matches!(entry.state, State::Ready | State::Dormant) {
            if matches!(entry.state, State::Dormant) {
                entry.state = State::Ready;
                self.turns.join(ticket, &entry.ask, entry.since);
            }
            std::mem::swap(&mut entry.wake, wake);
            return Look::Waiting;
        }
        match self.entries.remove(&ticket).map(|entry| entry.state) {
            Some(State::Promised(lease)) => {
                self.promises.retain(|(_, promised)| *promised != ticket);
                Look::Granted(lease)
            }
            Some(State::Failed(refusal)) => Look::Failed(refusal),
            _ => Look::Waiting,
        }
    }

    /// Ends an entry from its owner's side. A cell promised to it no longer counts as its tenant's.
    pub(super) fn withdraw(&mut self, ticket: Ticket) -> Withdrawn<W, L> {
        let Some(entry) = self.entries.remove(&ticket) else { return Withdrawn { lease: None, wake: None } };
        let lease = match entry.state {
            State::Ready => {
                self.turns.leave(ticket, &entry.ask);
                self.queued -= 1;
                None
            }
            State::Dormant => {
                self.queued -= 1;
                None
            }
            State::Promised(lease) => {
                self.promises.retain(|(_, promised)| *promised != ticket);
                self.turns.finish(&entry.ask.tenant);
                Some(lease)
            }
            State::Failed(_) => None,
        };
        Withdrawn { lease, wake: entry.wake }
    }

    pub(super) fn snapshot(&self) -> SchedulerSnapshot {
        let (queued, promised) = (self.queued, self.promises.len());
        SchedulerSnapshot { queued, promised, queue_capacity: self.rules.queue_capacity }
    }

    /// Whether there are entries, with or without a promise.
    pub(super) fn is_occupied(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Since when the ready entry that waits longest has waited.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        self.entries.values().find(|entry| matches!(entry.state, State::Ready)).map(|entry| entry.since)
    }

    /// The cell of a promise whose owner has not looked for the grace.
    fn take_back(&mut self, now: Instant) -> Option<L> {
        let &(since, ticket) = self.promises.front()?;
        if now.saturating_duration_since(since) < self.rules.cleanup_grace {
            return None;
        }
        self.promises.pop_front();
        let entry = self.entries.get_mut(&ticket)?;
        let then = if self.shut_down { State::Failed(Refusal::ShuttingDown) } else { State::Dormant };
        let State::Promised(lease) = std::mem::replace(&mut entry.state, then) else { return None };
        self.queued += usize::from(!self.shut_down);
        self.turns.finish(&entry.ask.tenant);
        Some(lease)
    }

    fn full(&self) -> Refusal {
        Refusal::QueueFull { queue_capacity: self.rules.queue_capacity }
    }
}

mod audit;
mod decision;
#[cfg(test)]
mod tests;
