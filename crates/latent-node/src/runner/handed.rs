//! The last states: a result is handed over and the cell has to be disposed of; then nothing but the registration is
//! left, which goes last.

use std::time::Duration;

use latent_activation::{DispositionFailure, Evidence, conclude};
use latent_core::{BudgetConsumption, CellId};
use latent_executor::ExecutionCleanup;
use latent_scheduler::CellLease;

use super::activation::Activation;
use super::report::ActivationReport;
use crate::contain::{begin, finish, pool_panicked};
use crate::names::readable;

/// A decided result, and the lease that is still to be ended.
pub(super) struct Handed<'r> {
    pub(super) lease: CellLease,
    pub(super) cell: CellId,
    pub(super) cleanup: ExecutionCleanup,
    pub(super) evidence: Evidence,
    pub(super) consumption: BudgetConsumption,
    pub(super) queue_wait: Duration,
    pub(super) activation: Activation<'r>,
}

/// Nothing is owned any more but the registration.
pub(super) struct Settled<'r> {
    pub(super) evidence: Evidence,
    pub(super) cell: Option<CellId>,
    pub(super) consumption: BudgetConsumption,
    pub(super) queue_wait: Duration,
    pub(super) activation: Activation<'r>,
}

impl<'r> Handed<'r> {
    /// Ends the lease: a release for proved cleanup, else a quarantine. Exactly one attempt; its failure joins the
    /// evidence, where it beats everything.
    pub(super) async fn dispose(self) -> Settled<'r> {
        let Self { activation, queue_wait, consumption, mut evidence, cleanup, cell, lease } = self;
        let pool = &activation.runner.pool;
        let counters = &activation.runner.counters;
        let failure = match cleanup {
            ExecutionCleanup::Reusable => {
                let panicked = || pool_panicked("release");
                let answer = finish(begin(|| pool.release(lease), panicked), panicked).await;
                let failure = |cause| DispositionFailure::Release { cell: cell.clone(), cause };
                answer.flatten().map(|()| counters.released()).map_err(failure).err()
            }
            ExecutionCleanup::Unproven { reason } => {
                let panicked = || pool_panicked("quarantine");
                let answer = finish(begin(|| pool.quarantine(lease, readable(reason)), panicked), panicked).await;
                let failure = |cause| DispositionFailure::Quarantine { cell: cell.clone(), cause };
                answer.flatten().map(|()| counters.quarantined()).map_err(failure).err()
            }
        };
        if failure.is_some() {
            counters.disposition_failed();
        }
        evidence.disposition_failure = failure;
        Settled { evidence, cell: Some(cell), consumption, queue_wait, activation }
    }
}

impl Settled<'_> {
    /// Concludes, removes the registration and reports.
    pub(super) fn publish(self) -> ActivationReport {
        let Self { evidence, cell, consumption, queue_wait, activation } = self;
        let outcome = conclude(evidence);
        let Activation { id, registration, .. } = activation;
        drop(registration);
        ActivationReport { activation_id: id, cell, outcome, consumption, queue_wait }
    }
}
