//! The fixed pool: one short lock around the core, and what must happen outside of it.
//!
//! Invariant: under the lock only the core runs. Clocks are read before it; wakers are woken and dropped, and
//! changes announced, after it.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use latent_core::{ActivationId, CellClass, NodeId, PlatformError, TenantId, WallClock};

#[cfg(latent_loom)]
use loom::sync::Mutex;
#[cfg(not(latent_loom))]
use std::sync::Mutex;

use super::acquire;
use super::changes::{CellPoolChanges, ChangeSignal};
use super::core::{Admission, Aftermath, PoolCore, WhenBusy};
use super::lease::CellLease;
use super::port::{CellLeaseLifecycle, CellPool, CellPoolSnapshot, CellRequest};
use super::quarantine::{QuarantineReason, QuarantinedCell};
use super::refusal::{self, ReturnRefusal};
use super::slots::{Grant, LeaseKey, POOL_CAPACITY_MAX};

/// What a fixed pool is made of. Nothing of it changes later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedCellPoolConfig {
    /// The node that owns the cells.
    pub node: NodeId,
    /// The class of every cell.
    pub class: CellClass,
    /// How many cells: 1 to [`POOL_CAPACITY_MAX`], about 200 bytes each.
    pub capacity: usize,
    /// How many acquisitions may wait, about 400 bytes each while they do. With 0 none waits.
    pub queue_capacity: usize,
}

/// A fixed number of cells of one class, first come, first served (`fixed-cell-pool.md`).
pub struct FixedCellPool {
    config: FixedCellPoolConfig,
    shared: Arc<Shared>,
}

impl FixedCellPool {
    /// Makes the pool, all its cells idle.
    ///
    /// # Errors
    /// `invalid-argument`, detail `cell-pool.invalid-capacity`, for no cells or more than [`POOL_CAPACITY_MAX`].
    pub fn new(config: FixedCellPoolConfig, clock: Arc<dyn WallClock>) -> Result<Self, PlatformError> {
        let FixedCellPoolConfig { ref node, class, capacity, queue_capacity } = config;
        if !(1..=POOL_CAPACITY_MAX).contains(&capacity) {
            return Err(refusal::invalid_capacity(capacity));
        }
        let core = Mutex::new(PoolCore::new(node.clone(), class, capacity, queue_capacity));
        Ok(Self { config, shared: Arc::new(Shared { core, clock, changes: ChangeSignal::default() }) })
    }

    /// What the pool was made of.
    #[must_use]
    pub fn config(&self) -> &FixedCellPoolConfig {
        &self.config
    }

    /// Leases an idle cell at once, or answers `None` and changes nothing. Never queues, and never overtakes
    /// anybody who does: while somebody waits, no cell is idle.
    ///
    /// # Errors
    /// As [`CellPool::acquire`], except for a full queue.
    pub fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError> {
        match self.shared.admit(request, WhenBusy::Return) {
            Admission::Granted(grant) => Ok(Some(self.shared.lease(grant))),
            Admission::Busy => Ok(None),
            Admission::Refused(refusal) => Err(refusal.into()),
            Admission::Queued(_) => unreachable!("a request that may not queue is never queued"),
        }
    }

    /// Subscribes to notifications that another [`Self::try_acquire`] may fare differently.
    #[must_use]
    pub fn changes(&self) -> CellPoolChanges {
        self.shared.changes.subscribe()
    }

    /// Has `listener` woken after each change, from whatever thread makes it and without a lock: for a scheduler
    /// that has no task to wait in. One listener a pool, for good.
    ///
    /// # Errors
    /// `invalid-argument`, detail `cell-pool.listener-taken`, if the pool has one.
    pub fn listen(&self, listener: Waker) -> Result<(), PlatformError> {
        self.shared.changes.listen(listener)
    }

    /// Lists the cells that are out of reuse and why, in time proportional to the capacity.
    #[must_use]
    pub fn quarantined_cells(&self) -> Vec<QuarantinedCell> {
        self.shared.decide(|core| core.slots().list_quarantined())
    }

    /// Counts everything out, in time proportional to capacity and queue.
    ///
    /// # Errors
    /// `internal`, naming the broken rule. That is a defect of the pool.
    pub fn audit(&self) -> Result<CellPoolSnapshot, PlatformError> {
        self.shared.decide(|core| core.audit()).map_err(|rule| {
            PlatformError::new(
                latent_core::PlatformErrorCode::Internal,
                format_args!("the cell pool's books are wrong: {rule}; restart the node and report this"),
            )
        })
    }

