//! The cells themselves: which are idle, leased or quarantined, and under which lease number.
//!
//! Invariant: `free` lists exactly the idle slots and `quarantined` counts exactly the quarantined ones; lease
//! numbers and generations never repeat, and a cell that would need one that does not exist is quarantined.

use std::collections::HashSet;
use std::sync::Arc;

use latent_core::{CellClass, CellId, NodeId, TenantId};

use super::lease::CellLeaseIdentity;
use super::port::CellRequest;
use super::quarantine::{QuarantineReason, QuarantinedCell};
use super::refusal::ReturnRefusal;

/// The most cells one pool may have. Each costs about 200 bytes, busy or not.
pub const POOL_CAPACITY_MAX: usize = 65_536;

/// Numbers that never repeat: after the last one there is none.
#[derive(Debug)]
pub(super) struct Sequence(Option<u64>);

impl Sequence {
    pub(super) fn starting_at(first: u64) -> Self {
        Self(Some(first))
    }

    pub(super) fn take(&mut self) -> Option<u64> {
        let value = self.0?;
        self.0 = value.checked_add(1);
        Some(value)
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.0.is_none()
    }
}

/// The hidden half of a lease: where it is recorded and what must still be recorded there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeaseKey {
    slot: usize,
    token: u64,
    generation: u64,
    tenant: TenantId,
}

/// A lease as the pool hands it out.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) identity: Arc<CellLeaseIdentity>,
    pub(super) key: LeaseKey,
}

/// A cell with its name, its reuse generation and nothing else while idle.
#[derive(Debug)]
struct Slot {
    cell: CellId,
    generation: u64,
    state: SlotState,
}

#[derive(Debug)]
enum SlotState {
    Idle,
    Leased(LeaseRecord),
    Quarantined(QuarantineReason),
}

/// What the pool remembers of a live lease, to compare with what comes back.
#[derive(Debug)]
pub(super) struct LeaseRecord {
    token: u64,
    pub(super) identity: Arc<CellLeaseIdentity>,
    /// The waiter that has been promised the cell and has not picked it up.
    pub(super) promised_to: Option<u64>,
}

/// An idle cell and the numbers its next lease gets. Only for handing straight back to [`SlotTable::lease`].
#[derive(Debug)]
pub(super) struct NextLease {
    slot: usize,
    token: u64,
    generation: u64,
}

/// No lease number was left for an idle cell, which is quarantined now.
#[derive(Debug)]
pub(super) struct TokensExhausted;

/// All cells of a pool.
#[derive(Debug)]
pub(super) struct SlotTable {
    node: NodeId,
    class: CellClass,
    slots: Box<[Slot]>,
    free: Vec<usize>,
    quarantined: usize,
    tokens: Sequence,
}

impl SlotTable {
    pub(super) fn new(node: NodeId, class: CellClass, capacity: usize) -> Self {
        let slot =
            |index| Slot { cell: CellId::new(format!("{class}-{index}")), generation: 0, state: SlotState::Idle };
        let slots = (0..capacity).map(slot).collect();
        // The last one listed is leased first, so the list is filled backwards.
        let free = (0..capacity).rev().collect();
        Self { node, class, slots, free, quarantined: 0, tokens: Sequence::starting_at(1) }
    }

