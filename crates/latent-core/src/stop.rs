//! The stop latch: how a running guest is told to stop, and what it saw first.
//!
//! A latch has two halves. *Requests* are set from outside at any time. The *cause* is recorded by a checkpoint of
//! the running side, once, and never changes after that. Each checkpoint looks at cancellation before the
//! deadline (`activation-containment.md`, "Wasmtime stop cause"). The latch only stops; what is published is
//! decided by the cancellation registration and the precedence table.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// What stopped a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// An explicit cancel.
    Cancelled,
    /// The effective monotonic deadline.
    DeadlineExceeded,
    /// The transport that carried the call went away.
    TransportStopped,
}

const CANCEL: u8 = 1;
const TRANSPORT: u8 = 2;

const NO_CAUSE: u8 = 0;
const CAUSE_CANCELLED: u8 = 1;
const CAUSE_DEADLINE: u8 = 2;
const CAUSE_TRANSPORT: u8 = 3;

/// Requests to stop, the sticky first cause, and whom to wake.
#[derive(Debug, Default)]
pub struct StopLatch {
    requests: AtomicU8,
    cause: AtomicU8,
    wakers: Mutex<Wakers>,
}

#[derive(Debug, Default)]
struct Wakers {
    /// The task that waits for or runs the activation.
    task: Option<Waker>,
    /// Interrupts guest code between its ticks; set by a backend that runs a guest.
    interrupter: Option<Waker>,
}

impl StopLatch {
    /// A latch with nothing requested.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests a stop by explicit cancel and wakes whoever runs the activation.
    pub fn request_cancel(&self) {
        self.request(CANCEL);
    }

    /// Requests a stop because the transport went away.
    pub fn request_transport_stop(&self) {
        self.request(TRANSPORT);
    }

    /// Whether an explicit cancel was requested.
    #[must_use]
    pub fn cancel_requested(&self) -> bool {
        self.requests.load(Ordering::Acquire) & CANCEL != 0
    }

    /// The cause that a checkpoint recorded, if any did.
    #[must_use]
    pub fn cause(&self) -> Option<StopCause> {
        decode(self.cause.load(Ordering::Acquire))
    }

    /// Looks at the requests, then at `deadline`, and records the first cause there is. Once a cause is recorded
    /// every later checkpoint answers that one.
    #[must_use]
    pub fn checkpoint(&self, now: Instant, deadline: Option<Instant>) -> Option<StopCause> {
        if let Some(cause) = self.cause() {
            return Some(cause);
        }
        let requests = self.requests.load(Ordering::Acquire);
        let seen = if requests & CANCEL != 0 {
            CAUSE_CANCELLED
        } else if deadline.is_some_and(|deadline| now >= deadline) {
            CAUSE_DEADLINE
        } else if requests & TRANSPORT != 0 {
            CAUSE_TRANSPORT
        } else {
            return None;
        };
        match self.cause.compare_exchange(NO_CAUSE, seen, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => decode(seen),
            Err(first) => decode(first),
        }
    }

    /// Registers the task to wake at the next request. A request made before this call is not replayed: read
    /// [`Self::cancel_requested`] or take a [`Self::checkpoint`] after registering.
    pub fn register(&self, waker: &Waker) {
        keep(&mut self.lock().task, waker);
    }

    /// Registers the task that runs a guest, and what interrupts the guest's code between its ticks. As
    /// [`Self::register`] otherwise; the interrupter stays for as long as the latch does.
    pub fn register_running(&self, task: &Waker, interrupter: &Waker) {
        let mut wakers = self.lock();
        keep(&mut wakers.task, task);
        keep(&mut wakers.interrupter, interrupter);
    }

    /// Wakes the registered task and interrupts its guest, so that it takes a checkpoint now.
    pub fn wake(&self) {
        let (task, interrupter) = {
            let wakers = self.lock();
            (wakers.task.clone(), wakers.interrupter.clone())
        };
        // Both run outside the lock: a waker may call back into this latch.
        interrupter.into_iter().chain(task).for_each(Waker::wake);
    }

    fn request(&self, bit: u8) {
        self.requests.fetch_or(bit, Ordering::AcqRel);
        self.wake();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Wakers> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps `waker`, without cloning it when the one that is kept wakes the same task.
fn keep(kept: &mut Option<Waker>, waker: &Waker) {
    match kept {
        Some(kept) => kept.clone_from(waker),
        empty => *empty = Some(waker.clone()),
    }
}

const fn decode(cause: u8) -> Option<StopCause> {
    match cause {
        CAUSE_CANCELLED => Some(StopCause::Cancelled),
        CAUSE_DEADLINE => Some(StopCause::DeadlineExceeded),
        CAUSE_TRANSPORT => Some(StopCause::TransportStopped),
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own instants")]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;
    use std::time::Duration;

    #[test]
    fn cancellation_wins_when_both_are_first_visible_at_one_checkpoint() {
        let now = Instant::now();
        let latch = StopLatch::new();
        latch.request_cancel();
        assert_eq!(latch.checkpoint(now, Some(now)), Some(StopCause::Cancelled));
    }

    #[test]
    fn the_first_cause_is_sticky() {
        let now = Instant::now();
        let latch = StopLatch::new();
        assert_eq!(latch.checkpoint(now, Some(now + Duration::from_secs(1))), None);
        assert_eq!(latch.checkpoint(now, Some(now)), Some(StopCause::DeadlineExceeded));
        latch.request_cancel();
        assert_eq!(latch.checkpoint(now, None), Some(StopCause::DeadlineExceeded));
        assert!(latch.cancel_requested(), "the request stays visible to the registration's side");
    }

    #[test]
    fn a_deadline_beats_a_transport_stop() {
        let now = Instant::now();
        let latch = StopLatch::new();
        latch.request_transport_stop();
        assert_eq!(latch.checkpoint(now, Some(now)), Some(StopCause::DeadlineExceeded));
    }

    #[test]
    fn a_request_wakes_the_task_and_the_interrupter() {
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let latch = StopLatch::new();
        let waker = Waker::from(count.clone());
        latch.register(&waker);
        latch.request_transport_stop();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        latch.register_running(&waker, &waker);
        latch.request_cancel();
        assert_eq!(count.0.load(Ordering::Relaxed), 3);
    }
}
