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
    /// The task that watches over whoever runs it.
    watcher: Option<Waker>,
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
        self.keep(waker, |wakers| &mut wakers.task);
    }

    /// Registers the task that watches over the one that runs the activation, so that neither takes the other's
    /// wake-ups. As [`Self::register`] otherwise.
    pub fn watch(&self, waker: &Waker) {
        self.keep(waker, |wakers| &mut wakers.watcher);
    }

    /// Registers the task that runs a guest, and what interrupts the guest's code between its ticks. As
    /// [`Self::register`] otherwise; the interrupter stays for as long as the latch does.
    pub fn register_running(&self, task: &Waker, interrupter: &Waker) {
        {
            let wakers = self.lock();
            if is_kept(wakers.task.as_ref(), task) && is_kept(wakers.interrupter.as_ref(), interrupter) {
                return;
            }
        }
        let (task, interrupter) = (task.clone(), interrupter.clone());
        let before = {
            let mut wakers = self.lock();
            (wakers.task.replace(task), wakers.interrupter.replace(interrupter))
        };
        drop(before);
    }

    /// Wakes the registered tasks and interrupts their guest, so that each takes a checkpoint now.
    pub fn wake(&self) {
        let (task, watcher, interrupter) = {
            let Wakers { task, watcher, interrupter } = &*self.lock();
            let other = watcher.as_ref().filter(|watcher| !is_kept(task.as_ref(), watcher));
            (task.clone(), other.cloned(), interrupter.clone())
        };
        // They run outside the lock: a waker may call back into this latch.
        interrupter.into_iter().chain(task).chain(watcher).for_each(Waker::wake);
    }

    /// Keeps `waker`, without cloning it when the one that is kept wakes the same task. The one before is dropped outside
    /// the lock: with it may go whatever its task holds, and that may call back into this latch.
    fn keep(&self, waker: &Waker, place: fn(&mut Wakers) -> &mut Option<Waker>) {
        if is_kept(place(&mut self.lock()).as_ref(), waker) {
            return;
        }
        let waker = waker.clone();
        let before = place(&mut self.lock()).replace(waker);
        drop(before);
    }

    fn request(&self, bit: u8) {
        self.requests.fetch_or(bit, Ordering::AcqRel);
        self.wake();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Wakers> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_kept(kept: Option<&Waker>, waker: &Waker) -> bool {
    kept.is_some_and(|kept| kept.will_wake(waker))
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
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, mpsc};
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

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_request_wakes_whoever_runs_and_whoever_watches_each_once() {
        let counts = [Arc::<Count>::default(), Arc::default()];
        let [runner, watcher] = counts.clone().map(Waker::from);
        let latch = StopLatch::new();
        latch.register(&runner);
        latch.watch(&watcher);
        latch.request_cancel();
        assert_eq!(counts.each_ref().map(|count| count.0.load(Ordering::Relaxed)), [1, 1]);
        latch.watch(&runner);
        latch.request_transport_stop();
        assert_eq!(counts.each_ref().map(|count| count.0.load(Ordering::Relaxed)), [2, 1], "one task, one wake-up");
    }

    #[test]
    fn a_waker_that_uses_the_latch_when_it_is_replaced_finds_it_unlocked() {
        struct Leaves(Arc<StopLatch>, mpsc::Sender<bool>);
        impl Wake for Leaves {
            fn wake(self: Arc<Self>) {}
        }
        impl Drop for Leaves {
            fn drop(&mut self) {
                let unlocked = self.0.wakers.try_lock().is_ok();
                self.1.send(unlocked).unwrap();
            }
        }
        let latch = Arc::new(StopLatch::new());
        let (sender, found) = mpsc::channel();
        let leaves = || Waker::from(Arc::new(Leaves(latch.clone(), sender.clone())));
        latch.register_running(&leaves(), &leaves());
        latch.watch(&leaves());
        latch.register_running(Waker::noop(), Waker::noop());
        latch.watch(Waker::noop());
        assert_eq!(found.try_iter().collect::<Vec<_>>(), [true; 3]);
    }

    #[test]
    fn a_request_wakes_the_task_and_the_interrupter() {
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
