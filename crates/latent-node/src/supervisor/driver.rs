//! The one future that polls all continuations of a supervisor.
//!
//! Invariant: it spawns nothing, and is woken for what is transferred while it sleeps. Dropped, it leaves nothing under
//! way behind.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use super::continuation::Continuation;
use super::slot::Shared;
use super::transfers::Outlook;

/// How many continuations may end in one poll of the driver, before others on its thread have their turn.
const ENDS_PER_POLL_MAX: usize = 64;

/// Cleans up what was transferred to its supervisor. Whoever owns the runtime spawns it once, on a Tokio runtime with its
/// timer on. It is ready when the supervisor is closed and nothing is reserved or under way any more.
///
/// Dropped before, it closes the supervisor and gives up what is under way, and whatever is transferred later: each an
/// overrun, with its record ended and its cell out of reuse.
#[must_use = "nothing is cleaned up unless the driver is polled"]
pub struct CleanupDriver {
    shared: Arc<Shared>,
    continuations: FuturesUnordered<Continuation>,
    /// Empty between two polls; kept for its room.
    batch: Vec<Continuation>,
}

impl CleanupDriver {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, continuations: FuturesUnordered::new(), batch: Vec::new() }
    }
}

impl Future for CleanupDriver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        for _ in 0..ENDS_PER_POLL_MAX {
            if this.shared.transfers.look(cx.waker(), &mut this.batch) == Outlook::Over {
                return Poll::Ready(());
            }
            this.continuations.extend(this.batch.drain(..));
            match this.continuations.poll_next_unpin(cx) {
                // One has ended: this may have been the last.
                Poll::Ready(Some(())) => {}
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for CleanupDriver {
    fn drop(&mut self) {
        // Dropped, a continuation is given up. Those that were taken go with the fields.
        drop(self.shared.transfers.abandon());
    }
}

impl fmt::Debug for CleanupDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CleanupDriver").field("snapshot", &self.shared.transfers.snapshot()).finish_non_exhaustive()
    }
}
