//! The bounded journal of a node: every activation under way and the recent ends, each tenant's for itself.
//!
//! Invariant: two kinds of lock, never one inside the other. The short one around the index is taken to reserve,
//! to settle an end and to find a record; everything about one activation happens under its own record's. Under
//! neither is anything woken, awaited or dropped that could call back.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use latent_core::{ActivationId, PlatformError, StopLatch, TenantId};

#[cfg(latent_loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(latent_loom))]
use std::sync::{Mutex, MutexGuard};

mod config;

mod course;

mod evicted;

mod index;

mod record;

mod refusal;

mod reservation;

mod status;

mod watch;

pub use config::LocalActivationJournalConfig;
pub use index::{JournalDiscrepancy, JournalSnapshot};
pub use reservation::JournalReservation;
pub use status::{
    ActivationPage, ActivationStatus, ActivationSummary, Lookup, PageCursor, Published, RetainedDeclaredError,
    RetainedOutcome, SuccessSummary, TerminalRecord,
};
pub use watch::ActivationWatch;

use crate::cancel::CancelDisposition;
use crate::phase::{LifecycleEvent, Moment, Progress};
use crate::request::Lineage;
use config::CheckedConfig;
use index::{Evictions, Index, Slot};
use record::Record;
use watch::{Permit, Watches};

/// The most lines of one page of a list; larger wishes get this many.
pub const PAGE_ROWS_MAX: usize = 256;

/// The most expired records that one sweep evicts.
const SWEEP_MAX: usize = 1024;

/// The journal (`activation-lifecycle.md`, "Bounded status and validation"). In memory: it says nothing of what a former
/// process did. Every `now` is monotonic time; one that lies behind an earlier one counts as that one.
#[derive(Debug)]
pub struct LocalActivationJournal {
    limits: CheckedConfig,
    index: Mutex<Index>,
    watches: Watches,
}

impl LocalActivationJournal {
    /// An empty journal. Memory grows with what is recorded, within the configured bounds.
    ///
    /// # Errors
    /// `invalid-argument`, detail `activation.journal-config`, for a bound that is out of range or holds no record.
    pub fn new(config: LocalActivationJournalConfig) -> Result<Self, PlatformError> {
        let limits = config.check()?;
        let index = Mutex::new(Index::new(limits.config.evicted_ids_max));
        Ok(Self { limits, index, watches: Watches::none() })
    }

    /// The bounds that hold.
    #[must_use]
    pub fn config(&self) -> &LocalActivationJournalConfig {
        &self.limits.config
    }

    /// Records an activation of `tenant` as received, with room for its end set aside, and makes it cancellable.
    ///
    /// # Errors
    /// `already-exists`, detail `activation.duplicate`, while the tenant has a record of that id, under way or retained;
    /// retryable `resource-exhausted`, detail `activation.journal-full` with the bound, when those under way leave no
    /// room, or the tenant has as many as one may have; `internal`, detail `activation.journal-sequence-exhausted`, when no number is left.
    pub fn reserve(
        self: &Arc<Self>,
        tenant: TenantId,
        lineage: Lineage,
        received: Moment,
    ) -> Result<JournalReservation, PlatformError> {
        let latch = Arc::new(StopLatch::new());
        let record = Arc::new(Record::new(tenant, lineage, received, Arc::clone(&latch)));
        let mut evicted = Evictions::default();
        let reserved = self.lock().reserve(&record, received.monotonic, &self.limits, &mut evicted);
        drop(evicted);
        match reserved {
            Ok(slot) => Ok(JournalReservation::new(Arc::clone(self), record, slot, latch)),
            Err(refused) => Err(refused.error(record.activation_id())),
        }
    }

    /// How an activation of `tenant` stands.
    #[must_use]
    pub fn status(&self, tenant: &TenantId, activation_id: &ActivationId, now: Instant) -> Lookup<ActivationStatus> {
        self.find(tenant, activation_id, now).map(|record| record.status())
    }

    /// The events of an activation of `tenant`, in order.
    #[must_use]
    pub fn events(&self, tenant: &TenantId, activation_id: &ActivationId, now: Instant) -> Lookup<Vec<LifecycleEvent>> {
        self.progress(tenant, activation_id, now).map(|progress| progress.events().collect())
    }

    /// The course of an activation of `tenant` so far.
    #[must_use]
    pub fn progress(&self, tenant: &TenantId, activation_id: &ActivationId, now: Instant) -> Lookup<Progress> {
        self.find(tenant, activation_id, now).map(|record| record.progress())
    }

