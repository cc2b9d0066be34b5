//! The sixth state: the result is decided and the run is gone; the cell is still to be disposed of.

use std::pin::pin;

use latent_activation::{DispositionFailure, Evidence};
use latent_core::{BudgetConsumption, CellId, ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::ExecutionCleanup;
use latent_scheduler::admission::ExecutionPermit;
use latent_scheduler::fair::{Disposed, Entered};

use super::owner::Owner;
use super::services::Services;
use super::settled::Settled;
use super::stops::{Answer, within};
use crate::contain::pool_panicked;
use crate::names::readable;

/// A decided result and the cell. Dropping it quarantines the cell, then refunds the quota.
pub(super) struct Ended<'s> {
    pub(super) services: &'s Services,
    /// There until it is disposed of.
    pub(super) entered: Option<Entered>,
    pub(super) cell: CellId,
    pub(super) cleanup: ExecutionCleanup,
    pub(super) evidence: Evidence,
    pub(super) consumption: BudgetConsumption,
    pub(super) owner: Owner,
}

impl Ended<'_> {
    /// Releases the cell with its proof, and quarantines it without. Exactly one attempt. A pool that does not answer
    /// within the grace, or panics, has failed: it is left with a lease that was dropped, which is a quarantine.
    pub(super) async fn dispose(&mut self) -> Answer<Disposed> {
        let entered = self.entered.take().expect("a cell is disposed of once");
        let grace = self.services.config.cleanup_grace;
        match self.cleanup {
            ExecutionCleanup::Reusable => within(grace, pin!(Some(entered.release()))).await,
            ExecutionCleanup::Unproven { reason } => {
                within(grace, pin!(Some(entered.quarantine(readable(reason))))).await
            }
        }
    }

    /// Settles. A failure of the disposition joins the evidence, where it beats everything.
    pub(super) fn settle(self, answer: Answer<Disposed>) -> Settled {
        let Self { services: _, entered: _, cell, cleanup, mut evidence, consumption, owner } = self;
        let operation = match cleanup {
            ExecutionCleanup::Reusable => "release",
            ExecutionCleanup::Unproven { .. } => "quarantine",
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
        Settled::ended(owner, evidence, consumption, permit.map(ExecutionPermit::into_hold))
    }
}

fn unanswered(operation: &'static str) -> PlatformError {
    let detail = ErrorDetail::new("activation.pool-silent").with("operation", operation);
    PlatformError::new(PlatformErrorCode::Unavailable, "the cell pool did not answer within the cleanup grace")
        .with_detail(detail)
}
