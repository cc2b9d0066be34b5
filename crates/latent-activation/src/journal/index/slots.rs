//! A place for every record, found by its number.
//!
//! Invariant: a place is filled or in the free list; a number is used again only after its record is gone.

use std::sync::Arc;
use std::time::Instant;

use super::holdings::Tenant;
use crate::journal::record::Record;

/// Which place a record has, from its reservation until it is evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::journal) struct Slot(pub(super) usize);

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

/// An ended record, linked to the next older and the next younger end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retained {
    /// When it ended. Never before those that are older.
    pub(super) at: Instant,
    pub(super) bytes: u64,
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
}

impl Slots {
    pub(super) fn add(&mut self, record: Arc<Record>, tenant: Tenant) -> Slot {
        let held = Some(Held { record, tenant, serial: 0, standing: Standing::UnderWay });
        let number = self.free.pop().unwrap_or(self.places.len());
        match self.places.get_mut(number) {
            Some(place) => *place = held,
            None => self.places.push(held),
        }
        Slot(number)
    }

    pub(super) fn number(&mut self, slot: Slot, serial: u64) {
        if let Some(held) = self.get_mut(slot) {
            held.serial = serial;
        }
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Held> {
        self.places.get(slot.0)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Held> {
        self.places.get_mut(slot.0)?.as_mut()
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<Held> {
        let held = self.places.get_mut(slot.0)?.take()?;
        self.free.push(slot.0);
        Some(held)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.places.iter().flatten()
    }
}
