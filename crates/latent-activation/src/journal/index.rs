//! Which records there are, by tenant and by age: a pure struct, to be kept behind one short lock.
//!
//! Invariant: a record is under way or retained, never both; `active` and `terminal` count them, and reserved and
//! retained bytes together never exceed the configured aggregate. Only retained records are ever evicted: what has
//! expired, and for want of room what is oldest of the tenant that holds most. Evicted records are handed out, to be
//! dropped outside the lock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_core::{ActivationId, TenantId};

use super::config::{CheckedConfig, LocalActivationJournalConfig};
use super::evicted::EvictedIds;
use super::record::Record;
use super::refusal::Refused;
use super::status::Lookup;

mod ages;

mod audit;

mod fullest;

mod holdings;

mod slots;

pub use audit::{JournalDiscrepancy, JournalSnapshot};

use ages::AllEnds;
use holdings::{Holdings, Measure, Tenants};
pub(super) use slots::Slot;
use slots::Slots;

/// How many expired records a reservation takes along. More than one, so that they go faster than they come.
const EXPIRED_PER_RESERVATION: usize = 2;

#[derive(Debug)]
pub(super) struct Index {
    slots: Slots,
    tenants: Tenants,
    /// Ended records, oldest end first.
    ages: AllEnds,
    active: usize,
    terminal: usize,
    reserved_bytes: u64,
    retained_bytes: u64,
    evicted: EvictedIds,
    /// The latest time that anybody has told.
    latest: Option<Instant>,
}

/// Records that have left the index. One is the common case and needs no allocation.
#[derive(Debug, Default)]
pub(super) struct Evictions {
    first: Option<Arc<Record>>,
    more: Vec<Arc<Record>>,
}

impl Evictions {
    fn push(&mut self, record: Arc<Record>) {
        match &self.first {
            None => self.first = Some(record),
            Some(_) => self.more.push(record),
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }
}

impl Index {
    pub(super) fn new(evicted_ids_max: usize) -> Self {
        Self {
            slots: Slots::default(),
            tenants: Tenants::default(),
            ages: AllEnds::default(),
            active: 0,
            terminal: 0,
            reserved_bytes: 0,
            retained_bytes: 0,
            evicted: EvictedIds::new(evicted_ids_max),
            latest: None,
        }
    }

    /// Takes `record` in as one under way, with room for its end. Looks first: a refusal has evicted nothing but what
    /// had expired.
    pub(super) fn reserve(
        &mut self,
        record: &Arc<Record>,
        now: Instant,
        limits: &CheckedConfig,
        out: &mut Evictions,
    ) -> Result<Slot, Refused> {
        let now = self.observe(now);
        let retention = limits.config.terminal_retention;
        self.expire(now, retention, EXPIRED_PER_RESERVATION, out);
        let tenant = self.tenants.find(record.tenant());
        let holdings = tenant.and_then(|tenant| self.tenants.get(tenant));
        let same = holdings.and_then(|holdings| holdings.by_id(record.activation_id()));
        let expired = match same {
            Some(slot) if self.has_expired(slot, now, retention) => Some(slot),
            Some(_) => return Err(Refused::Duplicate),
            None => None,
        };
        // The tenant's own bound first: what it says is the same whatever others do.
        let tenant_active_max = limits.config.tenant_active_max;
        if holdings.is_some_and(|holdings| holdings.active() >= tenant_active_max) {
            return Err(Refused::TenantFull { tenant_active_max });
        }
        if self.active >= limits.config.active_max {
            return Err(Refused::ActiveFull { active_max: limits.config.active_max });
        }
        let aggregate_bytes_max = limits.config.aggregate_bytes_max;
        let reserved = self.reserved_bytes.checked_add(limits.reservation_bytes);
        let Some(reserved) = reserved.filter(|reserved| *reserved <= aggregate_bytes_max) else {
            return Err(Refused::BytesFull { aggregate_bytes_max });
        };
        if holdings.is_some_and(Holdings::is_out_of_serials) {
            return Err(Refused::SequenceExhausted);
        }
        if let Some(slot) = expired {
            self.evict(slot, out);
        }
        while self.retained_bytes > aggregate_bytes_max - reserved
            && self.make_room(Measure::Bytes, now, retention, out)
        {}
        // What was evicted may have been the tenant's last record, and its holdings gone with it.
        let tenant = tenant.filter(|tenant| self.tenants.get(*tenant).is_some());
        let tenant = tenant.unwrap_or_else(|| self.tenants.find_or_add(record.tenant()));
        let slot = self.slots.add(Arc::clone(record), tenant);
        let serial = self.tenants.hold(tenant, record.activation_id(), slot);
        self.slots.number(slot, serial);
        self.active += 1;
        self.reserved_bytes = reserved;
        Ok(slot)
    }

    /// The record in `slot` has ended, at `at`, and takes `bytes` instead of its reservation. Older ends give way.
    pub(super) fn settle(&mut self, slot: Slot, at: Instant, bytes: u64, limits: &CheckedConfig, out: &mut Evictions) {
        debug_assert!(bytes <= limits.reservation_bytes, "{bytes} bytes in a reservation that is computed for all");
        let at = self.observe(at);
        let tenant = self.slots.retain(slot, at, bytes);
        self.ages.push(&mut self.slots, slot);
        self.tenants.end(tenant, &mut self.slots, slot, bytes);
        self.active -= 1;
        self.terminal += 1;
        self.reserved_bytes -= limits.reservation_bytes;
        self.retained_bytes += bytes;
        let LocalActivationJournalConfig { terminal_max, terminal_retention, .. } = limits.config;
        while self.terminal > terminal_max && self.make_room(Measure::Records, at, terminal_retention, out) {}
    }

