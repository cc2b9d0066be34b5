//! Which records there are, by tenant and by age: a pure struct, to be kept behind one short lock.
//!
//! Invariant: a record is under way or retained, never both; `active` and `terminal` count them, and reserved and
//! retained bytes together never exceed the configured aggregate. Only retained records are ever evicted. Evicted
//! records are handed out, to be dropped outside the lock.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use latent_core::{ActivationId, TenantId};

use super::config::{CheckedConfig, wide};
use super::evicted::EvictedIds;
use super::record::Record;
use super::refusal::Refused;
use super::status::Lookup;

mod audit;

pub use audit::{JournalDiscrepancy, JournalSnapshot};

/// How many expired records a reservation takes along. More than one, so that they go faster than they come.
const EXPIRED_PER_RESERVATION: usize = 2;

#[derive(Debug)]
pub(super) struct Index {
    tenants: HashMap<TenantId, Holdings, RandomState>,
    /// Ended records, oldest end first. A place is empty when its record went before its turn.
    retained: VecDeque<Option<Retained>>,
    /// The number of the front of `retained`; numbers never repeat.
    first: u64,
    active: usize,
    terminal: usize,
    reserved_bytes: u64,
    retained_bytes: u64,
    evicted: EvictedIds,
    /// The latest time that anybody has told.
    latest: Option<Instant>,
}

/// The records of one tenant. There while it has any.
#[derive(Debug, Default)]
struct Holdings {
    by_id: HashMap<ById, Place, RandomState>,
    by_serial: BTreeMap<u64, Arc<Record>>,
    /// Counts this tenant's records alone, so that it tells it nothing of others.
    next_serial: u64,
}

/// A record that is found by its id, without a copy of it.
#[derive(Debug)]
struct ById(Arc<Record>);

#[derive(Debug, Clone, Copy)]
struct Place {
    serial: u64,
    /// Its number in `retained`; `None` while it is under way.
    retained: Option<u64>,
}