    fn own<'a>(&self, lease: &'a CellLease) -> Result<&'a LeaseKey, ReturnRefusal> {
        match lease.fixed_lease() {
            Some(fixed) if Arc::ptr_eq(&fixed.shared, &self.shared) => Ok(&fixed.key),
            _ => Err(ReturnRefusal::ForeignLease),
        }
    }

    /// Records a lease's end; only then is the lease disarmed. A refused lease stays armed and drops.
    fn end(
        &self,
        lease: CellLease,
        decision: impl FnOnce(&mut PoolCore<Waker>, &LeaseKey, &CellLease) -> Result<Aftermath<Waker>, ReturnRefusal>,
    ) -> Result<(), PlatformError> {
        let key = self.own(&lease)?;
        let aftermath = self.shared.decide(|core| decision(core, key, &lease))?;
        lease.disarm_fixed();
        self.shared.announce(aftermath);
        Ok(())
    }
}

impl CellPool for FixedCellPool {
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        Box::pin(acquire::acquire(&self.shared, request))
    }

    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        Box::pin(async move { self.end(lease, |core, key, lease| core.release(key, lease.shared_identity())) })
    }

    fn capacity(&self, class: CellClass) -> usize {
        if class == self.config.class { self.config.capacity } else { 0 }
    }

    fn available(&self, class: CellClass) -> usize {
        self.observations(class).available
    }

    fn cancel_waiting<'a>(
        &'a self,
        tenant: &'a TenantId,
        activation_id: &'a ActivationId,
    ) -> BoxFuture<'a, Result<bool, PlatformError>> {
        Box::pin(async move {
            let Some(aftermath) = self.shared.decide(|core| core.cancel(tenant, activation_id)) else {
                return Ok(false);
            };
            self.shared.announce(aftermath);
            Ok(true)
        })
    }

    fn quarantine<'a>(&'a self, lease: CellLease, reason: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        Box::pin(async move {
            let reason = QuarantineReason::requested(reason).ok_or_else(refusal::invalid_quarantine_reason)?;
            self.end(lease, |core, key, lease| core.quarantine(key, lease.shared_identity(), reason))
        })
    }

    fn observations(&self, class: CellClass) -> CellPoolSnapshot {
        if class == self.config.class {
            return self.shared.decide(|core| core.snapshot());
        }
        CellPoolSnapshot { class, capacity: 0, available: 0, queue_depth: 0, active_leases: 0, quarantined: 0 }
    }
}

impl fmt::Debug for FixedCellPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedCellPool")
            .field("config", &self.config)
            .field("observations", &self.observations(self.config.class))
            .finish_non_exhaustive()
    }
}

/// What the pool shares with its waiters and its leases.
pub(super) struct Shared {
    core: Mutex<PoolCore<Waker>>,
    clock: Arc<dyn WallClock>,
    changes: ChangeSignal,
}

impl Shared {
    /// Makes one decision under the lock. What it hands out is used and dropped after the lock is let go.
    pub(super) fn decide<R>(&self, decision: impl FnOnce(&mut PoolCore<Waker>) -> R) -> R {
        // The core does not panic halfway, so its state is sound even after a panic elsewhere in a holder.
        decision(&mut self.core.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub(super) fn admit(&self, request: CellRequest, busy: WhenBusy) -> Admission {
        let now = self.now_for(request.expires_at);
        self.decide(|core| core.admit(request, now, busy))
    }

    /// The wall time, if there is a deadline to compare it with.
    pub(super) fn now_for(&self, expires_at: Option<SystemTime>) -> Option<SystemTime> {
        expires_at.map(|_| self.clock.now())
    }

    /// Makes the lease of a grant. Nothing can fail between the decision and this.
    pub(super) fn lease(self: &Arc<Self>, grant: Grant) -> CellLease {
        CellLease::fixed(grant.identity, FixedLease { shared: Arc::clone(self), key: grant.key })
    }

    /// Aftermath those whom a decision settled, and tells subscribers.
    pub(super) fn announce(&self, aftermath: Aftermath<Waker>) {
        aftermath.wake.into_iter().for_each(Waker::wake);
        drop(aftermath.discard);
        if aftermath.cells_changed {
            self.changes.notify();
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for Shared {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.decide(|core| assert_eq!(core.audit().map(drop), Ok(()), "the books are right to the end"));
        }
    }
}

/// The fixed pool's own lifecycle: which pool, and which lease of it.
pub(super) struct FixedLease {
    shared: Arc<Shared>,
    key: LeaseKey,
}

impl FixedLease {
    #[cfg(test)]
    pub(super) fn forged_twin(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), key: self.key.clone() }
    }
}

impl CellLeaseLifecycle for FixedLease {
    fn on_abandoned(&self) {
        let aftermath = self.shared.decide(|core| core.abandon(&self.key));
        self.shared.announce(aftermath);
    }

    fn on_unaccepted(&self) {
        let aftermath = self.shared.decide(|core| core.return_unaccepted(&self.key));
        self.shared.announce(aftermath);
    }
}

#[cfg(test)]
mod tests;
