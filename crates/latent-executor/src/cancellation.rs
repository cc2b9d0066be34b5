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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use latent_core::ResourceBudget;

    #[expect(clippy::disallowed_methods, reason = "tests make their own instants")]
    fn now() -> Instant {
        Instant::now()
    }

    fn until(deadline: Option<Instant>) -> ExecutionCancellation {
        let ledger = BudgetLedger::new(ResourceBudget { log_bytes: 10, ..ResourceBudget::default() });
        ExecutionCancellation::new(Arc::new(StopLatch::new()), deadline, Arc::new(ledger))
    }

    #[test]
    fn a_deadline_is_only_ever_tightened() {
        let early = now();
        let late = early + Duration::from_secs(1);
        for (admitted, asked, kept) in [
            (Some(early), Some(late), Some(early)),
            (Some(early), None, Some(early)),
            (Some(late), Some(early), Some(early)),
            (None, Some(early), Some(early)),
            (None, None, None),
        ] {
            assert_eq!(until(admitted).tightened(asked).deadline(), kept, "{admitted:?} and {asked:?}");
        }
    }

    #[test]
    fn a_checkpoint_looks_at_the_cancel_and_then_at_the_tightened_deadline() {
        let at = now();
        let late = at + Duration::from_secs(1);
        assert_eq!(until(Some(late)).checkpoint(at), None);
        assert_eq!(until(Some(late)).tightened(Some(at)).checkpoint(at), Some(StopCause::DeadlineExceeded));
        let cancelled = until(Some(at));
        cancelled.probe().request_cancel();
        assert_eq!(cancelled.checkpoint(at), Some(StopCause::Cancelled));
    }

    #[test]
    fn clones_and_tightened_ones_share_the_probe_and_the_ledger() {
        let of_owner = until(None);
        let of_backend = of_owner.clone().tightened(Some(now()));
        assert!(of_backend.budget_accounting().try_charge_log(10));
        assert!(!of_owner.budget_accounting().try_charge_log(1), "one account");
        of_owner.probe().request_cancel();
        assert!(of_backend.probe().cancel_requested());
        assert_eq!(of_owner.deadline(), None, "tightening one leaves the other as it was");
    }
}
