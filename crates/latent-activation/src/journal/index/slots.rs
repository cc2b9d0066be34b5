//! A place for every record, found by its number.
//!
//! Invariant: a place is filled or in the free list; a number is used again only after its record is gone.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use super::holdings::Tenant;
use crate::journal::record::Record;

/// Which place a record has, from its reservation until it is evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::journal) struct Slot(NonZeroU32);

impl Slot {
    /// The place that has `index` places before it. Few bits, so that an order costs a record little; the bounds of a
    /// configuration are far below what they count.
    pub(super) fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a journal has fewer than 2^32 records"))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// What is in a place.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) record: Arc<Record>,
    pub(super) tenant: Tenant,
    /// Its number among the tenant's receptions.
    pub(super) serial: u64,
    pub(super) standing: Standing,
}

#[derive(Debug)]
pub(super) enum Standing {
    UnderWay,
    Retained(Retained),
}

/// An ended record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retained {
    /// When it ended. Never before those that are older.
    pub(super) at: Instant,
    /// Its number among all ends.
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// Its neighbours among the ends of all, and among its tenant's.
    pub(super) links: [Links; 2],
}

/// The next older and the next younger end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Links {
    pub(super) older: Option<Slot>,
    pub(super) younger: Option<Slot>,
}

impl Standing {
    pub(super) fn retained(&self) -> Option<&Retained> {
        match self {
            Self::UnderWay => None,
            Self::Retained(retained) => Some(retained),
        }
    }

    pub(super) fn retained_mut(&mut self) -> Option<&mut Retained> {
        match self {
            Self::UnderWay => None,
            Self::Retained(retained) => Some(retained),
        }
    }
}

/// As many places as there ever were records at a time.
#[derive(Debug, Default)]
pub(super) struct Slots {
    places: Vec<Option<Held>>,
    free: Vec<usize>,
    /// How many ends there ever were. At one a nanosecond it lasts for centuries.
    ends: u64,
}

impl Slots {
    pub(super) fn add(&mut self, record: Arc<Record>, tenant: Tenant) -> Slot {
        let held = Some(Held { record, tenant, serial: 0, standing: Standing::UnderWay });
        let number = self.free.pop().unwrap_or(self.places.len());
        match self.places.get_mut(number) {
            Some(place) => *place = held,
            None => self.places.push(held),
        }
        Slot::at(number)
    }

    pub(super) fn number(&mut self, slot: Slot, serial: u64) {
        if let Some(held) = self.get_mut(slot) {
            held.serial = serial;
        }
    }

    /// The record in `slot` has ended, at `at`: says whose it is. It is in no order yet.
    pub(super) fn retain(&mut self, slot: Slot, at: Instant, bytes: u64) -> Tenant {
        let number = self.ends;
        self.ends += 1;
        let held = self.get_mut(slot).expect("a record under way is never evicted");
        debug_assert!(held.standing.retained().is_none(), "an end is settled once");
        held.standing = Standing::Retained(Retained { at, number, bytes, links: Default::default() });
        held.tenant
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Held> {
        self.places.get(slot.index())?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Held> {
        self.places.get_mut(slot.index())?.as_mut()
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<Held> {
        let held = self.places.get_mut(slot.index())?.take()?;
        self.free.push(slot.index());
        Some(held)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.places.iter().flatten()
    }
}