    pub(super) fn class(&self) -> CellClass {
        self.class
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn available(&self) -> usize {
        self.free.len()
    }

    pub(super) fn quarantined(&self) -> usize {
        self.quarantined
    }

    pub(super) fn active(&self) -> usize {
        self.slots.len() - self.free.len() - self.quarantined
    }

    pub(super) fn all_quarantined(&self) -> bool {
        self.quarantined == self.slots.len()
    }

    pub(super) fn tokens_exhausted(&self) -> bool {
        self.tokens.is_exhausted()
    }

    /// Takes an idle cell, the most recently used one first, with the numbers of its next lease. `None`: no cell
    /// is idle.
    pub(super) fn take_idle(&mut self) -> Result<Option<NextLease>, TokensExhausted> {
        while let Some(slot) = self.free.pop() {
            let Some(generation) = self.slots[slot].generation.checked_add(1) else {
                self.retire(slot, QuarantineReason::SequenceExhausted);
                continue;
            };
            let Some(token) = self.tokens.take() else {
                self.retire(slot, QuarantineReason::SequenceExhausted);
                return Err(TokensExhausted);
            };
            return Ok(Some(NextLease { slot, token, generation }));
        }
        Ok(None)
    }

    /// Records `next` as leased to `request`, or as promised to the waiter `promised_to`.
    pub(super) fn lease(&mut self, next: &NextLease, request: CellRequest, promised_to: Option<u64>) -> usize {
        let slot = &mut self.slots[next.slot];
        slot.generation = next.generation;
        let identity = Arc::new(CellLeaseIdentity {
            activation_id: request.activation_id,
            tenant: request.tenant,
            cell: slot.cell.clone(),
            node: self.node.clone(),
            class: self.class,
            generation: next.generation,
            budget: request.budget,
            expires_at: request.expires_at,
        });
        slot.state = SlotState::Leased(LeaseRecord { token: next.token, identity, promised_to });
        next.slot
    }

    /// The lease recorded in `slot`, if there is one.
    pub(super) fn record(&self, slot: usize) -> Option<&LeaseRecord> {
        match &self.slots.get(slot)?.state {
            SlotState::Leased(record) => Some(record),
            _ => None,
        }
    }

    /// The lease that `slot` is promised for, from now on accepted.
    pub(super) fn accept(&mut self, slot: usize) -> Option<Grant> {
        let SlotState::Leased(record) = &mut self.slots.get_mut(slot)?.state else { return None };
        record.promised_to = None;
        let identity = Arc::clone(&record.identity);
        let (token, generation, tenant) = (record.token, identity.generation, identity.tenant.clone());
        Some(Grant { identity, key: LeaseKey { slot, token, generation, tenant } })
    }

    /// Finds the live lease that `key` names. With `presented`, that must also be what was recorded.
    pub(super) fn find(
        &self,
        key: &LeaseKey,
        presented: Option<&Arc<CellLeaseIdentity>>,
    ) -> Result<usize, ReturnRefusal> {
        let record = self.record(key.slot).filter(|record| record.token == key.token);
        let record = record.ok_or(ReturnRefusal::DoubleRelease)?;
        let recorded = &record.identity;
        let consistent = recorded.generation == key.generation
            && recorded.tenant == key.tenant
            && presented.is_none_or(|presented| presented == recorded);
        if consistent { Ok(key.slot) } else { Err(ReturnRefusal::IdentityMismatch) }
    }

    /// Makes a leased cell idle. Answers what was recorded; `None`, and nothing changes, if it was not leased.
    pub(super) fn put_back(&mut self, slot: usize) -> Option<LeaseRecord> {
        let record = self.end_lease(slot, SlotState::Idle)?;
        self.free.push(slot);
        Some(record)
    }

    /// Quarantines a leased cell. Answers what was recorded; `None`, and nothing changes, if it was not leased.
    pub(super) fn quarantine(&mut self, slot: usize, reason: QuarantineReason) -> Option<LeaseRecord> {
        let record = self.end_lease(slot, SlotState::Quarantined(reason))?;
        self.quarantined += 1;
        Some(record)
    }

    /// Lists the quarantined cells, in time proportional to the capacity.
    pub(super) fn list_quarantined(&self) -> Vec<QuarantinedCell> {
        let quarantined = |slot: &Slot| match &slot.state {
            SlotState::Quarantined(reason) => {
                Some(QuarantinedCell { cell: slot.cell.clone(), generation: slot.generation, reason: reason.clone() })
            }
            _ => None,
        };
        self.slots.iter().filter_map(quarantined).collect()
    }

    /// The slots that are leased, with what is recorded there.
    pub(super) fn leased(&self) -> impl Iterator<Item = (usize, &LeaseRecord)> {
        (0..self.slots.len()).filter_map(|slot| Some((slot, self.record(slot)?)))
    }

    /// Counts every slot and compares with the running counters.
    pub(super) fn audit(&self) -> Result<(), &'static str> {
        let count = |state: fn(&SlotState) -> bool| self.slots.iter().filter(|slot| state(&slot.state)).count();
        let idle = count(|state| matches!(state, SlotState::Idle));
        let leased = count(|state| matches!(state, SlotState::Leased(_)));
        let quarantined = count(|state| matches!(state, SlotState::Quarantined(_)));
        let listed: HashSet<_> = self.free.iter().collect();
        let listed_are_idle = self.free.iter().all(|&slot| matches!(self.slots[slot].state, SlotState::Idle));
        let tokens: HashSet<_> = self.leased().map(|(_, record)| record.token).collect();
        match () {
            () if idle + leased + quarantined != self.slots.len() => Err("the parts do not sum to the capacity"),
            () if listed.len() != self.free.len() || !listed_are_idle => {
                Err("a listed cell is not idle, or twice listed")
            }
            () if idle != self.free.len() => Err("an idle cell is not listed"),
            () if quarantined != self.quarantined => Err("the count of quarantined cells is wrong"),
            () if leased != self.active() => Err("the count of leased cells is wrong"),
            () if tokens.len() != leased => Err("two live leases share a number"),
            () => Ok(()),
        }
    }

    /// Sets the counters near their end, for tests of what happens there.
    #[cfg(test)]
    pub(super) fn seed(&mut self, next_token: u64, generation: u64) {
        self.tokens = Sequence::starting_at(next_token);
        for slot in &mut self.slots {
            slot.generation = generation;
        }
    }

    fn end_lease(&mut self, slot: usize, then: SlotState) -> Option<LeaseRecord> {
        let state = &mut self.slots.get_mut(slot)?.state;
        match std::mem::replace(state, then) {
            SlotState::Leased(record) => Some(record),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Quarantines a cell that was just taken off the idle list.
    fn retire(&mut self, slot: usize, reason: QuarantineReason) {
        self.slots[slot].state = SlotState::Quarantined(reason);
        self.quarantined += 1;
    }
}
