//! The sixth state: the result is decided and the run is gone; the cell is still to be disposed of.

use latent_activation::{DispositionFailure, Evidence};
use latent_core::{BudgetConsumption, ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::ExecutionCleanup;
use latent_scheduler::fair::{Disposed, Entered};

use super::owner::Owner;
use super::services::Services;
use super::settled::Settled;
use super::stops::{Answer, within};
use crate::contain::pool_panicked;
use crate::names::{bounded, readable};

/// A decided result and the cell. Dropping it quarantines the cell, then refunds the quota.
pub(super) struct Ended<'s> {
    pub(super) services: &'s Services,
    pub(super) entered: Entered,
    pub(super) cleanup: ExecutionCleanup,
    pub(super) evidence: Evidence,
    pub(super) consumption: BudgetConsumption,
    pub(super) owner: Owner,
}

impl Ended<'_> {
    /// Releases the cell with its proof, and quarantines it without. Exactly one attempt; its failure joins the
    /// evidence, where it beats everything. A pool that does not answer within the grace, or panics, has failed: it is
    /// left with a lease that was dropped, which is a quarantine.
    pub(super) async fn dispose(self) -> Box<Settled> {
        let Self { services, entered, cleanup, mut evidence, consumption, owner } = self;
        let cell = bounded(entered.lease().cell());
        let grace = services.config.cleanup_grace;
        let (operation, answer) = match cleanup {
            ExecutionCleanup::Reusable => ("release", within(grace, entered.release()).await),
            ExecutionCleanup::Unproven { reason } => {
                ("quarantine", within(grace, entered.quarantine(readable(reason))).await)
            }
        };
        let (failed, permit) = match answer {
            Answer::Came(Disposed { result, permit }) => (result.err(), Some(permit)),
            Answer::Panicked => (Some(pool_panicked(operation)), None),
            Answer::Missing => (Some(unanswered(operation)), None),
        };
        evidence.disposition_failure = failed.map(|cause| match cleanup {
            ExecutionCleanup::Reusable => DispositionFailure::Release { cell, cause },
            ExecutionCleanup::Unproven { .. } => DispositionFailure::Quarantine { cell, cause },
        });
        let settled = Settled::ended(owner, evidence, consumption);
        match permit {
            Some(permit) => settled.holding(permit.into_hold()),
            None => settled,
        }
    }
}

fn unanswered(operation: &'static str) -> PlatformError {
    let detail = ErrorDetail::new("activation.pool-silent").with("operation", operation);
    PlatformError::new(PlatformErrorCode::Unavailable, "the cell pool did not answer within the cleanup grace")
        .with_detail(detail)
}
