//! The reservation of one activation, first without a cell and then with one.
//!
//! Invariant: what was reserved is given back exactly once, when the permit, or the hold that is left of it, is
//! dropped. A cell that must be quarantined is quarantined before that; the order is the holder's.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use latent_core::{ActivationId, CellClass, ResourceBudget, TenantId};

use super::books::{Claim, Stage};
use super::ledger::QuotaLedger;
use super::terms::Terms;

/// The bare reservation: keeps the quota until it is dropped.
#[must_use = "dropping the hold refunds its quota at once"]
#[derive(Debug)]
pub struct QuotaHold(Box<Reserved>);

/// Boxed, because it is handed on many times and looked at rarely.
struct Reserved {
    ledger: Arc<QuotaLedger>,
    claim: Claim,
    stage: Stage,
    terms: Terms,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.ledger.refund(&self.claim, self.stage);
    }
}

/// The right to wait for a cell, with what was granted (reference, section 4).
///
/// It cannot be duplicated:
///
/// ```compile_fail,E0277
/// fn needs_clone<T: Clone>() {}
/// needs_clone::<latent_scheduler::admission::AdmissionPermit>();
/// ```
#[must_use = "dropping the permit refunds its quota at once"]
#[derive(Debug)]
pub struct AdmissionPermit(QuotaHold);

/// The right to run, with what was granted.
#[must_use = "dropping the permit refunds its quota at once"]
#[derive(Debug)]
pub struct ExecutionPermit(QuotaHold);

impl AdmissionPermit {
    pub(super) fn new(ledger: Arc<QuotaLedger>, claim: Claim, terms: Terms) -> Self {
        Self(QuotaHold(Box::new(Reserved { ledger, claim, stage: Stage::Queued, terms })))
    }

    /// Turns the queued reservation into a running one. The room for it was reserved at admission, so this cannot
    /// fail.
    pub fn into_running(mut self) -> ExecutionPermit {
        let Self(QuotaHold(reserved)) = &mut self;
        reserved.ledger.start(&reserved.claim);
        reserved.stage = Stage::Running;
        ExecutionPermit(self.0)
    }
}

macro_rules! permit {
    ($permit:ident) => {
        impl $permit {
            /// What the activation may use.
            #[must_use]
            pub fn granted(&self) -> &ResourceBudget {
                &self.terms().granted
            }

            /// When it must have ended, by the monotonic clock.
            #[must_use]
            pub fn deadline(&self) -> Instant {
                self.terms().deadline
            }

            /// The class of its cell.
            #[must_use]
            pub fn class(&self) -> CellClass {
                self.terms().class
            }

            /// All that it was admitted with.
            #[must_use]
            pub fn terms(&self) -> &Terms {
                &self.0.0.terms
            }

            /// Whose activation it is.
            #[must_use]
            pub fn tenant(&self) -> &TenantId {
                &self.0.0.claim.tenant
            }

            /// Which activation.
            #[must_use]
            pub fn activation_id(&self) -> &ActivationId {
                &self.0.0.claim.activation_id
            }

            /// Keeps the quota and gives up everything else.
            pub fn into_hold(self) -> QuotaHold {
                self.0
            }
        }
    };
}

permit!(AdmissionPermit);
permit!(ExecutionPermit);

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserved").field("claim", &self.claim).field("stage", &self.stage).finish_non_exhaustive()
    }
}
