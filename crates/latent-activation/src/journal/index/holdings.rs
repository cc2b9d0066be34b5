//! The records of each tenant: by id, in the order of their reception, and in that of their ends.
//!
//! Invariant: a tenant is here while it has a record. Serials rise within a tenant and count its records alone, so that
//! they tell it nothing of others; they start again with its next holdings. What is ended of a tenant is counted here
//! and ranked in both heaps.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use latent_core::{ActivationId, TenantId};

use super::ages::OwnEnds;
use super::fullest::{Fullest, Share};
use super::slots::{Retained, Slot, Slots};
use crate::journal::config::wide;

/// Empty places that an order may have beyond one for each record.
const EMPTY_PLACES_SPARE: usize = 32;

/// Where a tenant's holdings are, for as long as it has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tenant(pub(super) usize);

#[derive(Debug, Default)]
pub(super) struct Tenants {
    by_name: HashMap<TenantId, Tenant, RandomState>,
    holdings: Vec<Option<Holdings>>,
    free: Vec<usize>,
    /// Tenants that hold ended records, by how many and by how many bytes.
    fullest: [Fullest; 2],
}

/// What ended records are measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Records,
    Bytes,
}

#[derive(Debug, Default)]
pub(super) struct Holdings {
    by_id: HashMap<ActivationId, Slot, RandomState>,
    /// By rising serial. A place is empty when its record went before older ones; the front never is.
    order: VecDeque<(u64, Option<Slot>)>,
    next_serial: u64,
    /// Its ended records, oldest end first, how many they are and how many bytes they take.
    ends: OwnEnds,
    ended: usize,
    ended_bytes: u64,
}

impl Tenants {
    pub(super) fn find(&self, name: &TenantId) -> Option<Tenant> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, tenant: Tenant) -> Option<&Holdings> {
        self.holdings.get(tenant.0)?.as_ref()
    }

    /// The tenant's holdings, made where it has none.
    pub(super) fn find_or_add(&mut self, name: &TenantId) -> Tenant {
        if let Some(found) = self.find(name) {
            return found;
        }
        let number = self.free.pop().unwrap_or(self.holdings.len());
        match self.holdings.get_mut(number) {
            Some(place) => *place = Some(Holdings::default()),
            None => self.holdings.push(Some(Holdings::default())),
        }
        self.by_name.insert(name.clone(), Tenant(number));
        Tenant(number)
    }

    /// Holds a record that is not held yet, and says its serial. Whether there is one has been looked at before.
    pub(super) fn hold(&mut self, tenant: Tenant, activation_id: &ActivationId, slot: Slot) -> u64 {
        let holdings = self.holdings.get_mut(tenant.0).and_then(Option::as_mut).expect("the tenant was found just now");
        let serial = holdings.next_serial;
        holdings.next_serial += 1;
        holdings.by_id.insert(activation_id.clone(), slot);
        holdings.order.push_back((serial, Some(slot)));
        serial
    }

    /// The record in `slot`, retained just now, is the tenant's youngest end.
    pub(super) fn end(&mut self, tenant: Tenant, slots: &mut Slots, slot: Slot, bytes: u64) {
        let Some(holdings) = self.holdings.get_mut(tenant.0).and_then(Option::as_mut) else { return };
        holdings.ends.push(slots, slot);
        holdings.ended += 1;
        holdings.ended_bytes += bytes;
        self.rank(tenant, slots);
    }

    /// The retained record in `slot` is about to go.
    pub(super) fn leave_ends(&mut self, tenant: Tenant, slots: &mut Slots, slot: Slot, bytes: u64) {
        let Some(holdings) = self.holdings.get_mut(tenant.0).and_then(Option::as_mut) else { return };
        holdings.ends.remove(slots, slot);
        holdings.ended -= 1;
        holdings.ended_bytes -= bytes;
        self.rank(tenant, slots);
    }

    /// The oldest end of the tenant that holds most; of several that hold as much, the oldest of theirs.
    pub(super) fn oldest_of_fullest(&self, by: Measure) -> Option<Slot> {
        self.get(self.fullest[by as usize].first()?)?.ends.oldest()
    }

    fn rank(&mut self, tenant: Tenant, slots: &Slots) {
        let shares = self.get(tenant).map(|holdings| holdings.shares(slots));
        for (fullest, share) in self.fullest.iter_mut().zip(shares.unwrap_or_default()) {
            fullest.set(tenant, share);
        }
    }

    /// Forgets a record, and its tenant when that was the last.
    pub(super) fn let_go(&mut self, tenant: Tenant, name: &TenantId, activation_id: &ActivationId, serial: u64) {
        let Some(place) = self.holdings.get_mut(tenant.0) else { return };
        let Some(holdings) = place else { return };
        holdings.by_id.remove(activation_id);
        holdings.leave(serial);
        if holdings.by_id.is_empty() {
            *place = None;
            self.free.push(tenant.0);
            self.by_name.remove(name);
        }
    }

    /// Every tenant's holdings.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Holdings> {
        self.by_name.values().filter_map(|tenant| self.get(*tenant))
    }

    /// Each tenant's ended records as they are counted, and whether the order of its ends says the same.
    pub(super) fn ended(&self, slots: &Slots) -> impl Iterator<Item = (usize, bool)> {
        self.by_name.values().filter_map(move |tenant| {
            let Holdings { ends, ended, ended_bytes, .. } = self.get(*tenant)?;
            let (count, bytes, whole) = ends.walk(slots, *ended, |held| held.tenant == *tenant);
            Some((*ended, whole && (count, bytes) == (*ended, *ended_bytes)))
        })
    }

    /// How many tenants have ended records that they are not ranked by, and how many ranks are no tenant's.
    pub(super) fn misranked(&self, slots: &Slots) -> usize {
        let both = || self.fullest.iter().enumerate();
        let wrong = self.by_name.values().filter(|tenant| {
            let shares = self.get(**tenant).map(|holdings| holdings.shares(slots)).unwrap_or_default();
            both().any(|(measure, fullest)| fullest.get(**tenant) != shares[measure])
        });
        let ending = self.iter().filter(|holdings| holdings.ended > 0).count();
        let loose = both().filter(|(_, fullest)| fullest.len() != ending || !fullest.holds_together());
        wrong.count() + loose.count()
    }

    /// How many tenants have holdings.
    pub(super) fn len(&self) -> usize {
        self.holdings.iter().flatten().count()
    }

    #[cfg(all(test, not(latent_loom)))]
    pub(super) fn number_from(&mut self, name: &TenantId, serial: u64) {
        let tenant = self.find(name).expect("the tenant has a record");
        self.holdings[tenant.0].as_mut().expect("the tenant has a record").next_serial = serial;
    }
}

