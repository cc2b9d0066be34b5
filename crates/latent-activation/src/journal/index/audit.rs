//! The counters of the index, and their recount.

use std::fmt;

use super::{CheckedConfig, Index, wide};

/// What a journal holds: counters, read in constant time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JournalSnapshot {
    /// Activations under way.
    pub active: usize,
    /// Records of ended activations, expired ones that still wait for their eviction included.
    pub terminal: usize,
    /// Bytes that those under way reserve.
    pub reserved_bytes: u64,
    /// Bytes that ended records take.
    pub retained_bytes: u64,
    /// Evicted ids that are remembered.
    pub evicted_ids: usize,
}

/// A counter that differs from what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalDiscrepancy {
    /// What was counted.
    pub what: &'static str,
    /// What the counter says.
    pub counted: u64,
    /// What there is, or the most that may be.
    pub found: u64,
}

impl fmt::Display for JournalDiscrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, counted, found } = self;
        write!(f, "the journal counts {counted} {what} where {found} was to be expected")
    }
}

impl std::error::Error for JournalDiscrepancy {}

impl Index {
    pub(in super::super) fn snapshot(&self) -> JournalSnapshot {
        JournalSnapshot {
            active: self.active,
            terminal: self.terminal,
            reserved_bytes: self.reserved_bytes,
            retained_bytes: self.retained_bytes,
            evicted_ids: self.evicted.len(),
        }
    }

    /// Recounts everything. Takes time in proportion to the records.
    pub(in super::super) fn audit(&self, limits: &CheckedConfig) -> Result<JournalSnapshot, JournalDiscrepancy> {
        let places = || self.tenants.values().flat_map(|holdings| holdings.by_id.values());
        let by_id = places().count();
        let by_serial = self.tenants.values().map(|holdings| holdings.by_serial.len()).sum::<usize>();
        let retained = || self.retained.iter().flatten();
        let in_place = retained().filter(|retained| {
            let holdings = self.tenants.get(retained.record.tenant());
            let place = holdings.and_then(|holdings| holdings.by_id.get(retained.record.activation_id().as_str()));
            let index = place.and_then(|place| self.place_of(place.retained?));
            let there = index.and_then(|index| self.retained[index].as_ref());
            there.is_some_and(|there| std::ptr::eq(there, *retained))
        });
        let active = places().filter(|place| place.retained.is_none()).count();
        let held = self.reserved_bytes + self.retained_bytes;
        let empty_tenants = self.tenants.values().filter(|holdings| holdings.by_id.is_empty()).count();
        let equal = [
            ("records", self.active + self.terminal, by_id),
            ("records in order of reception", by_serial, by_id),
            ("activations under way", self.active, active),
            ("ended records", self.terminal, retained().count()),
            ("ended records in their place", self.terminal, in_place.count()),
            ("tenants without a record", 0, empty_tenants),
            ("loose ends in the memory of evicted ids", 0, usize::from(!self.evicted.holds_together())),
        ];
        let equal = equal.map(|(what, counted, found)| (what, wide(counted), wide(found)));
        let bytes = [
            ("reserved bytes", self.reserved_bytes, wide(self.active) * limits.reservation_bytes),
            ("retained bytes", self.retained_bytes, retained().map(|retained| retained.bytes).sum()),
        ];
        let differs = equal.into_iter().chain(bytes).find(|(_, counted, found)| counted != found);
        let bounds = [
            ("activations under way", wide(self.active), wide(limits.config.active_max)),
            ("ended records", wide(self.terminal), wide(limits.config.terminal_max)),
            ("bytes", held, limits.config.aggregate_bytes_max),
        ];
        let exceeds = || bounds.into_iter().find(|(_, counted, max)| counted > max);
        match differs.or_else(exceeds) {
            Some((what, counted, found)) => Err(JournalDiscrepancy { what, counted, found }),
            None => Ok(self.snapshot()),
        }
    }
}
