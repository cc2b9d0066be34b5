//! Which records are kept: a pure struct, to be kept behind one short lock.
//!
//! Invariant: `bytes` is the sum of what the tenants hold, and each tenant's that of its activations; `fullest` has each
//! tenant once, with its bytes. What leaves is handed out, to be dropped outside the lock.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Instant, SystemTime};

use latent_core::{ActivationId, ServiceName, TenantId};
use latent_executor::{LogRecord, LogRefused};

use super::LogEntry;
use super::book::{LogBookConfig, LogBookSnapshot};
use super::follow::Follower;

/// What a record is taken to need besides its canonical line.
pub const RECORD_BYTES: u64 = 256;
/// How many records a new follower's tail is looked for among.
const TAIL_PLACES_MAX: usize = 16_384;
/// How many activations one end lets go of. More than one, so that they go faster than they come.
const EXPIRED_PER_END: usize = 2;

/// A record that is kept.
pub(super) struct Held {
    pub(super) record: LogRecord,
    pub(super) bytes: u64,
    at: SystemTime,
}

impl Held {
    pub(super) fn new(record: LogRecord, line_bytes: u64, at: SystemTime) -> Self {
        Self { record, bytes: line_bytes.saturating_add(RECORD_BYTES), at }
    }

    pub(super) fn entry(&self, missed: u64) -> LogEntry {
        let LogRecord { activation_id, service, level, message, fields, .. } = &self.record;
        LogEntry {
            activation_id: activation_id.clone(),
            service: service.clone(),
            at: self.at,
            level: level.as_str(),
            message: message.clone(),
            fields: fields.clone(),
            missed,
        }
    }
}

#[derive(Default)]
struct OfTenant {
    /// Every record, by when it was taken.
    order: BTreeMap<u64, Arc<Held>>,
    activations: HashMap<ActivationId, OfActivation>,
    bytes: u64,
}

#[derive(Default)]
struct OfActivation {
    /// Its places in the tenant's order, oldest first.
    places: VecDeque<u64>,
    bytes: u64,
    dropped: u64,
    /// Its place among the ends.
    ended: Option<(Instant, u64)>,
}

pub(super) struct Shelves {
    config: LogBookConfig,
    tenants: HashMap<TenantId, OfTenant>,
    fullest: BTreeSet<(u64, TenantId)>,
    /// Ended activations of which something is kept, in order of their ends.
    ended: BTreeMap<(Instant, u64), (TenantId, ActivationId)>,
    /// How many activations are there that have not ended.
    open: usize,
    followers: Vec<Follower>,
    /// The number of the next record or follower.
    next: u64,
    counts: LogBookSnapshot,
}

impl Shelves {
    pub(super) fn new(config: LogBookConfig) -> Self {
        Self {
            config,
            tenants: HashMap::new(),
            fullest: BTreeSet::new(),
            ended: BTreeMap::new(),
            open: 0,
            followers: Vec::new(),
            next: 0,
            counts: LogBookSnapshot::default(),
        }
    }

    pub(super) fn snapshot(&self) -> LogBookSnapshot {
        LogBookSnapshot { followers: self.followers.len() as u64, ..self.counts }
    }

    pub(super) fn offer(
        &mut self,
        held: &Arc<Held>,
        gone: &mut Vec<Arc<Held>>,
        wake: &mut Vec<Waker>,
    ) -> Result<(), LogRefused> {
        if held.bytes > self.config.activation_bytes_max {
            return Err(LogRefused);
        }
        let (tenant, id) = (&held.record.tenant, &held.record.activation_id);
        if self.activation(tenant, id).is_some_and(|known| known.ended.is_some()) {
            // The id was given again: what another activation wrote is not this one's.
            self.forget(tenant, id, gone);
        }
        for follower in self.followers.iter_mut().filter(|follower| follower.wants(held)) {
            self.counts.missed += follower.put(held, self.config.follower_bytes_max, gone, wake);
        }
        let known = self.tenants.get_mut(tenant).and_then(|of| of.activations.get_mut(id));
        if let Some(activation) = known
            && activation.bytes + held.bytes > self.config.activation_bytes_max
        {
            activation.dropped += 1;
            self.counts.dropped += 1;
            return Ok(());
        }
        self.keep(held);
        while self.counts.bytes > self.config.bytes_max && self.evict_one(gone) {}
        Ok(())
    }

