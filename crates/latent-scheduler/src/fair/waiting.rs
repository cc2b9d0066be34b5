//! A place in the queue, as a future.
//!
//! Invariant: from its first poll until its answer a guard owns the ticket; dropping it gives up the place or the
//! promised cell. Whoever waits looks at least once a grace, so that a promise whose owner never looks is taken
//! back although nothing else happens.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use latent_core::{StopCause, StopLatch};
use tokio::time::Sleep;

use super::ask::{Ask, Ticket};
use super::class::{Class, now};
use super::core::Look;
use super::refusal::Refusal;
use crate::cells::CellLease;

/// Why a wait ends without a cell.
#[derive(Debug)]
pub(super) enum Ended {
    Stopped(StopCause),
    Refused(Refusal),
}

/// Waits for a cell of `class`.
pub(super) struct Waiting<'a> {
    pub(super) class: &'a Arc<Class>,
    pub(super) latch: &'a StopLatch,
    pub(super) deadline: Instant,
    pub(super) cleanup_grace: Duration,
    pub(super) place: Place,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
}

/// Where the wait is.
#[derive(Debug)]
pub(super) enum Place {
    /// Not polled yet.
    Outside(Ask),
    /// Its ticket.
    Queued(Ticket),
    /// The answer is out.
    Over,
}

impl Waiting<'_> {
    /// The entry of this wait, made at the first poll.
    fn ticket(&mut self, cx: &Context<'_>, now: Instant) -> Result<Ticket, Refusal> {
        match std::mem::replace(&mut self.place, Place::Over) {
            Place::Outside(ask) => {
                let mut wake = Some(cx.waker().clone());
                let ticket = self.class.decide(|core| core.enqueue(now, ask, &mut wake))?;
                self.place = Place::Queued(ticket);
                Ok(ticket)
            }
            Place::Queued(ticket) => {
                self.place = Place::Queued(ticket);
                Ok(ticket)
            }
            Place::Over => unreachable!("a wait is not polled after it is over"),
        }
    }

    /// `true`: it is time to look again. Under the model checker time stands still.
    fn timer_fired(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        if cfg!(latent_loom) {
            return false;
        }
        let until = now.checked_add(self.cleanup_grace).map_or(self.deadline, |look| look.min(self.deadline));
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until.into())));
        let fired = timer.as_mut().poll(cx).is_ready();
        if fired {
            self.timer = None;
        }
        fired
    }
}

impl Future for Waiting<'_> {
    type Output = Result<CellLease, Ended>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.latch.register(cx.waker());
        loop {
            let now = now();
            if let Some(cause) = self.latch.checkpoint(now, Some(self.deadline)) {
                return Poll::Ready(Err(Ended::Stopped(cause)));
            }
            let ticket = match self.ticket(cx, now) {
                Ok(ticket) => ticket,
                Err(refusal) => return Poll::Ready(Err(Ended::Refused(refusal))),
            };
            let mut wake = Some(cx.waker().clone());
            match self.class.decide(|core| core.look(ticket, &mut wake)) {
                Look::Granted(lease) => {
                    self.place = Place::Over;
                    return Poll::Ready(Ok(lease));
                }
                Look::Failed(refusal) => {
                    self.place = Place::Over;
                    return Poll::Ready(Err(Ended::Refused(refusal)));
                }
                Look::Waiting => {}
            }
            drop(wake);
            if !self.class.dispatch(Some(ticket)) && !self.timer_fired(now, cx) {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Place::Queued(ticket) = self.place {
            self.class.withdraw(ticket);
        }
    }
}
