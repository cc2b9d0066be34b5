//! The sixth state: the result is decided and the run is gone; the cell is still to be disposed of.

use latent_activation::{DispositionFailure, Evidence};
use latent_core::{BudgetConsumption, CellId, ErrorDetail, PlatformError, PlatformErrorCode, ResolvedRevision};
use latent_executor::ExecutionCleanup;
use latent_scheduler::fair::{Disposed, Entered};

use super::owner::Owner;
use super::services::Services;
use super::settled::Settled;
use super::stops::within;
use crate::contain::{Foreign, pool_panicked};
use crate::names::readable;

/// A decided result and the cell. Dropping it quarantines the cell, then refunds the quota.
pub(super) struct Ended<'s> {
    pub(super) services: &'s Services,
    pub(super) entered: Entered,
    pub(super) cell: CellId,
    pub(super) cleanup: ExecutionCleanup,
    pub(super) evidence: Evidence,
    pub(super) consumption: BudgetConsumption,
    pub(super) resolved: ResolvedRevision,
    pub(super) owner: Owner,
}

impl Ended<'_> {
    /// Releases the cell with its proof, and quarantines it without. Exactly one attempt; its failure joins the
    /// evidence, where it beats everything. A pool that does not answer within the grace, or panics, has failed: it is
    /// left with a lease that was dropped, which is a quarantine.
    pub(super) async fn dispose(self) -> Box<Settled> {
        let Self { services, entered, cell, cleanup, mut evidence, consumption, resolved, owner } = self;
        let grace = services.config.cleanup_grace;
        let (operation, mut disposing) = match cleanup {
            ExecutionCleanup::Reusable => ("release", Foreign::new(boxed(entered.release()))),
            ExecutionCleanup::Unproven { reason } => {
                ("quarantine", Foreign::new(boxed(entered.quarantine(readable(reason)))))
            }
        };
        let answer = within(grace, &mut disposing, || pool_panicked(operation)).await;
        let let_go = disposing.let_go();
        let (failed, permit) = match answer {
            Some(Ok(Disposed { result, permit })) => (result.err(), Some(permit)),
            Some(Err(panicked)) => (Some(panicked), None),
            None => (Some(unanswered(operation)), None),
        };
        let failed = failed.or_else(|| (!let_go).then(|| pool_panicked(operation)));
        evidence.disposition_failure = failed.map(|cause| match cleanup {
            ExecutionCleanup::Reusable => DispositionFailure::Release { cell, cause },
            ExecutionCleanup::Unproven { .. } => DispositionFailure::Quarantine { cell, cause },
        });
        let settled = Settled::ended(owner, evidence, consumption).with_revision(resolved);
        match permit {
            Some(permit) => settled.holding(permit.into_hold()),
            None => settled,
        }
    }
}

fn boxed<'a>(disposing: impl Future<Output = Disposed> + Send + 'a) -> futures_util::future::BoxFuture<'a, Disposed> {
    Box::pin(disposing)
}

fn unanswered(operation: &'static str) -> PlatformError {
    let detail = ErrorDetail::new("activation.pool-silent").with("operation", operation);
    PlatformError::new(PlatformErrorCode::Unavailable, "the cell pool did not answer within the cleanup grace")
        .with_detail(detail)
}
