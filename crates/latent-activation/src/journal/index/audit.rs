//! The counters of the index, and their recount.

use std::fmt;

use super::holdings::Holdings;
use super::{CheckedConfig, Index};
use crate::journal::config::wide;

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
        let counts = self.tenants.iter().map(Holdings::count);
        let (by_id, in_order) = counts.fold((0, 0), |sum, (ids, places)| (sum.0 + ids, sum.1 + places));
        let retained = || self.slots.iter().filter_map(|held| held.standing.retained());
        let found = self.slots.iter().filter(|held| {
            let holdings = self.tenants.get(held.tenant);
            let slot = holdings.and_then(|holdings| holdings.by_id(held.record.activation_id()));
            slot.and_then(|slot| self.slots.get(slot)).is_some_and(|found| std::ptr::eq(found, *held))
        });
        let under_way = self.slots.iter().filter(|held| held.standing.retained().is_none()).count();
        let (aged, _, ages_hold_together) = self.ages.walk(&self.slots, self.terminal, |_| true);
        let own_ends = self.tenants.ended(&self.slots);
        let (own_aged, broken) =
            own_ends.fold((0, 0), |sum, (ended, whole)| (sum.0 + ended, sum.1 + usize::from(!whole)));
        let most_active = self.tenants.iter().map(Holdings::active).max().unwrap_or(0);
        let held = self.reserved_bytes + self.retained_bytes;
        let without_record = self.tenants.iter().filter(|holdings| holdings.count().0 == 0).count();
        let equal = [
            ("records", self.active + self.terminal, self.slots.iter().count()),
            ("records found by their id", by_id, found.count()),
            ("records that have an id", self.active + self.terminal, by_id),
            ("records in order of reception", in_order, by_id),
            ("activations under way", self.active, under_way),
            ("ended records", self.terminal, retained().count()),
            ("ended records in order of their ends", self.terminal, aged),
            ("breaks in the order of ends", 0, usize::from(!ages_hold_together)),
            ("ended records in order of their tenants' ends", self.terminal, own_aged),
            ("tenants whose own order of ends is broken", 0, broken),
            ("tenants in a wrong rank of what they hold", 0, self.tenants.misranked(&self.slots)),
            ("tenants", self.tenants.iter().count(), self.tenants.len()),
            ("tenants without a record", 0, without_record),
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
            ("activations of a tenant under way", wide(most_active), wide(limits.config.tenant_active_max)),
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