    pub(super) fn ended(&mut self, tenant: &TenantId, id: &ActivationId, now: Instant, gone: &mut Vec<Arc<Held>>) {
        self.expire(now, EXPIRED_PER_END, gone);
        let place = (now, self.number());
        let known = self.tenants.get_mut(tenant).and_then(|of| of.activations.get_mut(id));
        let Some(activation) = known.filter(|activation| activation.ended.is_none()) else { return };
        if activation.places.is_empty() {
            self.forget(tenant, id, gone);
        } else {
            activation.ended = Some(place);
            self.ended.insert(place, (tenant.clone(), id.clone()));
            self.open -= 1;
        }
    }

    /// Lets go of at most `max` activations whose records have been kept for long enough, and says how many.
    pub(super) fn expire(&mut self, now: Instant, max: usize, gone: &mut Vec<Arc<Held>>) -> usize {
        let mut swept = 0;
        while swept < max
            && let Some(first) = self.ended.first_entry()
            && now.saturating_duration_since(first.key().0) >= self.config.retention
        {
            let (tenant, id) = first.get().clone();
            self.forget(&tenant, &id, gone);
            swept += 1;
        }
        swept
    }

    /// The records of an activation, and how many are missing.
    pub(super) fn of_activation(
        &self,
        tenant: &TenantId,
        id: &ActivationId,
        now: Instant,
    ) -> Option<(Vec<Arc<Held>>, u64)> {
        let of = self.tenants.get(tenant)?;
        let activation = of.activations.get(id)?;
        let retention = self.config.retention;
        if activation.ended.is_some_and(|(ended, _)| now.saturating_duration_since(ended) >= retention) {
            return None;
        }
        let records = activation.places.iter().filter_map(|place| of.order.get(place)).map(Arc::clone).collect();
        Some((records, activation.dropped))
    }

    /// A new follower with the latest `tail` records; `None` when as many follow as may.
    pub(super) fn follow(&mut self, tenant: &TenantId, service: Option<&ServiceName>, tail: usize) -> Option<u64> {
        if self.followers.len() >= self.config.followers_max {
            return None;
        }
        let key = self.number();
        let mut follower = Follower::new(key, tenant.clone(), service.cloned());
        let order = self.tenants.get(tenant).map(|of| &of.order);
        let latest = order.into_iter().flat_map(|order| order.values().rev()).take(TAIL_PLACES_MAX);
        let mut left = tail;
        for held in latest {
            if left == 0 || !follower.has_room(held.bytes, self.config.follower_bytes_max) {
                break;
            }
            if follower.wants(held) {
                follower.put_first(held);
                left -= 1;
            }
        }
        self.followers.push(follower);
        Some(key)
    }

    pub(super) fn follower(&mut self, key: u64) -> Option<&mut Follower> {
        self.followers.iter_mut().find(|follower| follower.key == key)
    }

    pub(super) fn unfollow(&mut self, key: u64) -> Option<Follower> {
        let place = self.followers.iter().position(|follower| follower.key == key)?;
        Some(self.followers.swap_remove(place))
    }

