//! Every decision of a pool, as one pure struct: no clock, no future, no lock, no waking.
//!
//! Invariant: nobody waits while a cell is idle; a tenant's activation id is in at most one place, a waiter or a
//! cell; what a decision takes out of the pool (`W`, the means to wake somebody) it hands to the caller.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use foldhash::fast::RandomState;
use latent_core::{ActivationId, CellClass, NodeId, TenantId};

use super::lease::CellLeaseIdentity;
use super::port::{CellPoolSnapshot, CellRequest};
use super::quarantine::QuarantineReason;
use super::refusal::{AcquireRefusal, ReturnRefusal};
use super::slots::{LeaseKey, LeaseRecord, Sequence, SlotTable, TokensExhausted};

pub(super) use decision::{Admission, Aftermath, Progress, WhenBusy};

/// Names one place in the queue, and orders the queue: lower waits longer.
pub(super) type Ticket = u64;

#[derive(Debug)]
struct Waiter<W> {
    request: CellRequest,
    wake: Option<W>,
}

/// What became of a waiter that has not looked yet. Each entry belongs to one acquisition that the caller still
/// holds and goes when that looks or is dropped, so there are never more than callers hold.
#[derive(Debug)]
enum Settled {
    Promised(usize),
    Failed(AcquireRefusal),
}

/// Ids are scoped by tenant: the same text of two tenants names two activations.
type ActivationKey = (TenantId, ActivationId);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Waiter(Ticket),
    Cell(usize),
}

/// The whole state of a pool. `W` is whatever wakes a waiter.
#[derive(Debug)]
pub(super) struct PoolCore<W> {
    slots: SlotTable,
    queue_capacity: usize,
    waiting: BTreeMap<Ticket, Waiter<W>>,
    settled: HashMap<Ticket, Settled>,
    live: HashMap<ActivationKey, Holder, RandomState>,
    tickets: Sequence,
}

impl<W> PoolCore<W> {
    pub(super) fn new(node: NodeId, class: CellClass, capacity: usize, queue_capacity: usize) -> Self {
        Self {
            slots: SlotTable::new(node, class, capacity),
            queue_capacity,
            waiting: BTreeMap::new(),
            settled: HashMap::new(),
            live: HashMap::with_capacity_and_hasher(capacity, RandomState::default()),
            tickets: Sequence::starting_at(1),
        }
    }

    /// Grants, queues or refuses a request. `now` must be given for a request that has a deadline.
    pub(super) fn admit(&mut self, request: CellRequest, now: Option<SystemTime>, busy: WhenBusy) -> Admission {
        let (held, asked) = (self.slots.class(), request.class);
        if asked != held {
            return Admission::Refused(AcquireRefusal::UnsupportedClass { held, asked });
        }
        if expired(request.expires_at, now) {
            return Admission::Refused(AcquireRefusal::Expired);
        }
        let key = (request.tenant.clone(), request.activation_id.clone());
        let Entry::Vacant(place) = self.live.entry(key) else {
            return Admission::Refused(AcquireRefusal::Duplicate(request.activation_id));
        };
        match self.slots.take_idle() {
            Err(TokensExhausted) => Admission::Refused(AcquireRefusal::SequenceExhausted),
            Ok(Some(next)) => {
                let slot = self.slots.lease(&next, request, None);
                place.insert(Holder::Cell(slot));
                Admission::Granted(self.slots.accept(slot).expect("the slot was leased the line before"))
            }
            Ok(None) if self.slots.all_quarantined() => {
                Admission::Refused(AcquireRefusal::AllQuarantined { capacity: self.slots.capacity() })
            }
            Ok(None) if self.slots.tokens_exhausted() => Admission::Refused(AcquireRefusal::SequenceExhausted),
            Ok(None) => match busy {
                WhenBusy::Return => Admission::Busy,
                WhenBusy::Queue => {
                    let key = place.into_key();
                    self.enqueue(key, request)
                }
            },
        }
    }