    /// Watches an activation of `tenant`, which is woken for at every event from the first on.
    ///
    /// # Errors
    /// Retryable `resource-exhausted`, detail `activation.watchers-exhausted`, when as many watch as may; the same for an
    /// activation that there is and for one that there is not.
    pub fn watch(
        self: &Arc<Self>,
        tenant: &TenantId,
        activation_id: &ActivationId,
        now: Instant,
    ) -> Result<Lookup<ActivationWatch>, PlatformError> {
        let permit = Permit::take(self)?;
        Ok(self.find(tenant, activation_id, now).map(|record| ActivationWatch::new(record, permit)))
    }

    /// How many watches there are.
    #[must_use]
    pub fn watchers(&self) -> usize {
        self.watches.alive()
    }

    /// Cancels an activation of `tenant`. The first accepted reason is kept, cut to
    /// [`REASON_BYTES_MAX`](crate::cancel::REASON_BYTES_MAX). Accepted says that the activation's end will be a
    /// cancelled one, unless its cell cannot be disposed of; not that anything has been cleaned up.
    pub fn cancel(
        &self,
        tenant: &TenantId,
        activation_id: &ActivationId,
        reason: &str,
        now: Instant,
    ) -> CancelDisposition {
        let Lookup::Found(record) = self.find(tenant, activation_id, now) else { return CancelDisposition::NotFound };
        let (disposition, latch) = record.cancel(reason);
        if let Some(latch) = latch {
            latch.request_cancel();
        }
        disposition
    }

    /// Cancels every activation that is under way, and says how many cancels were accepted. For a node that stops: the
    /// lock is held while all records are looked at.
    #[must_use]
    pub fn cancel_all(&self, reason: &str) -> usize {
        let under_way = self.lock().under_way();
        let accepted = under_way.iter().filter(|record| {
            let (disposition, latch) = record.cancel(reason);
            if let Some(latch) = latch {
                latch.request_cancel();
            }
            matches!(disposition, CancelDisposition::Accepted)
        });
        accepted.count()
    }

    /// A page of the activations of `tenant`, newest first: at most `rows` or [`PAGE_ROWS_MAX`] lines, from `from` on or
    /// from the newest.
    #[must_use]
    pub fn list(&self, tenant: &TenantId, from: Option<PageCursor>, rows: usize, now: Instant) -> ActivationPage {
        let before = from.map_or(u64::MAX, |PageCursor(before)| before);
        let rows = rows.clamp(1, PAGE_ROWS_MAX);
        let (records, next) =
            self.lock().page(tenant, before, (rows, PAGE_ROWS_MAX), now, self.limits.config.terminal_retention);
        ActivationPage { rows: records.iter().map(|record| record.summary()).collect(), next: next.map(PageCursor) }
    }

    /// Evicts up to 1,024 records that have expired by `now`, and says how many it did. Reservations do the same
    /// little by little, and no answer shows an expired record: this only gives memory back while nothing arrives.
    pub fn sweep(&self, now: Instant) -> usize {
        let mut evicted = Evictions::default();
        self.lock().expire(now, self.limits.config.terminal_retention, SWEEP_MAX, &mut evicted);
        evicted.len()
    }

    /// The counters, in constant time.
    #[must_use]
    pub fn snapshot(&self) -> JournalSnapshot {
        self.lock().snapshot()
    }

    /// Recounts every record and compares with the counters and the bounds. For tests and for a node that drains: the lock
    /// is held for as long as it takes.
    ///
    /// # Errors
    /// The first [`JournalDiscrepancy`].
    pub fn audit(&self) -> Result<JournalSnapshot, JournalDiscrepancy> {
        self.lock().audit(&self.limits)
    }

    fn settle(&self, slot: Slot, at: Instant, bytes: u64) {
        let mut evicted = Evictions::default();
        self.lock().settle(slot, at, bytes, &self.limits, &mut evicted);
        drop(evicted);
    }

    fn latest(&self, fallback: Instant) -> Instant {
        self.lock().latest(fallback)
    }

    fn find(&self, tenant: &TenantId, activation_id: &ActivationId, now: Instant) -> Lookup<Arc<Record>> {
        self.lock().find(tenant, activation_id, now, self.limits.config.terminal_retention)
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(latent_loom)))]
mod tests;
