//! The one lifecycle owner of an activation: its record, its latch, its account, and its end.
//!
//! Invariant: exactly one end is published for each owner. A state of the lifecycle declares its owner last, so that
//! whatever else the state holds is gone before the end is published.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latent_activation::journal::Published;
use latent_activation::{DispositionFailure, Evidence, JournalReservation, LifecyclePhase, ValidRequest};
use latent_core::{
    ActivationOutcome, BudgetConsumption, BudgetLedger, ExecutionOutcome, PlatformError, PlatformErrorCode,
    ResolvedRevision, ResourceBudget, RouteName, ServiceName, StopLatch,
};
use latent_executor::HttpExchange;
use latent_scheduler::admission::QuotaHold;

use super::ActivationArrival;
use super::handle::ActivationTransportInterruption;
use crate::contain::contained;
use crate::observe::{ActivationEnd, ActivationObserver, Limit};
use crate::time::now;

/// What the outside has said of an activation besides a cancel. Shared by its handle and its owner.
#[derive(Debug, Default)]
pub(super) struct Interruption {
    transport: AtomicU8,
    /// Nonzero: the cleanup took longer than this many nanoseconds, and is given up.
    overrun_nanos: AtomicU64,
    /// While the activation is polled: a panic that drops it then is its own, not that of whoever held the handle.
    polled: AtomicBool,
}

const DISCONNECTED: u8 = 1;
const DEADLINE: u8 = 2;