    /// How many activations are there that have not ended.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    fn activation(&self, tenant: &TenantId, id: &ActivationId) -> Option<&OfActivation> {
        self.tenants.get(tenant)?.activations.get(id)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn keep(&mut self, held: &Arc<Held>) {
        let (tenant, id, place) = (&held.record.tenant, &held.record.activation_id, self.number());
        let of = self.tenants.entry(tenant.clone()).or_default();
        let before = of.bytes;
        if !of.activations.contains_key(id) {
            self.open += 1;
        }
        let activation = of.activations.entry(id.clone()).or_default();
        activation.places.push_back(place);
        activation.bytes += held.bytes;
        of.order.insert(place, Arc::clone(held));
        of.bytes += held.bytes;
        self.counts.bytes += held.bytes;
        self.counts.records += 1;
        self.fullest.remove(&(before, tenant.clone()));
        self.fullest.insert((before + held.bytes, tenant.clone()));
    }

    /// Evicts the oldest record of the tenant that holds most.
    fn evict_one(&mut self, gone: &mut Vec<Arc<Held>>) -> bool {
        let Some(tenant) = self.fullest.last().map(|(_, tenant)| tenant.clone()) else { return false };
        let Some(of) = self.tenants.get_mut(&tenant) else { return false };
        let Some((_, held)) = of.order.pop_first() else { return false };
        let id = held.record.activation_id.clone();
        if let Some(activation) = of.activations.get_mut(&id) {
            activation.places.pop_front();
            activation.bytes -= held.bytes;
            activation.dropped += 1;
            if let (true, Some(ended)) = (activation.places.is_empty(), activation.ended) {
                of.activations.remove(&id);
                self.ended.remove(&ended);
            }
        }
        self.counts.dropped += 1;
        self.let_go(&tenant, held.bytes, 1);
        gone.push(held);
        true
    }

    /// Lets go of all that is kept of an activation.
    fn forget(&mut self, tenant: &TenantId, id: &ActivationId, gone: &mut Vec<Arc<Held>>) {
        let Some(of) = self.tenants.get_mut(tenant) else { return };
        let Some(activation) = of.activations.remove(id) else { return };
        match activation.ended {
            Some(place) => drop(self.ended.remove(&place)),
            None => self.open -= 1,
        }
        gone.extend(activation.places.iter().filter_map(|place| of.order.remove(place)));
        self.let_go(tenant, activation.bytes, activation.places.len() as u64);
    }

    /// Takes records that are gone off the books, and the tenant with its last one.
    fn let_go(&mut self, tenant: &TenantId, bytes: u64, records: u64) {
        self.counts.bytes -= bytes;
        self.counts.records -= records;
        let Some(of) = self.tenants.get_mut(tenant) else { return };
        self.fullest.remove(&(of.bytes, tenant.clone()));
        of.bytes -= bytes;
        if of.activations.is_empty() {
            self.tenants.remove(tenant);
        } else if of.bytes > 0 {
            self.fullest.insert((of.bytes, tenant.clone()));
        }
    }
}

#[cfg(test)]
impl Shelves {
    /// Recounts everything.
    pub(super) fn assert_sound(&self) {
        let kept = self.tenants.values().flat_map(|of| of.order.values());
        assert_eq!(kept.clone().map(|held| held.bytes).sum::<u64>(), self.counts.bytes);
        assert_eq!(kept.count() as u64, self.counts.records);
        for (tenant, of) in &self.tenants {
            assert_eq!(of.bytes, of.order.values().map(|held| held.bytes).sum::<u64>());
            assert_eq!(of.bytes, of.activations.values().map(|activation| activation.bytes).sum::<u64>());
            assert_eq!(
                of.order.len(),
                of.activations.values().map(|activation| activation.places.len()).sum::<usize>()
            );
            assert_eq!(self.fullest.contains(&(of.bytes, tenant.clone())), of.bytes > 0);
        }
        assert_eq!(self.fullest.len(), self.tenants.values().filter(|of| of.bytes > 0).count());
        assert!(self.counts.bytes <= self.config.bytes_max);
        let all = || self.tenants.values().flat_map(|of| of.activations.values());
        assert_eq!(self.open, all().filter(|activation| activation.ended.is_none()).count());
        assert_eq!(self.ended.len(), all().filter(|activation| activation.ended.is_some()).count());
    }
}
