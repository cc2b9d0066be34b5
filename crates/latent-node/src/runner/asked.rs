//! The first state: registered, without a cell. It ends with a lease, or settled without one.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use latent_activation::envelope::GUEST_METADATA_PREFIX;
use latent_activation::{ActivationEnvelope, from_execution};
use latent_core::{ActivationId, BudgetConsumption, ExecutionOutcome, PlatformError, StopLatch};
use latent_executor::{ActivationContext, ComponentArtifact};
use latent_scheduler::{CellLease, CellRequest};
use tokio::time::{Instant, sleep_until};

use super::Phase0ActivationRunner;
use super::activation::Activation;
use super::granted::{Call, Granted};
use super::handed::Settled;
use super::report::ActivationReport;
use crate::contain::{begin, finish, pool_panicked};

/// An activation that can be cancelled and holds nothing else.
pub(super) struct Asked<'r> {
    request: Option<CellRequest>,
    call: Call,
    activation: Activation<'r>,
}

/// An activation that could not be registered.
pub(super) struct Refused {
    activation_id: ActivationId,
    error: PlatformError,
}

/// How the wait for a cell ended.
pub(super) enum WaitEnd {
    Granted(CellLease),
    Refused(PlatformError),
    /// By a cancel or the deadline, before the pool was asked.
    StoppedBefore(ExecutionOutcome),
    /// By a cancel or the deadline, while the pool had a waiter.
    StoppedWaiting(ExecutionOutcome),
}

impl<'r> Asked<'r> {
    /// Registers the cancellation, then derives the deadline.
    pub(super) fn register(
        runner: &'r Phase0ActivationRunner,
        envelope: ActivationEnvelope,
        artifact: ComponentArtifact,
    ) -> Result<Self, Refused> {
        let latch = Arc::new(StopLatch::new());
        let id = envelope.activation_id.clone();
        let tenant = envelope.principal.tenant.clone();
        let registration = match runner.registry.register(&tenant, &id, Arc::clone(&latch)) {
            Ok(registration) => registration,
            Err(error) => return Err(Refused { activation_id: id, error }),
        };
        let expires_at = envelope.effective_deadline();
        // Monotonic before wall: what passes between the two shortens the wait, never prolongs it. They are read side
        // by side, so that it is next to nothing.
        let started = Instant::now();
        let deadline = expires_at.and_then(|at| monotonic(started, runner.clock.now(), at));
        let request = CellRequest {
            activation_id: id.clone(),
            tenant: tenant.clone(),
            class: runner.class,
            budget: envelope.budget,
            expires_at,
        };
        let activation = Activation { runner, id, tenant, latch, started, deadline, registration };
        Ok(Self { request: Some(request), call: call(envelope, artifact, expires_at), activation })
    }

    /// Waits for the first of cancel, deadline and grant, in this order. The acquisition is gone when this returns, and
    /// only then is the pool asked to forget its waiter. A timer is made only for an acquisition that has to wait.
    pub(super) async fn wait(&mut self) -> WaitEnd {
        let activation = &self.activation;
        if let Some(execution) = activation.stopped(activation.started) {
            return WaitEnd::StoppedBefore(execution);
        }
        let Some(request) = self.request.take() else { unreachable!("a state waits once") };
        let end = {
            let pool = &activation.runner.pool;
            let begun = begin(|| pool.acquire(request), || pool_panicked("acquire"));
            let mut acquisition = pin!(finish(begun, || pool_panicked("acquire")));
            let mut waiting = None;
            poll_fn(|cx| {
                // Registered before looking, so that no cancel falls between the look and the sleep.
                activation.latch.register(cx.waker());
                let first = waiting.is_none();
                let now = if first { activation.started } else { Instant::now() };
                if let Some(execution) = activation.stopped(now) {
                    let end = if first { WaitEnd::StoppedBefore } else { WaitEnd::StoppedWaiting };
                    return Poll::Ready(end(execution));
                }
                if let Poll::Ready(answer) = acquisition.as_mut().poll(cx) {
                    return Poll::Ready(answer.flatten().map_or_else(WaitEnd::Refused, WaitEnd::Granted));
                }
                let (_counted, timer) = waiting.get_or_insert_with(|| {
                    let timer = activation.deadline.map(|deadline| Box::pin(sleep_until(deadline)));
                    (activation.runner.counters.waiting(), timer)
                });
                let Some(timer) = timer else { return Poll::Pending };
                timer.as_mut().poll(cx).map(|()| WaitEnd::StoppedWaiting(ExecutionOutcome::DeadlineExceeded))
            })
            .await
        };
        if let WaitEnd::StoppedWaiting(_) = &end {
            withdraw(activation).await;
        }
        end
    }