#[derive(Debug)]
struct Retained {
    record: Arc<Record>,
    /// When it ended. Never before those that are older.
    at: Instant,
    bytes: u64,
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
            tenants: HashMap::default(),
            retained: VecDeque::new(),
            first: 0,
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
    ) -> Result<(), Refused> {
        let now = self.observe(now);
        self.expire(now, limits.config.terminal_retention, EXPIRED_PER_RESERVATION, out);
        let holdings = self.tenants.get(record.tenant());
        let serial = holdings.map_or(0, |holdings| holdings.next_serial);
        let place = holdings.and_then(|holdings| holdings.by_id.get(record.activation_id().as_str())).copied();
        let expired = match place.map(|place| place.retained) {
            Some(Some(number)) if self.has_expired(number, now, limits.config.terminal_retention) => Some(number),
            Some(_) => return Err(Refused::Duplicate),
            None => None,
        };
        if self.active >= limits.config.active_max {
            return Err(Refused::ActiveFull { active_max: limits.config.active_max });
        }
        let aggregate_bytes_max = limits.config.aggregate_bytes_max;
        let reservation_bytes = limits.reservation_bytes;
        let reserved = self.reserved_bytes.checked_add(reservation_bytes);
        let Some(reserved) = reserved.filter(|reserved| *reserved <= aggregate_bytes_max) else {
            return Err(Refused::BytesFull { aggregate_bytes_max });
        };
        // A number for the end of everything that is under way, this one included.
        let ends = self.first.checked_add(wide(self.retained.len() + self.active + 1));
        let Some(next_serial) = serial.checked_add(1).filter(|_| ends.is_some()) else {
            return Err(Refused::SequenceExhausted);
        };
        if let Some(number) = expired {
            self.evict(number, out);
        }
        while self.retained_bytes > aggregate_bytes_max - reserved && self.evict_oldest(out) {}
        let holdings = self.tenants.entry(record.tenant().clone()).or_default();
        holdings.by_id.insert(ById(Arc::clone(record)), Place { serial, retained: None });
        holdings.by_serial.insert(serial, Arc::clone(record));
        holdings.next_serial = next_serial;
        self.active += 1;
        self.reserved_bytes = reserved;
        Ok(())
    }

    /// The record has ended, at `at`, and takes `bytes` instead of its reservation. Oldest ends give way.
    pub(super) fn settle(
        &mut self,
        record: &Arc<Record>,
        at: Instant,
        bytes: u64,
        limits: &CheckedConfig,
        out: &mut Evictions,
    ) {
        let at = self.observe(at);
        let number = self.first + wide(self.retained.len());
        let holdings = self.tenants.get_mut(record.tenant());
        let place = holdings.and_then(|holdings| holdings.by_id.get_mut(record.activation_id().as_str()));
        let place = place.expect("a record under way is never evicted");
        debug_assert!(place.retained.is_none() && bytes <= limits.reservation_bytes);
        place.retained = Some(number);
        self.retained.push_back(Some(Retained { record: Arc::clone(record), at, bytes }));
        self.active -= 1;
        self.terminal += 1;
        self.reserved_bytes -= limits.reservation_bytes;
        self.retained_bytes += bytes;
        while self.terminal > limits.config.terminal_max && self.evict_oldest(out) {}
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
        let holdings = self.tenants.get(tenant);
        match holdings.and_then(|holdings| holdings.by_id.get_key_value(activation_id.as_str())) {
            Some((_, Place { retained: Some(number), .. })) if self.has_expired(*number, now, retention) => {
                Lookup::Evicted
            }
            Some((found, _)) => Lookup::Found(Arc::clone(&found.0)),
            None if self.evicted.remembers(tenant, activation_id) => Lookup::Evicted,
            None => Lookup::Unknown,
        }
    }

    /// At most `rows_max` of the tenant's records with a serial below `before`, newest first, and where to go on. Expired
    /// ones are passed over and still count as looked at.
    pub(super) fn page(
        &mut self,
        tenant: &TenantId,
        before: u64,
        rows_max: usize,
        now: Instant,
        retention: Duration,
    ) -> (Vec<Arc<Record>>, Option<u64>) {
        let now = self.observe(now);
        let Some(holdings) = self.tenants.get(tenant) else { return (Vec::new(), None) };
        let mut below = holdings.by_serial.range(..before).rev();
        let mut rows = Vec::new();
        let mut last = before;
        for (serial, record) in below.by_ref().take(rows_max) {
            last = *serial;
            let place = holdings.by_id.get(record.activation_id().as_str());
            let number = place.and_then(|place| place.retained);
            if !number.is_some_and(|number| self.has_expired(number, now, retention)) {
                rows.push(Arc::clone(record));
            }
        }
        (rows, below.next().map(|_| last))
    }

    /// Evicts at most `max` records that have expired by `now`.
    pub(super) fn expire(&mut self, now: Instant, retention: Duration, max: usize, out: &mut Evictions) {
        let now = self.observe(now);
        for _ in 0..max {
            let oldest = self.retained.front().and_then(Option::as_ref);
            if !oldest.is_some_and(|oldest| expired(oldest, now, retention)) {
                return;
            }
            self.evict(self.first, out);
        }
    }

    /// The latest time that anybody has told; `fallback` where nobody has.
    pub(super) fn latest(&self, fallback: Instant) -> Instant {
        self.latest.map_or(fallback, |latest| latest.max(fallback))
    }

    fn observe(&mut self, now: Instant) -> Instant {
        *self.latest.insert(self.latest(now))
    }

    fn has_expired(&self, number: u64, now: Instant, retention: Duration) -> bool {
        self.place_of(number)
            .and_then(|index| self.retained[index].as_ref())
            .is_some_and(|r| expired(r, now, retention))
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (index < self.retained.len()).then_some(index)
    }

    fn evict_oldest(&mut self, out: &mut Evictions) -> bool {
        let any = self.terminal > 0;
        if any {
            // The front is never empty: `evict` sees to that.
            self.evict(self.first, out);
        }
        any
    }

    fn evict(&mut self, number: u64, out: &mut Evictions) {
        let Some(gone) = self.place_of(number).and_then(|index| self.retained[index].take()) else { return };
        while self.retained.front().is_some_and(Option::is_none) {
            self.retained.pop_front();
            self.first += 1;
        }
        self.terminal -= 1;
        self.retained_bytes -= gone.bytes;
        let (tenant, activation_id) = (gone.record.tenant(), gone.record.activation_id());
        if let Some(holdings) = self.tenants.get_mut(tenant) {
            if let Some(place) = holdings.by_id.remove(activation_id.as_str()) {
                holdings.by_serial.remove(&place.serial);
            }
            if holdings.by_id.is_empty() {
                self.tenants.remove(tenant);
            }
        }
        self.evicted.remember(tenant, activation_id);
        out.push(gone.record);
    }
}

#[cfg(all(test, not(latent_loom)))]
impl Index {
    pub(super) fn number_ends_from(&mut self, first: u64) {
        assert!(self.retained.is_empty(), "numbers can only be moved while none is in use");
        self.first = first;
    }

    pub(super) fn number_receptions_from(&mut self, tenant: &TenantId, serial: u64) {
        self.tenants.get_mut(tenant).expect("the tenant has a record").next_serial = serial;
    }
}

fn expired(retained: &Retained, now: Instant, retention: Duration) -> bool {
    now.saturating_duration_since(retained.at) >= retention
}

impl Borrow<str> for ById {
    fn borrow(&self) -> &str {
        self.0.activation_id().as_str()
    }
}

impl PartialEq for ById {
    fn eq(&self, other: &Self) -> bool {
        self.0.activation_id() == other.0.activation_id()
    }
}

impl Eq for ById {}

impl Hash for ById {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.activation_id().as_str().hash(state);
    }
}
