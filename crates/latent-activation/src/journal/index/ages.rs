//! Ended records in the order of their ends: lists that are linked through their places.
//!
//! Invariant: exactly the retained records, of all or of one tenant, are in a list, and no end in it lies before an
//! older one's.

use super::slots::{Held, Links, Retained, Slot, Slots};

/// The ends of all tenants.
pub(super) type AllEnds = Ages<0>;
/// The ends of one tenant.
pub(super) type OwnEnds = Ages<1>;

/// A list through the links of that number.
#[derive(Debug, Default)]
pub(super) struct Ages<const LINKS: usize> {
    oldest: Option<Slot>,
    youngest: Option<Slot>,
}

impl<const LINKS: usize> Ages<LINKS> {
    pub(super) fn oldest(&self) -> Option<Slot> {
        self.oldest
    }

    /// Takes in the record in `slot`, retained just now, as the one that ended last.
    pub(super) fn push(&mut self, slots: &mut Slots, slot: Slot) {
        let Some(links) = links::<LINKS>(slots, slot) else { return };
        *links = Links { older: self.youngest, younger: None };
        match self.youngest.replace(slot).and_then(|older| self::links::<LINKS>(slots, older)) {
            Some(older) => older.younger = Some(slot),
            None => self.oldest = Some(slot),
        }
    }

    /// Takes the record in `slot` out of the list. No change for one that is under way.
    pub(super) fn remove(&mut self, slots: &mut Slots, slot: Slot) {
        let Some(gone) = links::<LINKS>(slots, slot).map(std::mem::take) else { return };
        match gone.older.and_then(|older| links::<LINKS>(slots, older)) {
            Some(older) => older.younger = gone.younger,
            None => self.oldest = gone.younger,
        }
        match gone.younger.and_then(|younger| links::<LINKS>(slots, younger)) {
            Some(younger) => younger.older = gone.older,
            None => self.youngest = gone.older,
        }
    }

    /// How many are in the list, how many bytes they take, and whether links, numbers and times hold together and each
    /// `belongs` there. At most `max` steps.
    pub(super) fn walk(&self, slots: &Slots, max: usize, belongs: impl Fn(&Held) -> bool) -> (usize, u64, bool) {
        let (mut count, mut bytes, mut whole) = (0, 0, true);
        let (mut next, mut before): (_, Option<(Slot, &Retained)>) = (self.oldest, None);
        while let Some((slot, held)) = next.and_then(|slot| Some((slot, slots.get(slot)?)))
            && let Some(retained) = held.standing.retained()
        {
            if count >= max {
                return (count, bytes, false);
            }
            let links = retained.links[LINKS];
            whole &= belongs(held) && links.older == before.map(|(slot, _)| slot);
            whole &= before.is_none_or(|(_, older)| older.at <= retained.at && older.number < retained.number);
            count += 1;
            bytes += retained.bytes;
            (next, before) = (links.younger, Some((slot, retained)));
        }
        (count, bytes, whole && next.is_none() && self.youngest == before.map(|(slot, _)| slot))
    }
}

fn links<const LINKS: usize>(slots: &mut Slots, slot: Slot) -> Option<&mut Links> {
    Some(&mut slots.get_mut(slot)?.standing.retained_mut()?.links[LINKS])
}
