//! A follower's stream, and what waits for it.
//!
//! Invariant: what waits is bounded in bytes; what had to give way is counted, and told with the next record.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use latent_core::{ServiceName, TenantId};

use super::LogEntry;
use super::book::Shared;
use super::shelves::Held;

/// Somebody who reads along.
pub(super) struct Follower {
    pub(super) key: u64,
    tenant: TenantId,
    service: Option<ServiceName>,
    waiting: VecDeque<Arc<Held>>,
    bytes: u64,
    /// Since the last record that was handed out.
    missed: u64,
    waker: Option<Waker>,
}

impl Follower {
    pub(super) fn new(key: u64, tenant: TenantId, service: Option<ServiceName>) -> Self {
        Self { key, tenant, service, waiting: VecDeque::new(), bytes: 0, missed: 0, waker: None }
    }

    /// Whether a record is one of those asked for.
    pub(super) fn wants(&self, held: &Held) -> bool {
        held.record.tenant == self.tenant && (self.service.is_none() || self.service == held.record.service)
    }

    /// Room for `bytes` more of what was written before.
    pub(super) fn has_room(&self, bytes: u64, bytes_max: u64) -> bool {
        self.bytes + bytes <= bytes_max
    }

    /// Takes a record from before the follower came, older than all that waits.
    pub(super) fn put_first(&mut self, held: &Arc<Held>) {
        self.bytes += held.bytes;
        self.waiting.push_front(Arc::clone(held));
    }

    /// Takes a new record. The oldest give way, and how many is the answer.
    pub(super) fn put(
        &mut self,
        held: &Arc<Held>,
        bytes_max: u64,
        gone: &mut Vec<Arc<Held>>,
        wake: &mut Vec<Waker>,
    ) -> u64 {
        let before = self.missed;
        if held.bytes > bytes_max {
            self.missed += 1;
        } else {
            while !self.has_room(held.bytes, bytes_max) {
                let Some(oldest) = self.waiting.pop_front() else { break };
                self.bytes -= oldest.bytes;
                self.missed += 1;
                gone.push(oldest);
            }
            self.bytes += held.bytes;
            self.waiting.push_back(Arc::clone(held));
        }
        wake.extend(self.waker.take());
        self.missed - before
    }

    /// The next record with what was missed before it, or a wish to be woken. The waker that was there is handed out.
    pub(super) fn take(&mut self, waker: &Waker) -> Result<(Arc<Held>, u64), Option<Waker>> {
        match self.waiting.pop_front() {
            Some(held) => {
                self.bytes -= held.bytes;
                Ok((held, std::mem::take(&mut self.missed)))
            }
            None => Err(self.waker.replace(waker.clone())),
        }
    }
}

/// The stream of one follower. It never ends by itself.
pub(super) struct Follow {
    shared: Arc<Shared>,
    key: u64,
}

impl Follow {
    pub(super) fn new(shared: Arc<Shared>, key: u64) -> Self {
        Self { shared, key }
    }
}

impl Stream for Follow {
    type Item = LogEntry;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<LogEntry>> {
        let taken = self.shared.lock().follower(self.key).map(|follower| follower.take(cx.waker()));
        match taken {
            Some(Ok((held, missed))) => Poll::Ready(Some(held.entry(missed))),
            Some(Err(_replaced)) => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let gone = self.shared.lock().unfollow(self.key);
        drop(gone);
    }
}
