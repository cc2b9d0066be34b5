//! One stream by the connection, the others by tasks.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::*;
use crate::listener::rounds::tests::compute;
use tokio::sync::oneshot;

/// A stream that counts how often it is polled, and ends with the gate.
fn stream(polls: &Arc<AtomicUsize>, mut gate: oneshot::Receiver<()>) -> impl Future<Output = ()> + Send + 'static {
    let polls = Arc::clone(polls);
    std::future::poll_fn(move |cx| {
        polls.fetch_add(1, Ordering::SeqCst);
        Pin::new(&mut gate).poll(cx).map(|_opened| ())
    })
}

fn open() -> oneshot::Receiver<()> {
    let (opener, gate) = oneshot::channel();
    opener.send(()).unwrap();
    gate
}

/// Polls the connection's stream; whether that asks for another look.
fn turn(streams: &Streams) -> bool {
    let asked = Arc::new(Asked::default());
    streams.poll_own(&mut Context::from_waker(&Waker::from(Arc::clone(&asked))));
    asked.0.load(Ordering::SeqCst)
}

#[derive(Default)]
struct Asked(AtomicBool);

impl Wake for Asked {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn the_first_stream_is_run_by_the_connection_and_the_second_by_a_task() {
    let streams = Streams::default();
    let [first, second] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    streams.begins().execute(stream(&first, open()));
    streams.begins().execute(stream(&second, open()));
    // This thread runs tasks as soon as the test waits.
    tokio::task::yield_now().await;
    assert_eq!([&first, &second].map(|polls| polls.load(Ordering::SeqCst)), [0, 1]);
    assert!(turn(&streams), "it has ended");
    assert_eq!(first.load(Ordering::SeqCst), 1);
    assert!(!turn(&streams), "there is none any more");
    let third = Arc::new(AtomicUsize::new(0));
    streams.begins().execute(stream(&third, open()));
    assert!(turn(&streams), "the next one is the connection's again");
}

#[tokio::test]
async fn a_stream_that_waits_stays_and_ends_where_it_is() {
    let streams = Streams::default();
    let polls = Arc::new(AtomicUsize::new(0));
    let (opener, gate) = oneshot::channel();
    streams.begins().execute(stream(&polls, gate));
    assert!(!turn(&streams));
    opener.send(()).unwrap();
    assert!(turn(&streams));
    assert_eq!(polls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_stream_that_keeps_the_connection_gets_a_task() {
    let streams = Streams::default();
    let polls = Arc::new(AtomicUsize::new(0));
    let (opener, gate) = oneshot::channel();
    let (told, done) = oneshot::channel();
    let held = stream(&polls, gate);
    streams.begins().execute(async move {
        held.await;
        told.send(()).unwrap();
    });
    for _ in 0..POLLS_MAX {
        assert!(!turn(&streams));
    }
    assert!(streams.0.lock().is_none(), "the connection is free for another");
    opener.send(()).unwrap();
    done.await.expect("a task polled it to its end");
}

#[tokio::test]
async fn a_stream_that_computes_gets_a_task_after_its_first_turn() {
    let streams = Streams::default();
    let (told, done) = oneshot::channel();
    let mut turns = 0;
    let computes = std::future::poll_fn(move |cx| {
        turns += 1;
        if turns == 2 {
            return Poll::Ready(());
        }
        compute(SHORT);
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    streams.begins().execute(async move {
        computes.await;
        told.send(()).unwrap();
    });
    turn(&streams);
    assert!(streams.0.lock().is_none(), "the connection has its turns for itself");
    done.await.expect("a task polled it to its end");
}

#[tokio::test]
async fn a_panic_ends_its_stream_alone() {
    let streams = Streams::default();
    let (held, dropped) = oneshot::channel::<()>();
    streams.begins().execute(async move {
        let _held = held;
        panic!("a stream that fails");
    });
    assert!(turn(&streams));
    assert!(dropped.await.is_err(), "what the stream held is gone");
    streams.begins().execute(stream(&Arc::default(), open()));
    assert!(turn(&streams));
}

#[tokio::test]
async fn a_stream_that_keeps_the_executor_ends_with_its_connection() {
    let streams = Streams::default();
    let begins = streams.begins();
    let (held, dropped) = oneshot::channel::<()>();
    streams.begins().execute(async move {
        let _held = (held, begins);
        std::future::pending::<()>().await;
    });
    assert!(!turn(&streams));
    drop(streams);
    assert!(dropped.await.is_err());
}
