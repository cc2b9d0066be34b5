//! What a backend is told about stopping, and the account it charges.

use std::sync::Arc;
use std::time::Instant;

use latent_core::{BudgetLedger, StopCause, StopLatch};

/// The live side of one activation as its backend sees it: a probe that says stop, the effective monotonic
/// deadline, and the activation's one ledger. Cloning shares all three.
#[derive(Debug, Clone)]
pub struct ExecutionCancellation {
    latch: Arc<StopLatch>,
    deadline: Option<Instant>,
    ledger: Arc<BudgetLedger>,
}

impl ExecutionCancellation {
    /// Binds a latch, the deadline sampled at admission, and the activation's ledger.
    #[must_use]
    pub fn new(latch: Arc<StopLatch>, deadline: Option<Instant>, ledger: Arc<BudgetLedger>) -> Self {
        Self { latch, deadline, ledger }
    }

    /// The live probe.
    #[must_use]
    pub fn probe(&self) -> &Arc<StopLatch> {
        &self.latch
    }

    /// The effective deadline, if there is one.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The same cancellation with a deadline that is at most `limit`. A deadline is only ever tightened.
    #[must_use]
    pub fn tightened(mut self, limit: Option<Instant>) -> Self {
        self.deadline = latent_core::budget::earlier(self.deadline, limit);
        self
    }

    /// The ledger that both the owner of the activation and the backend charge
    /// (`activation-lifecycle.md`, "Cancellation, cleanup, and accounting").
    #[must_use]
    pub fn budget_accounting(&self) -> &Arc<BudgetLedger> {
        &self.ledger
    }

    /// Takes a checkpoint: cancellation first, then the deadline; the first cause sticks.
    #[must_use]
    pub fn checkpoint(&self, now: Instant) -> Option<StopCause> {
        self.latch.checkpoint(now, self.deadline)
    }
}
