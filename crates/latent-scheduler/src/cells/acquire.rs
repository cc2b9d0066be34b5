//! The future of one acquisition: a decision when first polled, a wait only if that says so.
//!
//! Invariant: from the moment it has a ticket until it has the answer, a guard owns the ticket, and dropping the
//! guard gives up the place in the queue or the cell promised to it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use latent_core::PlatformError;
use tokio::time::Sleep;

use super::core::{Admission, Progress, Ticket, WhenBusy};
use super::lease::CellLease;
use super::pool::Shared;
use super::port::CellRequest;

/// Acquires a cell. With an idle cell this neither queues, nor makes a timer, nor suspends.
pub(super) async fn acquire(shared: &Arc<Shared>, request: CellRequest) -> Result<CellLease, PlatformError> {
    let expires_at = request.expires_at;
    match shared.admit(request, WhenBusy::Queue) {
        Admission::Granted(grant) => Ok(shared.lease(grant)),
        Admission::Queued(ticket) => Waiting { shared, ticket: Some(ticket), expires_at, timer: None }.await,
        Admission::Refused(refusal) => Err(refusal.into()),
        Admission::Busy => unreachable!("a request that may queue is never sent away as busy"),
    }
}

/// A place in the queue, or a cell promised and not yet accepted.
struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    /// `None` once the answer is out.
    ticket: Option<Ticket>,
    expires_at: Option<SystemTime>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Waiting<'_> {
    /// Waits on the runtime's timer until about `expires_at`. `true`: it is time to look at the wall clock again,
    /// which alone decides; it may have been set back, or the timer may have run ahead of it.
    fn timer_fired(&mut self, now: Option<SystemTime>, cx: &mut Context<'_>) -> bool {
        let (Some(expires_at), Some(now)) = (self.expires_at, now) else { return false };
        let rest = expires_at.duration_since(now).unwrap_or_default();
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(rest)));
        if timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.timer = None;
        true
    }
}

impl Future for Waiting<'_> {
    type Output = Result<CellLease, PlatformError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let ticket = self.ticket.expect("an acquisition is not polled after it is ready");
            let now = self.shared.now_for(self.expires_at);
            let mut wake = Some(cx.waker().clone());
            let progress = self.shared.decide(|core| core.progress(ticket, now, &mut wake));
            match progress {
                Progress::Granted(grant) => {
                    self.ticket = None;
                    return Poll::Ready(Ok(self.shared.lease(grant)));
                }
                Progress::Failed(refusal, aftermath) => {
                    self.ticket = None;
                    self.shared.announce(aftermath);
                    return Poll::Ready(Err(refusal.into()));
                }
                Progress::Waiting => {
                    if !self.timer_fired(now, cx) {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let aftermath = self.shared.decide(|core| core.withdraw(ticket));
            self.shared.announce(aftermath);
        }
    }
}
