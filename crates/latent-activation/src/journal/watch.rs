//! Watching one activation: woken at each event, without asking again and again.
//!
//! Invariant: whoever registers looks again after registering, and whoever moves the activation on looks for watchers
//! with the step itself, so that no event falls between the two. A watch keeps its record: one that is evicted meanwhile
//! is seen to its end.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode};

#[cfg(latent_loom)]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(not(latent_loom))]
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::LocalActivationJournal;
use super::config::wide;
use super::record::Record;
use super::status::ActivationStatus;
use crate::phase::{LifecycleEvent, Progress};

/// The watches of a journal: how many there are, and a number for the next.
#[derive(Debug)]
pub(super) struct Watches {
    alive: AtomicUsize,
    numbered: AtomicU64,
}

impl Watches {
    pub(super) fn none() -> Self {
        Self { alive: AtomicUsize::new(0), numbered: AtomicU64::new(0) }
    }

    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

/// One of the watches that a journal allows.
pub(super) struct Permit {
    journal: Arc<LocalActivationJournal>,
    key: u64,
}

impl Permit {
    /// # Errors
    /// Retryable `resource-exhausted` when as many are there as may be.
    pub(super) fn take(journal: &Arc<LocalActivationJournal>) -> Result<Self, PlatformError> {
        let (watches, max) = (&journal.watches, journal.limits.config.watchers_max);
        if watches.alive.fetch_add(1, Ordering::Relaxed) >= max {
            watches.alive.fetch_sub(1, Ordering::Relaxed);
            return Err(exhausted(max));
        }
        let key = watches.numbered.fetch_add(1, Ordering::Relaxed);
        Ok(Self { journal: Arc::clone(journal), key })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.journal.watches.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

fn exhausted(max: usize) -> PlatformError {
    let message =
        format_args!("{max} watchers of activations are there, as many as may be; ask for the status instead");
    PlatformError::new(PlatformErrorCode::ResourceExhausted, message)
        .retryable()
        .with_detail(ErrorDetail::new("activation.watchers-exhausted").with("max", wide(max)))
}

/// Somebody's view of one activation while it goes on. Dropping it ends the watching, and nothing else.
pub struct ActivationWatch {
    record: Arc<Record>,
    permit: Permit,
    /// The number of the last event that was handed out.
    seen: u64,
}

impl ActivationWatch {
    pub(super) fn new(record: Arc<Record>, permit: Permit) -> Self {
        Self { record, permit, seen: 0 }
    }

    /// The activation.
    #[must_use]
    pub fn activation_id(&self) -> &ActivationId {
        self.record.activation_id()
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> ActivationStatus {
        self.record.status()
    }

    /// The events after the one numbered `sequence`, in order; 0 for all. They count as seen from now on.
    #[must_use]
    pub fn events_after(&mut self, sequence: u64) -> Vec<LifecycleEvent> {
        let progress = self.record.progress();
        self.seen = progress.last().sequence.max(sequence);
        progress.events().filter(|event| event.sequence > sequence).collect()
    }

    /// Waits until there is an event after the last one seen: at once, if there is one by now. `false` when the end has
    /// been seen, after which none comes.
    pub async fn changed(&mut self) -> bool {
        poll_fn(|cx| self.poll_changed(cx)).await
    }

    /// As [`changed`](Self::changed), for who polls by hand. The waker of the last call is the one that is woken.
    pub fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if let Some(answer) = self.answer(&self.record.progress()) {
            return Poll::Ready(answer);
        }
        let progress = self.record.register(self.permit.key, cx.waker());
        self.answer(&progress).map_or(Poll::Pending, Poll::Ready)
    }

    fn answer(&self, progress: &Progress) -> Option<bool> {
        if progress.last().sequence > self.seen { Some(true) } else { progress.terminal().map(|_state| false) }
    }
}

impl Drop for ActivationWatch {
    fn drop(&mut self) {
        self.record.unregister(self.permit.key);
    }
}

impl fmt::Debug for ActivationWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivationWatch")
            .field("activation", self.activation_id())
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}