    /// The tenant's record of that id.
    pub(super) fn find(
        &mut self,
        tenant: &TenantId,
        activation_id: &ActivationId,
        now: Instant,
        retention: Duration,
    ) -> Lookup<Arc<Record>> {
        let now = self.observe(now);
        let holdings = self.tenants.find(tenant).and_then(|tenant| self.tenants.get(tenant));
        match holdings.and_then(|holdings| holdings.by_id(activation_id)) {
            Some(slot) if self.has_expired(slot, now, retention) => Lookup::Evicted,
            Some(slot) => self.slots.get(slot).map_or(Lookup::Unknown, |held| Lookup::Found(Arc::clone(&held.record))),
            None if self.evicted.remembers(tenant, activation_id) => Lookup::Evicted,
            None => Lookup::Unknown,
        }
    }

    /// At most `rows_max` of the tenant's records with a serial below `before`, newest first, and where to go on. Looks at
    /// `places_max` places; empty ones and expired records are passed over.
    pub(super) fn page(
        &mut self,
        tenant: &TenantId,
        before: u64,
        (rows_max, places_max): (usize, usize),
        now: Instant,
        retention: Duration,
    ) -> (Vec<Arc<Record>>, Option<u64>) {
        let now = self.observe(now);
        let holdings = self.tenants.find(tenant).and_then(|tenant| self.tenants.get(tenant));
        let Some(holdings) = holdings else { return (Vec::new(), None) };
        let mut places = holdings.newest_first(before);
        let mut rows = Vec::new();
        let mut last = before;
        for (serial, slot) in places.by_ref().take(places_max) {
            last = serial;
            let shown = slot.filter(|slot| !self.has_expired(*slot, now, retention));
            rows.extend(shown.and_then(|slot| self.slots.get(slot)).map(|held| Arc::clone(&held.record)));
            if rows.len() >= rows_max {
                break;
            }
        }
        (rows, places.next().map(|_| last))
    }

    /// The records of all that is under way.
    pub(super) fn under_way(&self) -> Vec<Arc<Record>> {
        let under_way = self.slots.iter().filter(|held| held.standing.retained().is_none());
        under_way.map(|held| Arc::clone(&held.record)).collect()
    }

    /// Evicts at most `max` records that have expired by `now`.
    pub(super) fn expire(&mut self, now: Instant, retention: Duration, max: usize, out: &mut Evictions) {
        let now = self.observe(now);
        for _ in 0..max {
            match self.ages.oldest() {
                Some(oldest) if self.has_expired(oldest, now, retention) => self.evict(oldest, out),
                _ => return,
            }
        }
    }

    /// The latest time that anybody has told; `fallback` where nobody has told a later one.
    pub(super) fn latest(&self, fallback: Instant) -> Instant {
        self.latest.map_or(fallback, |latest| latest.max(fallback))
    }

    fn observe(&mut self, now: Instant) -> Instant {
        *self.latest.insert(self.latest(now))
    }

    fn has_expired(&self, slot: Slot, now: Instant, retention: Duration) -> bool {
        let retained = self.slots.get(slot).and_then(|held| held.standing.retained());
        retained.is_some_and(|retained| now.saturating_duration_since(retained.at) >= retention)
    }

    /// Evicts one record: one that has expired, or else the oldest of the tenant that holds most.
    fn make_room(&mut self, of: Measure, now: Instant, retention: Duration, out: &mut Evictions) -> bool {
        let expired = self.ages.oldest().filter(|oldest| self.has_expired(*oldest, now, retention));
        let gives_way = expired.or_else(|| self.tenants.oldest_of_fullest(of));
        if let Some(slot) = gives_way {
            self.evict(slot, out);
        }
        gives_way.is_some()
    }

    /// Takes a retained record out of every order. One that is under way stays.
    fn evict(&mut self, slot: Slot, out: &mut Evictions) {
        let held = self.slots.get(slot);
        let Some((tenant, bytes)) = held.and_then(|held| Some((held.tenant, held.standing.retained()?.bytes))) else {
            return;
        };
        self.ages.remove(&mut self.slots, slot);
        self.tenants.leave_ends(tenant, &mut self.slots, slot, bytes);
        let Some(gone) = self.slots.remove(slot) else { return };
        self.terminal -= 1;
        self.retained_bytes -= bytes;
        let (tenant, activation_id) = (gone.record.tenant(), gone.record.activation_id());
        self.tenants.let_go(gone.tenant, tenant, activation_id, gone.serial);
        self.evicted.remember(tenant, activation_id);
        out.push(gone.record);
    }
}

#[cfg(all(test, not(latent_loom)))]
impl Index {
    pub(super) fn number_receptions_from(&mut self, tenant: &TenantId, serial: u64) {
        self.tenants.number_from(tenant, serial);
    }
}

/// What a record takes in the index, twice over where a collection grows by doubling: its place, its entries by id and
/// by reception, and all that is kept of a tenant, which may have no other record.
#[cfg(all(test, not(latent_loom)))]
pub(super) fn place_bytes() -> usize {
    let grown = size_of::<Option<slots::Held>>()
        + size_of::<(ActivationId, Slot)>()
        + size_of::<(u64, Option<Slot>)>()
        + holdings::tenant_bytes();
    2 * grown
}
