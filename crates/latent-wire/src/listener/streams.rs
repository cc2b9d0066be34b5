//! Who runs the streams of an HTTP/2 connection.
//!
//! Handing a stream to a task costs changes of thread, which take longer than a short call. So a connection runs one stream
//! itself: the one that comes while it has none. Its answer is then written where it was made. Streams beside it get tasks of their
//! own, and so does one that keeps the connection for long.
//!
//! Invariant: a panic ends its stream alone; a stream that is handed to a task is polled there again, so that no wake-up is lost.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::Instant;

use super::rounds::SHORT;

/// How many times a connection polls its stream before a task does: once when it comes, once when its body has come, and some
/// for what else wakes a connection.
const POLLS_MAX: u8 = 4;

/// The streams of one connection, which end with it.
#[derive(Default)]
pub(super) struct Streams(Begins);

/// Takes the streams of a connection as they come.
#[derive(Clone, Default)]
pub(super) struct Begins {
    own: Arc<Mutex<Option<Own>>>,
}

/// A stream that its connection runs.
struct Own {
    stream: Pin<Box<dyn Future<Output = ()> + Send>>,
    polls: u8,
}

impl Streams {
    /// What the connection gives its streams to.
    pub(super) fn begins(&self) -> Begins {
        self.0.clone()
    }

    /// Polls the connection's own stream, if it has one, and wakes whoever polls when it has ended, as there may be something
    /// to write.
    pub(super) fn poll_own(&self, cx: &mut Context<'_>) {
        let Some(own) = self.0.lock().take() else { return };
        let began = Instant::now();
        // Unwinding drops the stream, which resets it, as the end of a task would.
        match catch_unwind(AssertUnwindSafe(|| own.poll(cx))) {
            Ok(Some(own)) => self.keep(own, began.elapsed()),
            Ok(None) | Err(_) => cx.waker().wake_by_ref(),
        }
    }

    /// Keeps a stream that goes on. One whose last poll took so long computes, and one that was polled so often waits for much:
    /// a task has it from then on, so that the connection has its turns for itself.
    fn keep(&self, own: Own, took: Duration) {
        if took < SHORT && own.polls < POLLS_MAX {
            *self.0.lock() = Some(own);
        } else {
            tokio::spawn(own.stream);
        }
    }
}

impl Drop for Streams {
    /// A stream keeps what it was given to, and so itself.
    fn drop(&mut self) {
        let own = self.0.lock().take();
        drop(own);
    }
}

impl Begins {
    fn lock(&self) -> MutexGuard<'_, Option<Own>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Own {
    /// Itself, unless it has ended.
    fn poll(mut self, cx: &mut Context<'_>) -> Option<Self> {
        self.polls += 1;
        match self.stream.as_mut().poll(cx) {
            Poll::Ready(()) => None,
            Poll::Pending => Some(self),
        }
    }
}

impl<F> Executor<F> for Begins
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let mut own = self.lock();
        if own.is_none() {
            *own = Some(Own { stream: Box::pin(stream), polls: 0 });
        } else {
            drop(own);
            tokio::spawn(stream);
        }
    }
}

#[cfg(test)]
mod tests;