    /// Goes on with a lease, or settles without one.
    pub(super) fn granted(self, end: WaitEnd) -> Result<Granted<'r>, Box<Settled<'r>>> {
        let Self { activation, call, .. } = self;
        let received_at = Instant::now();
        let queue_wait = received_at.saturating_duration_since(activation.started);
        let execution = match end {
            WaitEnd::Granted(lease) => return Ok(Granted { lease, call, received_at, queue_wait, activation }),
            WaitEnd::Refused(error) => ExecutionOutcome::Failed(error),
            WaitEnd::StoppedBefore(execution) | WaitEnd::StoppedWaiting(execution) => execution,
        };
        let evidence = activation.hand_over(execution);
        let consumption = BudgetConsumption::default();
        Err(Box::new(Settled { evidence, cell: None, consumption, queue_wait, activation }))
    }
}

/// Asks the pool to forget the waiter. The dropped acquisition has said so already, so a pool that does not offer this,
/// or fails at it, changes nothing about the activation.
async fn withdraw(activation: &Activation<'_>) {
    let (pool, panicked) = (&activation.runner.pool, || pool_panicked("cancel_waiting"));
    let begun = begin(|| pool.cancel_waiting(&activation.tenant, &activation.id), panicked);
    let _answer = finish(begun, panicked).await;
}

/// The instant at which the wall clock will show `at`; one already past is `started` itself. `None` for one beyond what
/// the monotonic clock can express: it will not come.
fn monotonic(started: Instant, wall_now: SystemTime, at: SystemTime) -> Option<Instant> {
    started.checked_add(at.duration_since(wall_now).unwrap_or_default())
}

fn call(envelope: ActivationEnvelope, artifact: ComponentArtifact, deadline: Option<SystemTime>) -> Call {
    let ActivationEnvelope { activation_id, principal, target, payload, trace_parent, mut metadata, .. } = envelope;
    metadata.retain(|(key, _)| key.starts_with(GUEST_METADATA_PREFIX));
    let context = ActivationContext { activation_id, service: None, principal, trace_parent, deadline, metadata };
    Call { context: Arc::new(context), artifact, target, payload }
}

impl Refused {
    /// The whole report: nothing was taken, so nothing is given back.
    pub(super) fn report(self) -> ActivationReport {
        ActivationReport {
            activation_id: self.activation_id,
            cell: None,
            outcome: from_execution(ExecutionOutcome::Failed(self.error)),
            consumption: BudgetConsumption::default(),
            queue_wait: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_deadline_becomes_an_instant_once_without_overflow() {
        let (started, wall) = (Instant::now(), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000));
        let second = Duration::from_secs(1);
        assert_eq!(monotonic(started, wall, wall + second), Some(started + second));
        assert_eq!(monotonic(started, wall, wall), Some(started));
        assert_eq!(monotonic(started, wall, wall - second), Some(started), "already past is now");
        let never = wall + Duration::from_secs(i64::MAX as u64 - 1_000);
        assert_eq!(monotonic(started + second, wall, never), None, "beyond the clock is no deadline");
    }
}
