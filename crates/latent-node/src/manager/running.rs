//! The fifth state: a guest runs in the cell. It ends with what the run came to and whether the cell is clean.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use latent_core::{BudgetConsumption, PlatformError, StopCause, StopLatch};
use latent_executor::{ContainedExecution, ExecutionCleanup, ExecutionReport};
use latent_scheduler::fair::Entered;

use super::ended::Ended;
use super::owner::Owner;
use super::services::Services;
use super::stops::stopped;
use crate::contain::{Foreign, backend_panicked};
use crate::names::bounded;
use crate::time::{LazyTimer, now};

/// An activation whose guest runs. Dropping it drops the run, quarantines the cell, refunds the quota and publishes
/// that the activation was given up, in this order.
pub(super) struct Running<'s> {
    pub(super) services: &'s Services,
    /// There until the run has ended; an error is a backend that panicked before there was a run.
    pub(super) run: Option<Run<'s>>,
    pub(super) entered: Entered,
    pub(super) deadline: Instant,
    pub(super) owner: Owner,
}

type Run<'s> = Result<Foreign<BoxFuture<'s, ContainedExecution>>, PlatformError>;

impl<'s> Running<'s> {
    /// Waits for the backend. Once a stop is visible the backend has the grace to acknowledge it; then its run is
    /// dropped, without a proof. The run is gone when this returns.
    pub(super) async fn finish(&mut self) -> ContainedExecution {
        let mut run = match self.run.take() {
            Some(Ok(run)) => run,
            Some(Err(error)) => return after_panic(error),
            None => unreachable!("a run is finished once"),
        };
        let mut watch = Watch {
            latch: &self.owner.latch,
            deadline: self.deadline,
            grace: self.services.config.cleanup_grace,
            timer: LazyTimer::default(),
            stop: None,
        };
        let answer = poll_fn(|cx| {
            // The run first, so that it has been polled after a stop before its grace can be over.
            if let Poll::Ready(answer) = run.poll(cx, backend_panicked) {
                return Poll::Ready(answer.unwrap_or_else(after_panic));
            }
            watch.poll(cx).map(unacknowledged)
        })
        .await;
        if run.let_go() { answer } else { after_panic(backend_panicked()) }
    }

    /// Takes the result over.
    pub(super) fn hand_over(self, contained: ContainedExecution) -> Ended<'s> {
        let Self { services, run: _, entered, deadline: _, owner } = self;
        let ContainedExecution { report: ExecutionReport { outcome, consumption }, cleanup } = contained;
        let evidence = owner.hand_over(outcome);
        let consumption = consumption.at_least(&owner.consumption());
        let cell = bounded(entered.lease().cell());
        Ended { services, entered: Some(entered), cell, cleanup, evidence, consumption, owner }
    }
}

/// Watches over a run that does not end: first for a stop, then for the end of its grace.
struct Watch<'r> {
    latch: &'r StopLatch,
    deadline: Instant,
    grace: Duration,
    timer: LazyTimer,
    /// What stopped the run, and until when it may acknowledge that.
    stop: Option<(StopCause, Instant)>,
}

impl Watch<'_> {
    /// Ready when the grace is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<StopCause> {
        loop {
            let until = self.stop.or_else(|| self.look(cx)).map_or(self.deadline, |(_, until)| until);
            match (self.timer.poll(until, cx), self.stop) {
                (Poll::Pending, _) => return Poll::Pending,
                (Poll::Ready(()), Some((cause, _))) => return Poll::Ready(cause),
                (Poll::Ready(()), None) => {}
            }
        }
    }

    /// Looks for a stop, from which on the grace counts.
    fn look(&mut self, cx: &Context<'_>) -> Option<(StopCause, Instant)> {
        self.latch.watch(cx.waker());
        let at = now();
        let cause = self.latch.checkpoint(at, Some(self.deadline))?;
        let until = at + self.grace;
        self.timer.restart(until);
        self.stop = Some((cause, until));
        // The backend may have been polled before this stop was there to be seen.
        self.latch.wake();
        self.stop
    }
}

/// A backend that panicked proves nothing, and what it used is in the ledger.
fn after_panic(panicked: PlatformError) -> ContainedExecution {
    let report = ExecutionReport::failed(panicked);
    ContainedExecution { report, cleanup: ExecutionCleanup::Unproven { reason: "the backend panicked" } }
}

/// A backend that was stopped and did not say in time that it is clean.
fn unacknowledged(cause: StopCause) -> ContainedExecution {
    let report = ExecutionReport { outcome: stopped(cause), consumption: BudgetConsumption::default() };
    let reason = "the backend did not acknowledge a stop within its grace";
    ContainedExecution { report, cleanup: ExecutionCleanup::Unproven { reason } }
}
