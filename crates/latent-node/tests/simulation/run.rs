//! A run as planned: it ends by itself, at a stop, after a stop, or never; with a proof, without one, or in a panic.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use latent_core::StopCause;
use latent_executor::{ContainedExecution, ExecutionCancellation, ExecutionCleanup, ExecutionReport, PreparedUse};

use crate::backend::now;
use crate::board::{Board, Held, Index, Kind, Ran, planned_panic, planned_panic_of_destructor};
use crate::lasting::Lasting;
use crate::plan::{Heeds, Inside, Lasts, Own, Run, RunEnds};

pub struct RunFuture {
    board: Board,
    index: Index,
    plan: Run,
    lasting: Lasting,
    /// A stop that was seen, and how long it still takes.
    stopping: Option<(StopCause, Lasting)>,
    cancellation: ExecutionCancellation,
    held: Option<(PreparedUse, Held)>,
}

impl RunFuture {
    pub fn new(board: Board, index: Index, plan: Run, code: PreparedUse, cancellation: ExecutionCancellation) -> Self {
        let held = Some((code, Held::new(&board, Kind::Running)));
        Self { lasting: Lasting::new(plan.lasts), board, index, plan, stopping: None, cancellation, held }
    }

    fn stop(&mut self, cx: &mut Context<'_>) -> Poll<StopCause> {
        let after = match self.plan.heeds {
            Heeds::Never => return Poll::Pending,
            Heeds::AtOnce => Lasts::Polls(0),
            Heeds::After(time) => Lasts::Time(time),
        };
        if self.stopping.is_none() {
            self.cancellation.probe().register(cx.waker());
            let seen = self.cancellation.checkpoint(now());
            self.stopping = seen.map(|cause| (cause, Lasting::new(after)));
        }
        match &mut self.stopping {
            Some((cause, lasting)) => lasting.poll(cx).map(|()| *cause),
            None => Poll::Pending,
        }
    }

    fn answer(&mut self, own: Own) -> ContainedExecution {
        self.over(Ran::Answered { own, proves: self.plan.proves });
        let cleanup = if self.plan.proves {
            ExecutionCleanup::Reusable
        } else {
            ExecutionCleanup::Unproven { reason: "simulated" }
        };
        let consumption = self.cancellation.budget_accounting().consumption();
        ContainedExecution { report: ExecutionReport { outcome: own.outcome(), consumption }, cleanup }
    }

    fn over(&mut self, ran: Ran) {
        drop(self.held.take());
        self.board.edit(self.index, |facts| {
            facts.ran = ran;
            facts.run_over_at = Some(now());
        });
    }
}

impl Future for RunFuture {
    type Output = ContainedExecution;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ContainedExecution> {
        self.board.edit(self.index, |facts| facts.run_polled_at = Some(now()));
        let fuel = self.plan.fuel;
        self.cancellation.budget_accounting().observe_fuel(fuel);
        self.board.edit(self.index, |facts| facts.fuel_used = fuel);
        if let Poll::Ready(cause) = self.stop(cx) {
            let own = match cause {
                StopCause::Cancelled => Own::Cancelled,
                StopCause::DeadlineExceeded => Own::Deadline,
                StopCause::TransportStopped => Own::Transport,
            };
            return Poll::Ready(self.answer(own));
        }
        self.board.meanwhile(Inside::Run);
        work(self.plan.works);
        if self.lasting.poll(cx).is_pending() {
            return Poll::Pending;
        }
        match self.plan.ends {
            RunEnds::With(own) => Poll::Ready(self.answer(own)),
            RunEnds::PanicCall | RunEnds::PanicPoll => {
                self.over(Ran::Panicked);
                planned_panic()
            }
        }
    }
}

/// Lets time pass while the thread is busy.
fn work(time: Duration) {
    if !time.is_zero() {
        let mut passing = Box::pin(tokio::time::advance(time));
        let _turned_on_at_the_first_poll = passing.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}

impl Drop for RunFuture {
    fn drop(&mut self) {
        if self.held.is_some() {
            self.over(Ran::GivenUp);
        }
        if self.plan.bomb && !std::thread::panicking() {
            self.board.edit(self.index, |facts| facts.run_bombed = true);
            planned_panic_of_destructor();
        }
    }
}