    /// Looks how a waiter fares; a lease that it gets is its own from then on. `now` must be given for a waiter
    /// that has a deadline; past it, a cell already promised goes to the next one. Only if it still waits is
    /// `wake` kept, in exchange for the one before.
    pub(super) fn progress(&mut self, ticket: Ticket, now: Option<SystemTime>, wake: &mut Option<W>) -> Progress<W> {
        match self.settled.remove(&ticket) {
            Some(Settled::Failed(refusal)) => return Progress::Failed(refusal, Aftermath::none()),
            Some(Settled::Promised(slot)) => {
                let record = self.slots.record(slot).expect("a promised cell is leased");
                if expired(record.identity.expires_at, now) {
                    return Progress::Failed(AcquireRefusal::Expired, self.reuse(slot));
                }
                return Progress::Granted(self.slots.accept(slot).expect("a promised cell is leased"));
            }
            None => {}
        }
        // Every unsettled ticket waits; one that does not was used after its end, and gets nothing.
        let Some(waiter) = self.waiting.get_mut(&ticket) else {
            return Progress::Failed(AcquireRefusal::Cancelled, Aftermath::none());
        };
        if expired(waiter.request.expires_at, now) {
            return Progress::Failed(AcquireRefusal::Expired, self.withdraw(ticket));
        }
        std::mem::swap(&mut waiter.wake, wake);
        Progress::Waiting
    }

    /// Ends a wait from the waiter's side: its place is free, and a cell promised to it goes to the next one.
    pub(super) fn withdraw(&mut self, ticket: Ticket) -> Aftermath<W> {
        if let Some(waiter) = self.waiting.remove(&ticket) {
            self.live.remove(&(waiter.request.tenant, waiter.request.activation_id));
            return Aftermath { discard: waiter.wake, ..Aftermath::none() };
        }
        match self.settled.remove(&ticket) {
            Some(Settled::Promised(slot)) => self.reuse(slot),
            Some(Settled::Failed(_)) | None => Aftermath::none(),
        }
    }

    /// Ends a wait from outside. A waiter that has been promised a cell but has not picked it up still waits.
    /// `None`: no such activation waits.
    pub(super) fn cancel(&mut self, tenant: &TenantId, activation_id: &ActivationId) -> Option<Aftermath<W>> {
        let holder = *self.live.get(&(tenant.clone(), activation_id.clone()))?;
        let ticket = match holder {
            Holder::Waiter(ticket) => ticket,
            Holder::Cell(slot) => self.slots.record(slot)?.promised_to?,
        };
        let mut aftermath = self.withdraw(ticket);
        aftermath.wake.extend(aftermath.discard.take());
        self.settled.insert(ticket, Settled::Failed(AcquireRefusal::Cancelled));
        Some(aftermath)
    }

    /// Takes a cell back into reuse and hands it to whoever waits longest.
    pub(super) fn release(
        &mut self,
        key: &LeaseKey,
        presented: &Arc<CellLeaseIdentity>,
    ) -> Result<Aftermath<W>, ReturnRefusal> {
        let slot = self.slots.find(key, Some(presented))?;
        Ok(self.reuse(slot))
    }

    /// Takes a cell out of reuse. When it was the last one, everybody who waits fails.
    pub(super) fn quarantine(
        &mut self,
        key: &LeaseKey,
        presented: &Arc<CellLeaseIdentity>,
        reason: QuarantineReason,
    ) -> Result<Aftermath<W>, ReturnRefusal> {
        let slot = self.slots.find(key, Some(presented))?;
        Ok(self.retire(slot, reason))
    }

    /// Takes the cell of a dropped lease out of reuse; nothing, if that lease is not live.
    pub(super) fn abandon(&mut self, key: &LeaseKey) -> Aftermath<W> {
        match self.slots.find(key, None) {
            Ok(slot) => self.retire(slot, QuarantineReason::Abandoned),
            Err(_) => Aftermath::none(),
        }
    }

    /// Takes the cell of a lease that nobody used back into reuse; nothing, if that lease is not live.
    pub(super) fn return_unaccepted(&mut self, key: &LeaseKey) -> Aftermath<W> {
        match self.slots.find(key, None) {
            Ok(slot) => self.reuse(slot),
            Err(_) => Aftermath::none(),
        }
    }

