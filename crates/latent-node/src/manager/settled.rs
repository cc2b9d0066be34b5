//! The last state: nothing is held but the quota and the record. It ends published.

use latent_activation::Evidence;
use latent_core::{BudgetConsumption, ExecutionOutcome, PlatformError};
use latent_scheduler::admission::QuotaHold;

use super::handle::ActivationReceipt;
use super::owner::Owner;
use crate::contain::backend_panicked;

/// A decided end. Dropping it refunds the quota, then publishes that the activation was given up.
pub(super) struct Settled {
    evidence: Evidence,
    consumption: BudgetConsumption,
    /// Denied before it had a cell, so that `resource-exhausted` is a refusal.
    denied: bool,
    quota: Option<QuotaHold>,
    owner: Owner,
}

impl Settled {
    /// Ended after a run.
    pub(super) fn ended(
        owner: Owner,
        evidence: Evidence,
        consumption: BudgetConsumption,
        quota: Option<QuotaHold>,
    ) -> Self {
        Self { evidence, consumption, denied: false, quota, owner }
    }

    /// Ended before anything ran.
    pub(super) fn refused(owner: Owner, execution: ExecutionOutcome) -> Box<Self> {
        let (evidence, consumption) = (owner.hand_over(execution), owner.consumption());
        Box::new(Self::ended(owner, evidence, consumption, None))
    }

    /// Denied by a quota, or because too many were there before it.
    pub(super) fn denied(owner: Owner, error: PlatformError) -> Box<Self> {
        let mut settled = Self::refused(owner, ExecutionOutcome::Failed(error));
        settled.denied = true;
        settled
    }

    /// The same, with the quota that is refunded once its end is published.
    pub(super) fn holding(mut self: Box<Self>, quota: QuotaHold) -> Box<Self> {
        self.quota = Some(quota);
        self
    }

    /// The same, or the backend's fault where what it had made could not be let go of.
    pub(super) fn unless_let_go(mut self: Box<Self>, let_go: bool) -> Box<Self> {
        if !let_go {
            self.evidence.execution = ExecutionOutcome::Failed(backend_panicked());
            self.denied = false;
        }
        self
    }

    /// Publishes the one end, refunds the quota, and tells the caller.
    pub(super) fn publish(self) -> ActivationReceipt {
        let Self { evidence, consumption, denied, quota, owner } = self;
        let activation_id = owner.reservation().lineage().activation_id().clone();
        let published =
            if denied { owner.publish_denial(evidence, quota) } else { owner.publish(evidence, consumption, quota) };
        ActivationReceipt {
            activation_id,
            resolved: published.resolved,
            outcome: published.outcome,
            consumption,
            progress: published.progress,
        }
    }
}
