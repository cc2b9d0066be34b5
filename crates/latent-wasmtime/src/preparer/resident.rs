//! Prepared code that is kept in memory, least recently used first to go. Pure.
//!
//! Invariant: entries, bytes and mappings stay within their bounds, except that the newest entry always stays.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use latent_executor::PreparationKey;

/// Mappings that one loaded image has at most: its parts of different protection, with a margin.
const MAPPINGS_EACH: usize = 8;

/// What may be kept.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "every limit says that it is the most")]
pub struct ResidentBounds {
    /// Components. Zero keeps exactly the newest, in the one shared slot.
    pub entries_max: usize,
    /// Bytes of compiled code.
    pub bytes_max: u64,
    /// Memory mappings of loaded images, at eight a component.
    pub mappings_max: usize,
}

/// The components that are kept.
pub struct Resident<C> {
    entries: HashMap<PreparationKey, Entry<C>, RandomState>,
    bytes: u64,
    uses: u64,
    bounds: ResidentBounds,
}

struct Entry<C> {
    code: C,
    bytes: u64,
    used: u64,
}

impl<C: Clone> Resident<C> {
    /// Nothing is kept yet.
    pub fn new(bounds: ResidentBounds) -> Self {
        Self { entries: HashMap::default(), bytes: 0, uses: 0, bounds }
    }

    /// The code under `key`, which is then the most recently used.
    pub fn touch(&mut self, key: PreparationKey) -> Option<C> {
        self.uses += 1;
        let entry = self.entries.get_mut(&key)?;
        entry.used = self.uses;
        Some(entry.code.clone())
    }

    /// Keeps `code` of `bytes`, and lets the least recently used go until the bounds hold. What goes is returned, to be
    /// dropped outside of any lock; whoever pinned it keeps it alive.
    #[must_use = "what is let go is dropped outside of the lock"]
    pub fn keep(&mut self, key: PreparationKey, code: C, bytes: u64) -> Vec<C> {
        self.uses += 1;
        self.bytes += bytes;
        let replaced = self.entries.insert(key, Entry { code, bytes, used: self.uses });
        let mut released: Vec<_> = replaced.into_iter().collect();
        self.bytes -= released.iter().map(|entry| entry.bytes).sum::<u64>();
        while self.entries.len() > 1 && self.is_over() {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
            let Some(least) = oldest.and_then(|key| self.entries.remove(&key)) else { break };
            self.bytes -= least.bytes;
            released.push(least);
        }
        released.into_iter().map(|entry| entry.code).collect()
    }

    /// Entries and bytes that are kept.
    pub fn usage(&self) -> (u64, u64) {
        (self.entries.len() as u64, self.bytes)
    }

    fn is_over(&self) -> bool {
        let ResidentBounds { entries_max, bytes_max, mappings_max } = self.bounds;
        let entries = self.entries.len();
        entries > entries_max || self.bytes > bytes_max || entries.saturating_mul(MAPPINGS_EACH) > mappings_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::Sha256Digest;

    fn key(name: u8) -> PreparationKey {
        PreparationKey::new(Sha256Digest::of(&[name]), 1)
    }

    fn resident(entries_max: usize, bytes_max: u64, mappings_max: usize) -> Resident<u8> {
        Resident::new(ResidentBounds { entries_max, bytes_max, mappings_max })
    }

    #[test]
    fn the_least_recently_used_goes_at_each_bound() {
        for mut kept in [resident(2, 1_000, 1_000), resident(100, 20, 1_000), resident(100, 1_000, 2 * MAPPINGS_EACH)] {
            assert!(kept.keep(key(1), 1, 10).is_empty());
            assert!(kept.keep(key(2), 2, 10).is_empty());
            assert_eq!(kept.touch(key(1)), Some(1));
            assert_eq!(kept.keep(key(3), 3, 10), [2]);
            assert_eq!((kept.touch(key(1)), kept.touch(key(2)), kept.touch(key(3))), (Some(1), None, Some(3)));
            assert_eq!(kept.usage(), (2, 20));
        }
    }

    #[test]
    fn the_newest_stays_even_if_it_alone_is_too_much() {
        for mut kept in [resident(0, 1_000, 1_000), resident(10, 5, 1_000), resident(10, 1_000, 0)] {
            assert!(kept.keep(key(1), 1, 10).is_empty());
            assert_eq!(kept.keep(key(2), 2, 10), [1]);
            assert_eq!(kept.usage(), (1, 10));
        }
    }

    #[test]
    fn replacing_counts_once() {
        let mut kept = resident(4, 100, 100);
        assert!(kept.keep(key(1), 1, 10).is_empty());
        assert_eq!(kept.keep(key(1), 2, 30), [1]);
        assert_eq!(kept.usage(), (1, 30));
    }
}
