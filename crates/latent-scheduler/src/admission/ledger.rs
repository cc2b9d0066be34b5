//! The quota ledger of a node: the books behind one short lock.
//!
//! Invariant: under the lock only the books run. There is one ledger a node, and it outlives every policy view.

use std::fmt;

use latent_core::{CellClass, PlatformError, PlatformErrorCode, TenantId};

#[cfg(latent_loom)]
use loom::sync::Mutex;
#[cfg(not(latent_loom))]
use std::sync::Mutex;

use super::books::{Books, Claim, Stage, Usage};
use super::denial::Denial;
use super::terms::Proposal;

/// The most live activations that a node's quota may allow. About 300 bytes each while they live.
pub const LIVE_MAX: u64 = 1_000_000;

/// What a node has reserved at one instant, read in constant time.
pub type LedgerSnapshot = Usage;

/// Counts what every activation has reserved, from its admission to its refund (reference, section 4). Shared by
/// all admissions of a node; replacing the policy view keeps it.
#[derive(Default)]
pub struct QuotaLedger(Mutex<Books>);

impl QuotaLedger {
    /// A ledger without reservations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the node has reserved.
    #[must_use]
    pub fn snapshot(&self) -> LedgerSnapshot {
        self.decide(|books| books.node())
    }

    /// What the activations of one class of cell have reserved.
    #[must_use]
    pub fn class(&self, class: CellClass) -> LedgerSnapshot {
        self.decide(|books| books.class(class))
    }

    /// What one tenant has reserved.
    #[must_use]
    pub fn tenant(&self, tenant: &TenantId) -> LedgerSnapshot {
        self.decide(|books| books.tenant(tenant))
    }

    /// Counts everything out, in time proportional to the tenants with reservations.
    ///
    /// # Errors
    /// `internal`, naming the broken rule. That is a defect of the ledger or of whoever holds its permits.
    pub fn audit(&self) -> Result<LedgerSnapshot, PlatformError> {
        self.decide(|books| books.audit()).map_err(|rule| {
            PlatformError::new(
                PlatformErrorCode::Internal,
                format_args!("the quota ledger's books are wrong: {rule}; restart the node and report this"),
            )
        })
    }

    pub(super) fn reserve(&self, proposal: &mut Proposal<'_>) -> Result<(), Denial> {
        let Proposal { claim, limits, feasibility, .. } = proposal;
        self.decide(|books| books.reserve(claim, limits, *feasibility))
    }

    pub(super) fn start(&self, claim: &Claim) {
        self.decide(|books| books.start(claim));
    }

    pub(super) fn refund(&self, claim: &Claim, stage: Stage) {
        self.decide(|books| books.refund(claim, stage));
    }

    pub(super) fn decide<R>(&self, decision: impl FnOnce(&mut Books) -> R) -> R {
        // The books do not panic halfway, so they are sound even after a panic elsewhere in a holder.
        decision(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[cfg(debug_assertions)]
impl Drop for QuotaLedger {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.decide(|books| assert_eq!(books.audit().map(drop), Ok(()), "the books are right to the end"));
        }
    }
}

impl fmt::Debug for QuotaLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QuotaLedger").field(&self.snapshot()).finish()
    }
}
