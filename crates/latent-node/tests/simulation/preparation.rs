//! A preparation as planned: at once, later, out of a compiler's job that does not need its waiters, or never.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::PreparedReadiness;

use crate::backend::{now, readiness};
use crate::board::{Board, Held, Index, Job, Kind, Prepared, planned_panic, planned_panic_of_destructor};
use crate::lasting::Lasting;
use crate::plan::{Lasts, Preparation, PreparationEnds};

pub struct PreparationFuture {
    board: Board,
    index: Index,
    plan: Preparation,
    wait: Wait,
    held: Option<Held>,
}

enum Wait {
    Lasting(Lasting),
    Job(usize),
}

impl PreparationFuture {
    pub fn new(board: Board, index: Index, plan: Preparation) -> Self {
        let wait = match plan.lasts {
            Lasts::Time(time) if plan.compiles => Wait::Job(job(&board, time)),
            lasts => Wait::Lasting(Lasting::new(lasts)),
        };
        board.edit(index, |facts| facts.prepared = Prepared::Waiting);
        let held = Some(Held::new(&board, Kind::Waiting));
        Self { board, index, plan, wait, held }
    }

    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut self.wait {
            Wait::Lasting(lasting) => lasting.poll(cx).is_ready(),
            Wait::Job(place) => {
                let mut state = self.board.lock();
                let job = &mut state.jobs[*place];
                if !job.done {
                    job.waiters.push(cx.waker().clone());
                }
                job.done
            }
        }
    }

    fn end(&mut self, prepared: Prepared) {
        self.held = None;
        self.board.edit(self.index, |facts| facts.prepared = prepared);
    }
}

fn job(board: &Board, time: Duration) -> usize {
    let mut state = board.lock();
    state.jobs.push(Job { done_at: now() + time, done: false, waiters: Vec::new() });
    state.jobs.len() - 1
}

impl Future for PreparationFuture {
    type Output = Result<PreparedReadiness, PlatformError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_over(cx) {
            return Poll::Pending;
        }
        Poll::Ready(match self.plan.ends {
            PreparationEnds::Ready => {
                self.end(Prepared::Ready);
                Ok(readiness(&self.board, self.index, self.plan.pin_bomb))
            }
            PreparationEnds::NoRoom => {
                self.end(Prepared::Failed);
                Err(PlatformError::new(PlatformErrorCode::ResourceExhausted, "no compiler is free").retryable())
            }
            PreparationEnds::Corrupt => {
                self.end(Prepared::Failed);
                Err(PlatformError::new(PlatformErrorCode::CorruptArtifact, "the release is damaged"))
            }
            PreparationEnds::PanicCall | PreparationEnds::PanicPoll => {
                self.end(Prepared::Panicked);
                planned_panic()
            }
        })
    }
}

impl Drop for PreparationFuture {
    fn drop(&mut self) {
        let bomb = self.plan.bomb && !std::thread::panicking();
        self.held = None;
        self.board.edit(self.index, |facts| {
            if facts.prepared == Prepared::Waiting {
                facts.prepared = Prepared::GivenUp;
            }
            facts.preparation_bombed = bomb;
        });
        if bomb {
            planned_panic_of_destructor();
        }
    }
}
