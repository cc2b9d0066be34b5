//! How often a connection is looked at while its task runs.
//!
//! Whatever a request does wakes its connection: it asks for its body, it has something to send, its stream ends. A task that is
//! woken while it runs is put behind all others, and a thread is woken to take it, which costs more than a short call. So
//! those wake-ups lead to another look at once.
//!
//! Invariant: a wake-up leads to another look, or to one of the task; none is lost. A guest that computes keeps its thread no
//! longer than one tick of the engine and [`SHORT`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

/// After so long another look is a matter of the task, behind all others.
const SHORT: Duration = Duration::from_micros(200);
/// And after so many.
const ROUNDS_MAX: u8 = 16;

/// Wake-ups go to the task.
const OPEN: u8 = 0;
/// It is being looked, and nobody has asked for more.
const LOOKING: u8 = 1;
/// It is being looked, and somebody has asked for more.
const ASKED: u8 = 2;

/// The looks at one connection.
pub(super) struct Rounds {
    door: Arc<Door>,
    waker: Waker,
}

/// Where wake-ups come in.
#[derive(Default)]
struct Door {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Rounds {
    pub(super) fn new() -> Self {
        let door = Arc::<Door>::default();
        let waker = Waker::from(Arc::clone(&door));
        Self { door, waker }
    }

    /// Looks until it is ready or nobody asks for more, or wakes the task if that takes long.
    pub(super) fn poll<T>(&self, cx: &mut Context<'_>, mut look: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.door.task.register(cx.waker());
        let began = Instant::now();
        for _ in 0..ROUNDS_MAX {
            self.door.state.store(LOOKING, Ordering::Release);
            let seen = look(&mut Context::from_waker(&self.waker));
            let is_asked = self.door.state.swap(OPEN, Ordering::AcqRel) == ASKED;
            if seen.is_ready() || !is_asked {
                return seen;
            }
            if began.elapsed() >= SHORT {
                break;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Door {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let asked = self.state.compare_exchange(LOOKING, ASKED, Ordering::AcqRel, Ordering::Acquire);
        if asked.is_err_and(|state| state == OPEN) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests;
