//! What every state of a run carries: its name, its registration, its latch and its one monotonic deadline.

use std::sync::Arc;

use latent_activation::{CancellationRegistration, Evidence};
use latent_core::{ActivationId, ExecutionOutcome, StopLatch, TenantId};
use tokio::time::Instant;

use super::Phase0ActivationRunner;

/// One registered activation. Every state declares it last, so that whatever else the state holds is dropped before
/// the registration is.
pub(super) struct Activation<'r> {
    pub(super) runner: &'r Phase0ActivationRunner,
    pub(super) id: ActivationId,
    pub(super) tenant: TenantId,
    pub(super) latch: Arc<StopLatch>,
    /// When the activation arrived.
    pub(super) started: Instant,
    /// The effective deadline on the monotonic clock; made once, never again.
    pub(super) deadline: Option<Instant>,
    pub(super) registration: CancellationRegistration,
}

impl Activation<'_> {
    /// Why the activation must not go on at `now`: an accepted cancel before a passed deadline.
    pub(super) fn stopped(&self, now: Instant) -> Option<ExecutionOutcome> {
        if self.registration.accepted() {
            Some(ExecutionOutcome::Cancelled)
        } else if self.deadline.is_some_and(|deadline| now >= deadline) {
            Some(ExecutionOutcome::DeadlineExceeded)
        } else {
            None
        }
    }

    /// Takes the evidence about `execution`, once: cancel, deadline, outcome. This is the hand-over, the instant at
    /// which the result is decided (`activation-containment.md`, "Guest-result handoff").
    pub(super) fn hand_over(&self, execution: ExecutionOutcome) -> Evidence {
        Evidence {
            disposition_failure: None,
            cancel_accepted: self.registration.accepted(),
            deadline_elapsed: self.deadline.is_some_and(|deadline| Instant::now() >= deadline),
            transport_stopped: false,
            execution,
        }
    }
}
