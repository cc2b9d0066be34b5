//! An accepted activation as its caller holds it: a future with an id.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use latent_activation::journal::{RetainedOutcome, TerminalRecord};
use latent_activation::{Lineage, Moment, Progress};
use latent_core::{ActivationId, ActivationOutcome, BudgetConsumption, ResolvedRevision, StopLatch, TenantId};

use super::asked::Asked;
use super::granted::Granted;
use super::owner::{Interruption, panicked};
use super::services::Services;
use crate::contain::Foreign;
use crate::time::now;

/// What became of an activation (`activation-lifecycle.md`, "Start and identity").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationReceipt {
    /// The activation.
    pub activation_id: ActivationId,
    /// The revision that it was pinned to, if it got so far.
    pub resolved: Option<ResolvedRevision>,
    /// What its caller gets.
    pub outcome: ActivationOutcome,
    /// What it used, finalized.
    pub consumption: BudgetConsumption,
    /// Its events, from the reception to the end.
    pub progress: Progress,
}

/// What became of the transport that carried a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActivationTransportInterruption {
    /// It went away: nobody waits for the result any more.
    Disconnected,
    /// It ran out of time, by its own clock.
    DeadlineExceeded,
}

/// An accepted activation. Polling it is what runs it; it is ready with the receipt once the activation has ended and
/// everything that it held is settled. Dropping it abandons the activation: its record ends at once, the cell of a guest
/// that runs is quarantined.
///
/// It cannot be duplicated:
///
/// ```compile_fail,E0277
/// fn needs_clone<T: Clone>() {}
/// needs_clone::<latent_node::ActivationHandle>();
/// ```
#[must_use = "an activation runs when its handle is polled, and is abandoned when it is dropped"]
pub struct ActivationHandle {
    tenant: TenantId,
    lineage: Lineage,
    received: Moment,
    latch: Arc<StopLatch>,
    interruption: Arc<Interruption>,
    services: Arc<Services>,
    /// There until it has ended.
    run: Option<Foreign<BoxFuture<'static, ActivationReceipt>>>,
}

impl ActivationHandle {
    pub(super) fn new(services: Arc<Services>, received: Moment, asked: Asked) -> Self {
        let owner = &asked.accepted.owner;
        let (tenant, lineage) = (owner.reservation().tenant().clone(), owner.reservation().lineage().clone());
        let (latch, interruption) = (Arc::clone(&owner.latch), Arc::clone(&owner.interruption));
        let run: BoxFuture<'static, _> = Box::pin(run(Arc::clone(&services), asked));
        Self { tenant, lineage, received, latch, interruption, services, run: Some(Foreign::new(run)) }
    }

    /// What the activation is called, from its acceptance on.
    #[must_use]
    pub fn activation_id(&self) -> &ActivationId {
        self.lineage.activation_id()
    }

    /// What it is called, and where it says that it comes from.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Whose activation it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Says that the transport is gone, and hands the same activation back to be polled to its end. Invocation, budget,
    /// deadline and a cleanup that has begun stay as they are. Of several calls the first counts. This is no cancel: an
    /// accepted cancel and the original deadline go before it, and it goes before what the guest came to
    /// (`activation-lifecycle.md`, "Cancellation, cleanup, and accounting").
    pub fn interrupt_for_cleanup(self, interruption: ActivationTransportInterruption) -> Self {
        self.interruption.mark(interruption);
        self.latch.request_transport_stop();
        self
    }

    /// Gives up a cleanup that did not end within `cap`. The record says so, and the cell is out of reuse.
    pub(crate) fn overrun(self, cap: Duration) {
        self.interruption.mark_overrun(cap);
        drop(self);
    }

    /// The receipt of an activation whose end was published by a panic of the manager itself.
    fn broken_off(&self) -> ActivationReceipt {
        let (journal, id) = (&self.services.parts.journal, self.activation_id());
        let status = journal.status(&self.tenant, id, now()).found();
        let progress = journal.progress(&self.tenant, id, now()).found();
        let (resolved, terminal) = status.map(|status| (status.resolved, status.terminal)).unwrap_or_default();
        // A stop that was there before the panic is what the record says, and so what the caller is told.
        let (outcome, consumption) = match terminal {
            Some(TerminalRecord { state, outcome: RetainedOutcome::Failed(error), consumption, .. }) => {
                (ActivationOutcome::Failed { terminal_state: state, error }, consumption)
            }
            _ => (ActivationOutcome::failed(panicked()), BudgetConsumption::default()),
        };
        ActivationReceipt {
            activation_id: id.clone(),
            resolved,
            outcome,
            consumption,
            progress: progress.unwrap_or_else(|| Progress::received(self.received)),
        }
    }
}

impl Future for ActivationHandle {
    type Output = ActivationReceipt;

    /// # Panics
    /// When it is polled again after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ActivationReceipt> {
        let this = self.get_mut();
        let run = this.run.as_mut().expect("an activation is not polled after it has ended");
        this.interruption.set_polled(true);
        let polled = run.poll(cx, panicked);
        this.interruption.set_polled(false);
        let Poll::Ready(ended) = polled else { return Poll::Pending };
        this.run = None;
        Poll::Ready(ended.unwrap_or_else(|_panicked| this.broken_off()))
    }
}

/// The whole way. Each state is awaited where it stands, consumed by the next, and out of scope by then: the future has
/// room for one state, not for all of them, and nothing large is moved twice.
async fn run(services: Arc<Services>, asked: Asked) -> ActivationReceipt {
    let mut ended = {
        let mut running = {
            let mut ready = {
                let mut admitted = match asked.admit(&services) {
                    Ok(admitted) => admitted,
                    Err(settled) => return settled.publish(),
                };
                let prepared = admitted.prepare().await;
                match admitted.ready(prepared) {
                    Ok(ready) => ready,
                    Err(settled) => return settled.publish(),
                }
            };
            let assigned = ready.assign().await;
            match ready.granted(assigned).and_then(Granted::start) {
                Ok(running) => running,
                Err(settled) => return settled.publish(),
            }
        };
        let contained = running.finish().await;
        running.hand_over(contained)
    };
    let disposed = ended.dispose().await;
    ended.settle(disposed).publish()
}

impl fmt::Debug for ActivationHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivationHandle")
            .field("tenant", &self.tenant)
            .field("lineage", &self.lineage)
            .field("ended", &self.run.is_none())
            .finish_non_exhaustive()
    }
}