impl Interruption {
    /// Marks what became of the transport. The first mark stays.
    pub(super) fn mark(&self, interruption: ActivationTransportInterruption) {
        let mark = match interruption {
            ActivationTransportInterruption::Disconnected => DISCONNECTED,
            ActivationTransportInterruption::DeadlineExceeded => DEADLINE,
        };
        let _first = self.transport.compare_exchange(0, mark, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(super) fn mark_overrun(&self, cap: Duration) {
        let nanos = u64::try_from(cap.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.overrun_nanos.store(nanos, Ordering::Release);
    }

    pub(super) fn set_polled(&self, polled: bool) {
        self.polled.store(polled, Ordering::Relaxed);
    }

    fn transport(&self) -> Option<ActivationTransportInterruption> {
        match self.transport.load(Ordering::Acquire) {
            DISCONNECTED => Some(ActivationTransportInterruption::Disconnected),
            DEADLINE => Some(ActivationTransportInterruption::DeadlineExceeded),
            _ => None,
        }
    }

    fn overrun(&self) -> Option<Duration> {
        let nanos = self.overrun_nanos.load(Ordering::Acquire);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }
}

/// What every activation has until its backend is entered. Boxed once, because each state hands it on.
pub(super) struct Accepted {
    pub(super) request: ValidRequest,
    pub(super) arrival: ActivationArrival,
    pub(super) owner: Owner,
}

/// What is told of an activation at its end and is known from its acceptance on.
pub(super) struct Called {
    service: ServiceName,
    function: Box<str>,
    route: RouteName,
    bytes_in: u64,
    /// The HTTP request, where it is one; it counts its bytes itself.
    exchange: Option<Arc<HttpExchange>>,
    observer: Arc<dyn ActivationObserver>,
}

impl Called {
    pub(super) fn of(
        request: &ValidRequest,
        exchange: Option<Arc<HttpExchange>>,
        observer: &Arc<dyn ActivationObserver>,
    ) -> Self {
        Self {
            service: request.service().clone(),
            function: request.target().function.clone(),
            route: request.route().clone(),
            bytes_in: wide(request.payload().bytes.len()),
            exchange,
            observer: Arc::clone(observer),
        }
    }

    /// Tells of the end. An observer that panics changes nothing.
    fn ended(&self, published: &Published, consumption: &BudgetConsumption) {
        let outcome = &published.outcome;
        let bytes_out = match outcome {
            ActivationOutcome::Succeeded { output: payload } | ActivationOutcome::DeclaredError { error: payload } => {
                wide(payload.bytes.len())
            }
            ActivationOutcome::Failed { .. } => 0,
        };
        let streamed = self.exchange.as_ref().map(|exchange| exchange.bytes());
        let (bytes_in, bytes_out) = streamed.unwrap_or((self.bytes_in, bytes_out));
        let end = ActivationEnd {
            tenant: published.tenant(),
            lineage: published.lineage(),
            service: &self.service,
            function: &self.function,
            route: &self.route,
            resolved: published.resolved.as_ref(),
            outcome,
            limit: Limit::of_outcome(outcome),
            consumption,
            progress: &published.progress,
            bytes_in,
            bytes_out,
        };
        let _panicked = contained(|| self.observer.ended(&end));
    }
}

fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// What there is of an activation from its acceptance to its end.
pub(super) struct Owner {
    /// There until the end is published.
    reservation: Option<JournalReservation>,
    pub(super) latch: Arc<StopLatch>,
    pub(super) interruption: Arc<Interruption>,
    called: Called,
    /// Made at admission, once.
    deadline: Option<Instant>,
}

impl Owner {
    pub(super) fn new(reservation: JournalReservation, called: Called) -> Self {
        let latch = Arc::clone(reservation.latch());
        Self { latch, reservation: Some(reservation), interruption: Arc::default(), called, deadline: None }
    }

    pub(super) fn reservation(&self) -> &JournalReservation {
        self.reservation.as_ref().expect("the record is there until its end is published")
    }

    /// Pins the revision.
    pub(super) fn resolved(&mut self, revision: ResolvedRevision, at: Instant) {
        self.record().resolved(revision, at).expect("an activation that was just received is resolved next");
    }

    /// Opens the account and takes the deadline over. The activation is admitted, and queued with it.
    pub(super) fn admitted(&mut self, granted: ResourceBudget, deadline: Instant, at: Instant) {
        self.deadline = Some(deadline);
        let record = self.record();
        record.account(Arc::new(BudgetLedger::new(granted)));
        record.advance(LifecyclePhase::Admitted, at).expect("a resolved activation is admitted next");
        record.advance(LifecyclePhase::Queued, at).expect("an admitted activation is queued next");
    }

    pub(super) fn materializing(&mut self, at: Instant) {
        self.record().advance(LifecyclePhase::Materializing, at).expect("a queued activation materializes next");
    }

    pub(super) fn running(&mut self, at: Instant) {
        self.record().advance(LifecyclePhase::Running, at).expect("a materialized activation runs next");
    }

    /// Takes the evidence about `execution`: the hand-over of the result. Whether a cancel was accepted is decided when
    /// the end is published, under the record's lock.
    pub(super) fn hand_over(&self, execution: ExecutionOutcome) -> Evidence {
        let transport = self.interruption.transport();
        let timed_out = transport == Some(ActivationTransportInterruption::DeadlineExceeded);
        Evidence {
            disposition_failure: None,
            cancel_accepted: false,
            deadline_elapsed: timed_out || self.deadline.is_some_and(|deadline| now() >= deadline),
            transport_stopped: transport.is_some(),
            execution,
        }
    }

    /// The HTTP request, where it is one.
    pub(super) fn exchange(&self) -> Option<Arc<HttpExchange>> {
        self.called.exchange.clone()
    }

    /// The account, which is open from admission on.
    pub(super) fn ledger(&self) -> &Arc<BudgetLedger> {
        self.reservation().ledger().expect("the account is opened at admission")
    }

    /// What has been used up to now.
    pub(super) fn consumption(&self) -> BudgetConsumption {
        used(self.reservation())
    }

    /// Publishes the end, refunds the quota, and tells the observer.
    pub(super) fn publish(
        mut self,
        evidence: Evidence,
        consumption: BudgetConsumption,
        quota: Option<QuotaHold>,
    ) -> Published {
        let published = self.take().publish(evidence, consumption, now());
        drop(quota);
        self.called.ended(&published, &consumption);
        published
    }

    /// The same for an activation that was denied before it had a cell.
    pub(super) fn publish_denial(mut self, evidence: Evidence, quota: Option<QuotaHold>) -> Published {
        let published = self.take().publish_denial(evidence, now());
        drop(quota);
        self.called.ended(&published, &BudgetConsumption::default());
        published
    }

    fn record(&mut self) -> &mut JournalReservation {
        self.reservation.as_mut().expect("the record is there until its end is published")
    }

    fn take(&mut self) -> JournalReservation {
        self.reservation.take().expect("an owner publishes once")
    }
}

impl Drop for Owner {
    /// Whoever polled the activation gave it up. One whose transport had gone away ends as that; every other one as
    /// abandoned. Either way it ends now: the journal may not have been told the time for long.
    fn drop(&mut self) {
        let Some(reservation) = self.reservation.take() else { return };
        let consumption = used(&reservation);
        let published = self.give_up(reservation, consumption);
        self.called.ended(&published, &consumption);
    }
}

impl Owner {
    fn give_up(&self, reservation: JournalReservation, consumption: BudgetConsumption) -> Published {
        let execution = if std::thread::panicking() && self.interruption.polled.load(Ordering::Relaxed) {
            ExecutionOutcome::Failed(panicked())
        } else if self.interruption.transport().is_some() {
            ExecutionOutcome::TransportStopped
        } else {
            return reservation.abandon(consumption, now());
        };
        let overrun = self.interruption.overrun().map(|cap| DispositionFailure::Overrun { cap });
        let evidence = Evidence { disposition_failure: overrun, ..self.hand_over(execution) };
        reservation.publish(evidence, consumption, now())
    }
}

fn used(reservation: &JournalReservation) -> BudgetConsumption {
    reservation.ledger().map(|ledger| ledger.consumption()).unwrap_or_default()
}

/// Something that the manager does not expect to panic did.
pub(super) fn panicked() -> PlatformError {
    let message = "the node failed while it took care of the activation; report this";
    PlatformError::of_activation(PlatformErrorCode::Internal, "activation.manager-panic", message)
}