impl Holdings {
    pub(super) fn by_id(&self, activation_id: &ActivationId) -> Option<Slot> {
        self.by_id.get(activation_id).copied()
    }

    /// How many of its activations are under way.
    pub(super) fn active(&self) -> usize {
        self.by_id.len() - self.ended
    }

    /// What it is ranked by: its ended records and their bytes.
    fn shares(&self, slots: &Slots) -> [Option<Share>; 2] {
        let oldest = self.ends.oldest().and_then(|slot| slots.get(slot)?.standing.retained());
        let share = |amount| oldest.map(|Retained { number, .. }| Share { amount, oldest: *number });
        [share(wide(self.ended)), share(self.ended_bytes)]
    }

    /// Whether no record can be numbered any more.
    pub(super) fn is_out_of_serials(&self) -> bool {
        self.next_serial == u64::MAX
    }

    /// Places with a serial below `before`, newest first, empty ones included.
    pub(super) fn newest_first(&self, before: u64) -> impl Iterator<Item = (u64, Option<Slot>)> {
        let older = self.order.partition_point(|(serial, _)| *serial < before);
        self.order.range(..older).rev().copied()
    }

    /// Records by id, and those in order that are also found by their id.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.by_id.len(), self.order.iter().filter(|(_, slot)| slot.is_some()).count())
    }

    /// Empties the place of `serial`. Empty places at the front go at once; those in between when they have become more
    /// than the others.
    fn leave(&mut self, serial: u64) {
        let is_oldest = self.order.front().is_some_and(|(oldest, _)| *oldest == serial);
        let index = if is_oldest { Ok(0) } else { self.order.binary_search_by_key(&serial, |(serial, _)| *serial) };
        if let Ok(index) = index {
            self.order[index].1 = None;
        }
        while self.order.front().is_some_and(|(_, slot)| slot.is_none()) {
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.by_id.len() + EMPTY_PLACES_SPARE {
            self.order.retain(|(_, slot)| slot.is_some());
        }
    }
}

/// What is kept of a tenant.
#[cfg(all(test, not(latent_loom)))]
pub(super) fn tenant_bytes() -> usize {
    let ranks = 2 * size_of::<(Share, Tenant, Option<usize>)>();
    size_of::<Option<Holdings>>() + size_of::<(TenantId, Tenant)>() + ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> ActivationId {
        ActivationId::new(number.to_string()).unwrap()
    }

    #[test]
    fn one_old_record_does_not_keep_the_places_of_all_that_came_after_it() {
        let mut tenants = Tenants::default();
        let name = TenantId::new("t").unwrap();
        let tenant = tenants.find_or_add(&name);
        let _oldest = tenants.hold(tenant, &id(0), Slot::at(0));
        for number in 1..10_000 {
            let serial = tenants.hold(tenant, &id(number), Slot::at(number));
            tenants.let_go(tenant, &name, &id(number), serial);
            assert!(tenants.get(tenant).unwrap().order.len() <= 2 + EMPTY_PLACES_SPARE);
        }
        assert_eq!(tenants.get(tenant).unwrap().count(), (1, 1));
    }

    #[test]
    fn a_tenant_goes_with_its_last_record_and_its_place_is_used_again() {
        let mut tenants = Tenants::default();
        let names = ["t", "u"].map(|name| TenantId::new(name).unwrap());
        let first = tenants.find_or_add(&names[0]);
        let serial = tenants.hold(first, &id(1), Slot::at(1));
        tenants.let_go(first, &names[0], &id(1), serial);
        assert_eq!((tenants.find(&names[0]), tenants.len()), (None, 0));
        assert_eq!(tenants.find_or_add(&names[1]), first);
    }
}
