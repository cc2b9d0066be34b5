//! The second state: a cell is leased and nothing has run in it yet. It ends with a result handed over.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use latent_core::{BudgetConsumption, BudgetLedger, CellId, ExecutionOutcome, FunctionTarget, Payload, PlatformError};
use latent_executor::{
    ActivationContext, ComponentArtifact, ContainedExecution, ExecutionCancellation, ExecutionCleanup, ExecutionReport,
    ExecutionRequest,
};
use latent_scheduler::CellLease;
use tokio::time::Instant;

use super::activation::Activation;
use super::counters::GoingOn;
use super::handed::Handed;
use crate::contain::{backend_panicked, begin, finish};
use crate::names::bounded;

/// What is to be run, waiting for the cell and budget that complete it.
pub(super) struct Call {
    pub(super) context: Arc<ActivationContext>,
    pub(super) artifact: ComponentArtifact,
    pub(super) target: FunctionTarget,
    pub(super) payload: Payload,
}

/// An activation that holds a lease. Dropping it drops the lease, and the pool quarantines the cell.
pub(super) struct Granted<'r> {
    pub(super) lease: CellLease,
    pub(super) call: Call,
    pub(super) received_at: Instant,
    pub(super) queue_wait: Duration,
    pub(super) activation: Activation<'r>,
}

impl<'r> Granted<'r> {
    /// Looks at cancel and deadline once more, now that there is a cell.
    pub(super) fn stopped(&self) -> Option<ExecutionOutcome> {
        self.activation.stopped(self.received_at)
    }

    /// Hands the lease over without running the guest, so that the cell is as clean as it was.
    pub(super) fn decline(self, execution: ExecutionOutcome) -> Handed<'r> {
        let Self { activation, queue_wait, lease, .. } = self;
        let evidence = activation.hand_over(execution);
        let consumption = BudgetConsumption::default();
        let cell = bounded(lease.cell());
        Handed { lease, cell, cleanup: ExecutionCleanup::Reusable, evidence, consumption, queue_wait, activation }
    }

    /// Builds the request from the lease and gives it to the backend.
    pub(super) fn start(self) -> Started<'r> {
        let Self { activation, queue_wait, call, lease, .. } = self;
        let cell = bounded(lease.cell());
        let ledger = Arc::new(BudgetLedger::new(*lease.budget()));
        let deadline = activation.deadline.map(Instant::into_std);
        let cancellation = ExecutionCancellation::new(Arc::clone(&activation.latch), deadline, Arc::clone(&ledger));
        let Call { context, artifact, target, payload } = call;
        let (budget, policy) = (*lease.budget(), Arc::clone(&activation.runner.policy));
        let request = ExecutionRequest { context, cell: cell.clone(), target, payload, budget, policy, exchange: None };
        let running = activation.runner.counters.running();
        let backend = &activation.runner.backend;
        let run = begin(|| backend.invoke_contained(artifact, request, cancellation), backend_panicked);
        Started { run: Some(run), running, cell, ledger, queue_wait, lease, activation }
    }
}

/// An activation whose guest runs. Dropping it drops the run first, then the lease, then the registration.
pub(super) struct Started<'r> {
    run: Option<Result<BoxFuture<'r, ContainedExecution>, PlatformError>>,
    running: GoingOn<'r>,
    cell: CellId,
    ledger: Arc<BudgetLedger>,
    queue_wait: Duration,
    lease: CellLease,
    activation: Activation<'r>,
}

impl<'r> Started<'r> {
    /// Waits for the backend. Its future is gone when this returns.
    pub(super) async fn finish(&mut self) -> ContainedExecution {
        let Some(run) = self.run.take() else { unreachable!("a state is finished once") };
        finish(run, backend_panicked).await.unwrap_or_else(after_panic)
    }

    /// Takes the result over.
    pub(super) fn hand_over(self, contained: ContainedExecution) -> Handed<'r> {
        let Self { activation, queue_wait, lease, cell, ledger, running, .. } = self;
        drop(running);
        let ContainedExecution { report, cleanup } = contained;
        let evidence = activation.hand_over(report.outcome);
        let consumption = report.consumption.at_least(&ledger.consumption());
        Handed { lease, cell, cleanup, evidence, consumption, queue_wait, activation }
    }
}

/// A backend that panicked proves nothing, and what it used is in the ledger.
fn after_panic(panicked: PlatformError) -> ContainedExecution {
    let report = ExecutionReport::failed(panicked);
    ContainedExecution { report, cleanup: ExecutionCleanup::Unproven { reason: "the backend panicked" } }
}
