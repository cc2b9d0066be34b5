//! The open seam: what a pool of cells offers, and what the issuer of a lease hears about it.
//!
//! Invariant: the four original methods are all that an implementation must provide; the later ones have
//! defaults that promise nothing the implementation does not do.

use std::time::SystemTime;

use futures_util::future::BoxFuture;
use latent_core::{ActivationId, CellClass, PlatformError, ResourceBudget, TenantId};

use super::lease::CellLease;
use super::refusal;

/// What an activation asks of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRequest {
    /// Which activation will run in the cell. At most one live request or lease a tenant and id.
    pub activation_id: ActivationId,
    /// Whose activation it is.
    pub tenant: TenantId,
    /// The class of cell wanted.
    pub class: CellClass,
    /// What the activation is granted; recorded in the lease, not interpreted by the pool.
    pub budget: ResourceBudget,
    /// The wall time after which the cell is of no use. The pool acts on this deadline only, not on the
    /// budget's, so that a caller with a monotonic deadline of its own can pass `None`.
    pub expires_at: Option<SystemTime>,
}

/// Counters of one class of cells, taken in constant time at one instant.
///
/// `available + active_leases + quarantined = capacity`. A cell that is promised to a waiter which has not yet
/// picked it up counts as an active lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPoolSnapshot {
    /// The class the counters are about.
    pub class: CellClass,
    /// Cells that exist.
    pub capacity: usize,
    /// Cells that can be leased now.
    pub available: usize,
    /// Acquisitions that wait for a cell.
    pub queue_depth: usize,
    /// Cells that are leased or promised.
    pub active_leases: usize,
    /// Cells that are out of reuse for good.
    pub quarantined: usize,
}

/// Hands out cells and takes them back (`fixed-cell-pool.md`, "Open pool seam and affine leases").
pub trait CellPool: Send + Sync {
    /// Waits for a cell of the wanted class. Nothing is asked for before the future is first polled; dropping
    /// the future gives up the place in the queue and any cell already promised to it.
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>>;

    /// Takes a cell back into reuse, after cleanup was proved. A refused lease is dropped, whereupon its issuer
    /// takes the cell out of reuse.
    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>>;

    /// How many cells of `class` there are; 0 for a class the pool does not hold.
    fn capacity(&self, class: CellClass) -> usize;

    /// How many cells of `class` can be leased now; 0 for a class the pool does not hold.
    fn available(&self, class: CellClass) -> usize;

    /// Takes an acquisition out of the queue. `true`: it was waiting, and will never get a cell; `false`: no
    /// such activation waits, and whoever holds a lease keeps it.
    ///
    /// The default answers with a non-retryable `unavailable`, detail `cell-pool.unsupported-operation`.
    fn cancel_waiting<'a>(
        &'a self,
        tenant: &'a TenantId,
        activation_id: &'a ActivationId,
    ) -> BoxFuture<'a, Result<bool, PlatformError>> {
        let _ = (tenant, activation_id);
        Box::pin(async { Err(refusal::unsupported_operation("cancel_waiting")) })
    }

    /// Takes a cell out of reuse for good, because cleanup could not be proved. A refused lease is dropped, to
    /// the same effect.
    ///
    /// The default drops the lease and answers with a non-retryable `unavailable`, detail
    /// `cell-pool.unsupported-operation`.
    fn quarantine<'a>(&'a self, lease: CellLease, reason: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        let _ = reason;
        Box::pin(async move {
            drop(lease);
            Err(refusal::unsupported_operation("quarantine"))
        })
    }

    /// Counters of `class` in constant time; all zero for a class the pool does not hold.
    ///
    /// The default knows capacity and availability and takes the difference for active leases.
    fn observations(&self, class: CellClass) -> CellPoolSnapshot {
        let capacity = self.capacity(class);
        let available = self.available(class).min(capacity);
        let active_leases = capacity - available;
        CellPoolSnapshot { class, capacity, available, queue_depth: 0, active_leases, quarantined: 0 }
    }
}

/// The issuer's capability over one lease. The issuer keeps the `Arc` it minted the lease with: only that very
/// `Arc` can disarm the lease ([`CellLease::disarm_lifecycle`]).
///
/// Both methods run where the lease is dropped, so they must be short, must not block and must not panic.
pub trait CellLeaseLifecycle: Send + Sync {
    /// The lease was dropped while live: nobody proved that its cell is clean. Take the cell out of reuse.
    fn on_abandoned(&self);

    /// The lease came back before anything ran in its cell, so the cell may be reused. By default as bad as
    /// abandoned.
    fn on_unaccepted(&self) {
        self.on_abandoned();
    }
}
