//! A cell for an activation, first not entered and then entered.
//!
//! Invariant: the cell is disposed of exactly once: returned while nothing has run in it, and otherwise released
//! with proof or quarantined. Before that its tenant has one running cell less, so that the returning cell goes to
//! whose turn it is; after it the quota is refunded.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use latent_core::{PlatformError, TenantId};

use super::class::Class;
use super::port::NonqueueingCellPool;
use crate::admission::ExecutionPermit;
use crate::cells::CellLease;

/// A cell that the backend has not entered (`activation-lifecycle.md`, "Cancellation, cleanup, and accounting").
/// Dropping it returns the cell for reuse at once, and then refunds the quota.
///
/// It cannot be duplicated:
///
/// ```compile_fail,E0277
/// fn needs_clone<T: Clone>() {}
/// needs_clone::<latent_scheduler::fair::Assignment>();
/// ```
#[must_use = "a dropped assignment returns its cell"]
#[derive(Debug)]
pub struct Assignment {
    // Dropped in this order.
    seat: Seat,
    lease: Unentered,
    permit: ExecutionPermit,
    since: Instant,
}

/// A cell that the backend has entered. Dropping it quarantines the cell, and then refunds the quota.
#[must_use = "a dropped run quarantines its cell; release it with the backend's proof"]
#[derive(Debug)]
pub struct Entered {
    // Dropped in this order.
    seat: Seat,
    lease: CellLease,
    permit: ExecutionPermit,
}

/// What is left once a cell has been disposed of.
#[must_use = "dropping the permit refunds the quota"]
#[derive(Debug)]
pub struct Disposed {
    /// What the pool said. After an error the cell is out of reuse.
    pub result: Result<(), PlatformError>,
    /// The quota, to be refunded when everything else is settled.
    pub permit: ExecutionPermit,
}

impl Assignment {
    pub(super) fn new(seat: Seat, lease: Unentered, permit: ExecutionPermit, since: Instant) -> Self {
        Self { seat, lease, permit, since }
    }

    /// When it was made: the time of the last look for a stop.
    #[must_use]
    pub fn since(&self) -> Instant {
        self.since
    }

    /// The cell's lease.
    pub fn lease(&self) -> &CellLease {
        self.lease.0.as_ref().expect("the lease is there until the assignment ends")
    }

    /// What the activation was granted, and until when.
    pub fn permit(&self) -> &ExecutionPermit {
        &self.permit
    }

    /// Says that the backend enters now: from here on reuse needs its proof.
    pub fn enter(mut self) -> Entered {
        let lease = self.lease.0.take().expect("the lease is there until the assignment ends");
        Entered { lease, seat: self.seat, permit: self.permit }
    }

    /// Returns the cell, in which nothing has run, and keeps the quota.
    pub fn give_back(self) -> ExecutionPermit {
        let Self { lease, seat, permit, since: _ } = self;
        drop(seat);
        drop(lease);
        permit
    }
}

impl Entered {
    /// The cell's lease.
    pub fn lease(&self) -> &CellLease {
        &self.lease
    }

    /// What the activation was granted, and until when.
    pub fn permit(&self) -> &ExecutionPermit {
        &self.permit
    }

    /// Returns the cell for reuse, after the backend has proved its cleanup. Dropping the future before it is
    /// ready counts as dropping the run.
    pub fn release(self) -> impl Future<Output = Disposed> {
        let Self { lease, seat, permit } = self;
        let pool = seat.vacate();
        // Whenever the future is dropped, the lease goes before the permit: alone or with the pool's future.
        async move {
            let result = pool.release(lease).await;
            Disposed { result, permit }
        }
    }

    /// Takes the cell out of reuse, because cleanup could not be proved.
    pub fn quarantine(self, reason: &str) -> impl Future<Output = Disposed> {
        let Self { lease, seat, permit } = self;
        let pool = seat.vacate();
        async move {
            let result = pool.quarantine(lease, reason).await;
            Disposed { result, permit }
        }
    }
}

/// A lease in whose cell nothing has run: dropping it returns the cell.
#[derive(Debug)]
pub(super) struct Unentered(Option<CellLease>);

impl Unentered {
    pub(super) fn new(lease: CellLease) -> Self {
        Self(Some(lease))
    }
}

impl Drop for Unentered {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            lease.return_unaccepted();
        }
    }
}

/// One of the cells that a tenant runs in. Given up just before its lease ends; the pool's change that follows is
/// what drives the dispatch.
pub(super) struct Seat {
    class: Arc<Class>,
    tenant: TenantId,
}

impl Seat {
    /// The seat of a cell that the class's core counts as the tenant's already.
    pub(super) fn new(class: Arc<Class>, tenant: TenantId) -> Self {
        Self { class, tenant }
    }

    /// Gives the seat up, and names the pool that the lease goes to.
    fn vacate(self) -> Arc<dyn NonqueueingCellPool> {
        Arc::clone(&self.class.pool)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.class.finish(&self.tenant);
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("class", &self.class.size).field("tenant", &self.tenant).finish()
    }
}
