//! Who runs the streams of an HTTP/2 connection.
//!
//! Handing a stream to a task costs up to two changes of thread, more than a short call takes. So the first stream of each turn of
//! a connection is begun where it arrived, and its answer leaves with that turn. What does not end at once, and every
//! further stream of the turn, gets a task.
//!
//! Invariant: a stream is polled by its connection at most once, before anything else polls it; a panic ends its stream alone.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

use hyper::rt::Executor;

/// The executor of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams {
    /// Whether the turn has a stream of its own to begin. Written and read by the connection's task alone.
    first: Arc<AtomicBool>,
}

impl Streams {
    /// Says that the connection is about to be polled.
    pub(super) fn begin_turn(&self) {
        self.first.store(true, Ordering::Relaxed);
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        if !self.first.swap(false, Ordering::Relaxed) {
            tokio::spawn(stream);
            return;
        }
        // Unwinding drops the stream, which resets it, as the end of a task would.
        if let Ok(Some(rest)) = catch_unwind(AssertUnwindSafe(|| begin(stream))) {
            tokio::spawn(rest);
        }
    }
}

/// Polls `stream` for the first time, and returns it unless that was all. Its task polls it again, so nobody need be woken for it.
fn begin<F: Future<Output = ()>>(stream: F) -> Option<Pin<Box<F>>> {
    let mut stream = Box::pin(stream);
    let ended = stream.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    (!ended).then_some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    /// A future that says when it is polled, and ends with `gate`.
    fn stream(polled: &Arc<AtomicBool>, gate: oneshot::Receiver<()>) -> impl Future<Output = ()> + Send + 'static {
        let polled = Arc::clone(polled);
        async move {
            polled.store(true, Ordering::SeqCst);
            let _opened = gate.await;
        }
    }

    fn open() -> oneshot::Receiver<()> {
        let (opener, gate) = oneshot::channel();
        opener.send(()).unwrap();
        gate
    }

    #[tokio::test]
    async fn the_first_stream_of_a_turn_is_begun_in_it_and_the_second_gets_a_task() {
        let streams = Streams::default();
        let [first, second] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        streams.begin_turn();
        streams.execute(stream(&first, open()));
        streams.execute(stream(&second, open()));
        assert_eq!([&first, &second].map(|polled| polled.load(Ordering::SeqCst)), [true, false]);
        // This thread runs the task as soon as the test waits.
        tokio::task::yield_now().await;
        assert!(second.load(Ordering::SeqCst));
        let third = Arc::new(AtomicBool::new(false));
        streams.begin_turn();
        streams.execute(stream(&third, open()));
        assert!(third.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_stream_that_does_not_end_at_once_goes_on_in_a_task() {
        let streams = Streams::default();
        let (opener, gate) = oneshot::channel::<()>();
        let (told, done) = oneshot::channel();
        streams.begin_turn();
        streams.execute(async move {
            let opened = gate.await.is_ok();
            told.send(opened).unwrap();
        });
        opener.send(()).unwrap();
        assert_eq!(done.await, Ok(true));
    }

    #[tokio::test]
    async fn a_panic_ends_its_stream_alone() {
        let streams = Streams::default();
        let (held, dropped) = oneshot::channel::<()>();
        streams.begin_turn();
        streams.execute(async move {
            let _held = held;
            panic!("a stream that fails");
        });
        assert!(dropped.await.is_err(), "what the stream held is gone");
        let next = Arc::new(AtomicBool::new(false));
        streams.begin_turn();
        streams.execute(stream(&next, open()));
        assert!(next.load(Ordering::SeqCst));
    }
}
