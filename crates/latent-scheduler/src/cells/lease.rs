//! The lease of one cell, and what it records.
//!
//! Invariant: a lease is armed from its minting until its issuer disarms it; an armed lease that goes away tells
//! its issuer exactly once.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use latent_core::{ActivationId, CellClass, CellId, NodeId, ResourceBudget, TenantId};

use super::pool::FixedLease;
use super::port::CellLeaseLifecycle;

/// What a lease is about. Immutable once the lease is minted, and compared whole when it comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellLeaseIdentity {
    /// The activation that holds the cell.
    pub activation_id: ActivationId,
    /// Whose activation it is.
    pub tenant: TenantId,
    /// Which cell.
    pub cell: CellId,
    /// The node that owns the cell.
    pub node: NodeId,
    /// The cell's class.
    pub class: CellClass,
    /// How many leases the cell has had, this one included.
    pub generation: u64,
    /// What the activation was granted.
    pub budget: ResourceBudget,
    /// The wall-clock deadline the cell was asked for with.
    pub expires_at: Option<SystemTime>,
}

/// The right to run one activation in one cell (`fixed-cell-pool.md`, "Lease disposition").
///
/// It ends in one of three ways: released, quarantined, or dropped, and dropping counts as quarantining.
///
/// A lease cannot be duplicated:
///
/// ```compile_fail,E0277
/// fn needs_clone<T: Clone>() {}
/// needs_clone::<latent_scheduler::CellLease>();
/// ```
///
/// nor written down by hand, only minted by an issuer that keeps the lifecycle:
///
/// ```compile_fail,E0451
/// fn forge(identity: latent_scheduler::CellLeaseIdentity) -> latent_scheduler::CellLease {
///     latent_scheduler::CellLease { identity: std::sync::Arc::new(identity), issuer: None }
/// }
/// ```
#[must_use = "a dropped lease takes its cell out of reuse; release or quarantine it"]
pub struct CellLease {
    // Shared with the issuer's own record, so that comparing an honest lease compares one pointer.
    identity: Arc<CellLeaseIdentity>,
    issuer: Option<Issuer>,
}

/// Who hears of the lease's end. The crate's own pool needs no allocation for it.
enum Issuer {
    Fixed(FixedLease),
    External(Arc<dyn CellLeaseLifecycle>),
}

impl Issuer {
    fn lifecycle(&self) -> &dyn CellLeaseLifecycle {
        match self {
            Self::Fixed(lease) => lease,
            Self::External(lifecycle) => &**lifecycle,
        }
    }
}

impl CellLease {
    /// Mints an armed lease. The issuer keeps a clone of `lifecycle`, to disarm the lease when it comes back.
    pub fn new(identity: CellLeaseIdentity, lifecycle: Arc<dyn CellLeaseLifecycle>) -> Self {
        Self { identity: Arc::new(identity), issuer: Some(Issuer::External(lifecycle)) }
    }

    /// Mints an armed lease of the fixed pool.
    pub(super) fn fixed(identity: Arc<CellLeaseIdentity>, lease: FixedLease) -> Self {
        Self { identity, issuer: Some(Issuer::Fixed(lease)) }
    }

    /// Disarms the lease if `lifecycle` is the very `Arc` it was minted with; an equal one does not do. `true`:
    /// it was armed and no longer is, so dropping it now tells nobody.
    ///
    /// An issuer calls this after it has recorded the release or quarantine, never before.
    pub fn disarm_lifecycle(&mut self, lifecycle: &Arc<dyn CellLeaseLifecycle>) -> bool {
        let own = matches!(&self.issuer, Some(Issuer::External(own)) if Arc::as_ptr(own).addr() == Arc::as_ptr(lifecycle).addr());
        if own {
            self.issuer = None;
        }
        own
    }

    /// Gives the lease back at once, without a future, on the word that nothing has run in the cell. The issuer
    /// hears `on_unaccepted`; the fixed pool reuses the cell, others may be more careful.
    ///
    /// For whoever stands between the pool and the activation, and loses the activation before it starts.
    pub fn return_unaccepted(mut self) {
        if let Some(issuer) = self.issuer.take() {
            issuer.lifecycle().on_unaccepted();
        }
    }

    /// The fixed pool's hold on the lease, if that is armed.
    pub(super) fn fixed_lease(&self) -> Option<&FixedLease> {
        match &self.issuer {
            Some(Issuer::Fixed(lease)) => Some(lease),
            _ => None,
        }
    }

    /// Disarms a lease whose end the fixed pool has recorded.
    pub(super) fn disarm_fixed(mut self) {
        self.issuer = None;
    }

    /// Everything the lease records.
    #[must_use]
    pub fn identity(&self) -> &CellLeaseIdentity {
        &self.identity
    }

    /// The activation that holds the cell.
    #[must_use]
    pub fn activation_id(&self) -> &ActivationId {
        &self.identity.activation_id
    }

    /// Whose activation it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.identity.tenant
    }

    /// Which cell.
    #[must_use]
    pub fn cell(&self) -> &CellId {
        &self.identity.cell
    }

    /// The node that owns the cell.
    #[must_use]
    pub fn node(&self) -> &NodeId {
        &self.identity.node
    }

    /// The cell's class.
    #[must_use]
    pub fn class(&self) -> CellClass {
        self.identity.class
    }

    /// How many leases the cell has had, this one included.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.identity.generation
    }

    /// What the activation was granted.
    #[must_use]
    pub fn budget(&self) -> &ResourceBudget {
        &self.identity.budget
    }

    /// The wall-clock deadline the cell was asked for with.
    #[must_use]
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.identity.expires_at
    }

    /// The same, as the fixed pool recorded it.
    pub(super) fn shared_identity(&self) -> &Arc<CellLeaseIdentity> {
        &self.identity
    }

    /// Lets a test alter what the lease claims.
    #[cfg(test)]
    pub(super) fn identity_mut(&mut self) -> &mut CellLeaseIdentity {
        Arc::make_mut(&mut self.identity)
    }

    /// Makes the second lease that must not exist, for tests of what happens to it.
    #[cfg(test)]
    pub(super) fn forged_twin(&self) -> Self {
        let lease = self.fixed_lease().expect("only the fixed pool's leases are forged").forged_twin();
        Self::fixed(self.identity.clone(), lease)
    }
}

impl Drop for CellLease {
    fn drop(&mut self) {
        if let Some(issuer) = self.issuer.take() {
            issuer.lifecycle().on_abandoned();
        }
    }
}

impl fmt::Debug for CellLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellLease")
            .field("identity", &self.identity)
            .field("armed", &self.issuer.is_some())
            .finish_non_exhaustive()
    }
}
