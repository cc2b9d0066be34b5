//! Ended records in the order of their ends: a list that is linked through their places.
//!
//! Invariant: exactly the retained records are in the list, and no end in it lies before an older one's.

use std::time::Instant;

use super::slots::{Retained, Slot, Slots, Standing};

#[derive(Debug, Default)]
pub(super) struct Ages {
    oldest: Option<Slot>,
    youngest: Option<Slot>,
}

impl Ages {
    pub(super) fn oldest(&self) -> Option<Slot> {
        self.oldest
    }

    /// Retains the record in `slot` as the one that ended last. Its `at` is not before any in the list.
    pub(super) fn push(&mut self, slots: &mut Slots, slot: Slot, at: Instant, bytes: u64) {
        let held = slots.get_mut(slot).expect("a record under way is never evicted");
        debug_assert!(held.standing.retained().is_none(), "an end is settled once");
        held.standing = Standing::Retained(Retained { at, bytes, older: self.youngest, younger: None });
        match self.youngest.replace(slot).and_then(|older| retained(slots, older)) {
            Some(older) => older.younger = Some(slot),
            None => self.oldest = Some(slot),
        }
    }

    /// Takes the record in `slot` out of the list; `None`, and no change, for one that is under way.
    pub(super) fn remove(&mut self, slots: &mut Slots, slot: Slot) -> Option<Retained> {
        let gone = *retained(slots, slot)?;
        match gone.older.and_then(|older| retained(slots, older)) {
            Some(older) => older.younger = gone.younger,
            None => self.oldest = gone.younger,
        }
        match gone.younger.and_then(|younger| retained(slots, younger)) {
            Some(younger) => younger.older = gone.older,
            None => self.youngest = gone.older,
        }
        Some(gone)
    }

    /// How many are in the list, and whether links and times hold together. At most `max` steps.
    pub(super) fn walk(&self, slots: &Slots, max: usize) -> (usize, bool) {
        let (mut count, mut whole) = (0, true);
        let (mut next, mut before): (_, Option<(Slot, Instant)>) = (self.oldest, None);
        while let Some((slot, retained)) = next.and_then(|slot| Some((slot, slots.get(slot)?.standing.retained()?))) {
            if count >= max {
                return (count, false);
            }
            whole &= retained.older == before.map(|(slot, _)| slot);
            whole &= before.is_none_or(|(_, at)| at <= retained.at);
            count += 1;
            (next, before) = (retained.younger, Some((slot, retained.at)));
        }
        (count, whole && self.youngest == before.map(|(slot, _)| slot))
    }
}

fn retained(slots: &mut Slots, slot: Slot) -> Option<&mut Retained> {
    slots.get_mut(slot)?.standing.retained_mut()
}
