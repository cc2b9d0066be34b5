//! An activation whose transport is gone, polled by the driver to its end or to the end of its time.
//!
//! Invariant: it counts its slot out exactly once, as ended in time or as an overrun, after its record has its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::slot::Shared;
use super::transfers::Went;
use crate::manager::ActivationHandle;
use crate::time::{LazyTimer, now};

/// One continuation. Dropped before it has ended, it is an overrun.
pub(super) struct Continuation {
    /// There until it has ended.
    handle: Option<ActivationHandle>,
    /// The last instant at which ending is in time.
    until: Instant,
    /// Made when it is first waited for: a transfer may happen outside of any runtime.
    timer: LazyTimer,
    shared: Arc<Shared>,
}

impl Continuation {
    /// Goes on with `handle`, which was interrupted just now.
    pub(super) fn new(handle: ActivationHandle, shared: Arc<Shared>) -> Self {
        Self { handle: Some(handle), until: now() + shared.cap, timer: LazyTimer::default(), shared }
    }

    /// Gives it up.
    fn overrun(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        handle.overrun(self.shared.cap);
        self.shared.transfers.settle(Went::Overrun);
    }
}

impl Future for Continuation {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let until = self.until;
        let Some(handle) = self.handle.as_mut().filter(|_| now() <= until) else {
            self.overrun();
            return Poll::Ready(());
        };
        if let Poll::Ready(receipt) = Pin::new(handle).poll(cx) {
            // Nobody is there to read it. The record keeps what is kept.
            drop((self.handle.take(), receipt));
            self.shared.transfers.settle(Went::InTime);
            return Poll::Ready(());
        }
        if self.timer.poll(until, cx).is_pending() && now() < until {
            return Poll::Pending;
        }
        self.overrun();
        Poll::Ready(())
    }
}

impl Drop for Continuation {
    fn drop(&mut self) {
        self.overrun();
    }
}