    /// The counters, in constant time.
    pub(super) fn snapshot(&self) -> CellPoolSnapshot {
        CellPoolSnapshot {
            class: self.slots.class(),
            capacity: self.slots.capacity(),
            available: self.slots.available(),
            queue_depth: self.waiting.len(),
            active_leases: self.slots.active(),
            quarantined: self.slots.quarantined(),
        }
    }

    pub(super) fn slots(&self) -> &SlotTable {
        &self.slots
    }

    /// Sets the counters near their end, for tests of what happens there.
    #[cfg(test)]
    pub(super) fn seed(&mut self, next_token: u64, generation: u64, next_ticket: u64) {
        self.slots.seed(next_token, generation);
        self.tickets = Sequence::starting_at(next_ticket);
    }

    fn enqueue(&mut self, key: ActivationKey, request: CellRequest) -> Admission {
        if self.waiting.len() >= self.queue_capacity {
            return Admission::Refused(AcquireRefusal::QueueFull { queue_capacity: self.queue_capacity });
        }
        let Some(ticket) = self.tickets.take() else {
            return Admission::Refused(AcquireRefusal::SequenceExhausted);
        };
        self.live.insert(key, Holder::Waiter(ticket));
        self.waiting.insert(ticket, Waiter { request, wake: None });
        Admission::Queued(ticket)
    }

    fn reuse(&mut self, slot: usize) -> Aftermath<W> {
        let ended = self.slots.put_back(slot);
        self.forget(ended.as_ref());
        self.hand_over()
    }

    fn retire(&mut self, slot: usize, reason: QuarantineReason) -> Aftermath<W> {
        let ended = self.slots.quarantine(slot, reason);
        self.forget(ended.as_ref());
        self.hand_over()
    }

    /// Frees the id of a lease that has ended.
    fn forget(&mut self, ended: Option<&LeaseRecord>) {
        if let Some(LeaseRecord { identity, .. }) = ended {
            self.live.remove(&(identity.tenant.clone(), identity.activation_id.clone()));
        }
    }

    /// Promises idle cells to those who wait longest, and fails everybody when no cell will ever come.
    fn hand_over(&mut self) -> Aftermath<W> {
        let mut wake = Vec::new();
        while !self.waiting.is_empty() {
            match self.slots.take_idle() {
                Ok(Some(next)) => {
                    let (ticket, waiter) = self.waiting.pop_first().expect("the queue was not empty the line before");
                    let key = (waiter.request.tenant.clone(), waiter.request.activation_id.clone());
                    let slot = self.slots.lease(&next, waiter.request, Some(ticket));
                    self.live.insert(key, Holder::Cell(slot));
                    self.settled.insert(ticket, Settled::Promised(slot));
                    wake.extend(waiter.wake);
                }
                Err(TokensExhausted) => self.fail_all(&AcquireRefusal::SequenceExhausted, &mut wake),
                Ok(None) if self.slots.all_quarantined() => {
                    let refusal = AcquireRefusal::AllQuarantined { capacity: self.slots.capacity() };
                    self.fail_all(&refusal, &mut wake);
                }
                Ok(None) => break,
            }
        }
        Aftermath { wake, discard: None, cells_changed: true }
    }

    fn fail_all(&mut self, refusal: &AcquireRefusal, wake: &mut Vec<W>) {
        while let Some((ticket, waiter)) = self.waiting.pop_first() {
            self.live.remove(&(waiter.request.tenant, waiter.request.activation_id));
            self.settled.insert(ticket, Settled::Failed(refusal.clone()));
            wake.extend(waiter.wake);
        }
    }
}

/// Whether the deadline, if there is one, has come. A deadline without a time to compare with has not.
fn expired(expires_at: Option<SystemTime>, now: Option<SystemTime>) -> bool {
    matches!((expires_at, now), (Some(expires_at), Some(now)) if now >= expires_at)
}

mod audit;
mod decision;
#[cfg(test)]
mod tests;
