//! The memory of ids whose records are gone: a bounded ring of fingerprints, oldest forgotten first.
//!
//! Invariant: `last` holds exactly the fingerprints in the ring, each with the number of its newest entry. A fingerprint
//! has 64 bits and a random seed, so an id that was never evicted passes for one with odds of one in 2^64 an entry.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use latent_core::{ActivationId, TenantId};

#[derive(Debug)]
pub(super) struct EvictedIds {
    max: usize,
    ring: VecDeque<u64>,
    /// How many entries have left the ring; the front of the ring has this number. Wrapping is harmless: only entries
    /// that are in the ring together are compared, and the ring is shorter than the type is wide.
    left: u64,
    last: HashMap<u64, u64, RandomState>,
    seed: RandomState,
}

impl EvictedIds {
    pub(super) fn new(max: usize) -> Self {
        Self { max, ring: VecDeque::new(), left: 0, last: HashMap::default(), seed: RandomState::default() }
    }

    pub(super) fn remember(&mut self, tenant: &TenantId, activation_id: &ActivationId) {
        if self.max == 0 {
            return;
        }
        if self.ring.len() >= self.max
            && let Some(oldest) = self.ring.pop_front()
        {
            if self.last.get(&oldest) == Some(&self.left) {
                self.last.remove(&oldest);
            }
            self.left = self.left.wrapping_add(1);
        }
        let number = self.left.wrapping_add(super::config::wide(self.ring.len()));
        let fingerprint = self.fingerprint(tenant, activation_id);
        self.ring.push_back(fingerprint);
        self.last.insert(fingerprint, number);
    }

    pub(super) fn remembers(&self, tenant: &TenantId, activation_id: &ActivationId) -> bool {
        !self.ring.is_empty() && self.last.contains_key(&self.fingerprint(tenant, activation_id))
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether ring and look-up agree.
    pub(super) fn holds_together(&self) -> bool {
        let mut newest = HashMap::new();
        for (number, fingerprint) in self.ring.iter().enumerate() {
            newest.insert(*fingerprint, self.left.wrapping_add(super::config::wide(number)));
        }
        self.ring.len() <= self.max
            && newest.len() == self.last.len()
            && newest.iter().all(|(fingerprint, number)| self.last.get(fingerprint) == Some(number))
    }

    fn fingerprint(&self, tenant: &TenantId, activation_id: &ActivationId) -> u64 {
        self.seed.hash_one((tenant, activation_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant() -> TenantId {
        TenantId::new("t").unwrap()
    }

    fn id(text: &str) -> ActivationId {
        ActivationId::new(text).unwrap()
    }

    #[test]
    fn the_oldest_is_forgotten_and_a_repeated_id_only_with_its_newest_entry() {
        let mut ids = EvictedIds::new(3);
        for text in ["a", "b", "a", "c"] {
            ids.remember(&tenant(), &id(text));
            assert!(ids.holds_together());
        }
        assert!(["a", "b", "c"].into_iter().all(|text| ids.remembers(&tenant(), &id(text))), "the first a left");
        ids.remember(&tenant(), &id("d"));
        assert!(!ids.remembers(&tenant(), &id("b")) && ids.remembers(&tenant(), &id("a")));
        ids.remember(&tenant(), &id("e"));
        assert!(!ids.remembers(&tenant(), &id("a")) && ids.len() == 3);
    }

    #[test]
    fn another_tenants_id_is_another_id_and_without_room_nothing_is_remembered() {
        let mut ids = EvictedIds::new(1);
        ids.remember(&tenant(), &id("a"));
        assert!(!ids.remembers(&TenantId::new("u").unwrap(), &id("a")));
        let mut none = EvictedIds::new(0);
        none.remember(&tenant(), &id("a"));
        assert!(!none.remembers(&tenant(), &id("a")) && none.len() == 0);
    }

    #[test]
    fn numbers_may_wrap_without_harm() {
        let mut ids = EvictedIds { left: u64::MAX - 1, ..EvictedIds::new(2) };
        for text in ["a", "b", "c", "b", "d", "e"] {
            ids.remember(&tenant(), &id(text));
            assert!(ids.holds_together() && ids.remembers(&tenant(), &id(text)), "{text}");
        }
        assert!(!ids.remembers(&tenant(), &id("a")));
    }
}
