//! Runs polled by hand: parked on purpose, cancelled at the n-th poll, dropped at the n-th poll.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::JoinHandle;

use futures_util::future::BoxFuture;
use latent_activation::CancelDisposition;
use latent_executor::{ContainedExecution, ExecutionBackend, suite};
use latent_node::ActivationReport;

use crate::calls::{Call, artifact, assert_cancelled, call, echo, mode, spin, succeeded};
use crate::support::{Node, Setup, WATCHDOG, on_node, until, yield_now};

/// Polls `run` until it waits for something outside: pending, without having asked to be polled again.
pub async fn park<F: Future>(run: &mut Pin<Box<F>>) {
    struct Asked(AtomicBool);
    impl Wake for Asked {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let asked = Arc::new(Asked(AtomicBool::new(false)));
    let waker = Waker::from(asked.clone());
    until("the guest parks", || {
        asked.0.store(false, Ordering::Release);
        assert!(run.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "it ended instead of parking");
        !asked.0.load(Ordering::Acquire)
    })
    .await;
}

/// Polls `run` once and lets the runtime do its other work.
pub async fn poll_once<F: Future>(run: &mut Pin<Box<F>>) -> Poll<F::Output> {
    let polled = poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx))).await;
    yield_now().await;
    polled
}

/// Ends epochs as fast as a thread can, so that a spinning guest yields after microseconds instead of a tick. It does
/// so the way a cancel does: by waking the probe of a run that is parked meanwhile.
struct Metronome<'a> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _parked: Pin<Box<BoxFuture<'a, ContainedExecution>>>,
}

impl<'a> Metronome<'a> {
    async fn start(backend: &'a dyn ExecutionBackend) -> Self {
        let request = suite::request("fixture:clock-park/park@0.1.0#park", "[3600000]");
        let cancellation = suite::cancellation(&request, None);
        let probe = cancellation.probe().clone();
        let mut parked = Box::pin(backend.invoke_contained(artifact("clock-park"), request, cancellation));
        park(&mut parked).await;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || {
                while !stop.load(Ordering::Relaxed) {
                    probe.wake();
                    std::thread::yield_now();
                }
            }
        });
        Self { stop, thread: Some(thread), _parked: parked }
    }
}

impl Drop for Metronome<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the metronome only wakes");
        }
    }
}

const POLLS: u32 = 200;

/// A guest by name, and its call for the n-th round.
type Guest = (&'static str, fn(u32) -> Call);

const GUESTS: [Guest; 9] = [
    ("containment-capsule", |_| echo()),
    ("containment-capsule", |n| mode("delayed-echo", &format!("[\"hi\",{}]", n % 4))),
    ("containment-capsule", |_| spin()),
    ("clock-park", |n| call("clock-park", "park", "park", &format!("[{}]", n % 4))),
    ("clock-park", |n| call("clock-park", "park", "park-often", &format!("[{n},0]"))),
    ("spin-start", |_| call("spin-start", "run", "run", "[]").fuel(u64::MAX)),
    ("spin-realloc", |_| call("spin-realloc", "run", "run", "[\"text\"]").fuel(u64::MAX)),
    ("spin-post-return", |_| call("spin-post-return", "run", "run", "[]").fuel(u64::MAX)),
    ("log-context", |_| call("log-context", "speak", "say", "[\"here\"]")),
];

/// Polls a run `n` times. Returns it unfinished, or its report.
async fn polled(node: &Node, call: Call, n: u32) -> Result<ActivationReport, BoxFuture<'_, ActivationReport>> {
    let mut run = Box::pin(Box::pin(node.runner.run(call.envelope, call.artifact)) as BoxFuture<'_, _>);
    for _ in 0..n {
        if let Poll::Ready(report) = poll_once(&mut run).await {
            return Ok(report);
        }
    }
    Err(*Pin::into_inner(run))
}

#[test]
fn a_cancel_at_any_poll_ends_the_activation_and_its_lease_once() {
    on_node(Setup::default(), |node| async move {
        for (fixture, make) in GUESTS {
            node.warm(fixture).await;
            let metronome = Metronome::start(&*node.backend).await;
            let mut unfinished = 0;
            for n in 0..=POLLS {
                let before = node.runner.snapshot().releases;
                let call = make(n);
                let id = call.id();
                match polled(&node, call, n).await {
                    Ok(report) => drop(succeeded(&report)),
                    Err(run) if n == 0 => {
                        assert_eq!(node.cancel(&id), CancelDisposition::NotFound, "not yet registered");
                        drop(run);
                        assert_eq!(node.runner.snapshot().releases, before);
                        continue;
                    }
                    Err(run) => {
                        unfinished += 1;
                        assert_eq!(node.cancel(&id), CancelDisposition::Accepted);
                        let report = tokio::time::timeout(WATCHDOG, run).await.expect("a cancelled run ends");
                        assert_cancelled(&report);
                    }
                }
                assert_eq!(node.runner.snapshot().releases, before + 1, "{fixture} at poll {n}");
                assert_eq!(node.observations().available, node.observations().capacity);
            }
            drop(metronome);
            println!("{fixture}: {unfinished} of {POLLS} cancelled under way");
            node.settled().await;
        }
    });
}

#[test]
fn a_drop_at_any_poll_costs_the_cell_once_and_leaves_nothing() {
    let cells = GUESTS.len() * (POLLS as usize + 1);
    on_node(Setup { cells, ..Setup::default() }, |node| async move {
        for (fixture, make) in GUESTS {
            node.warm(fixture).await;
            let metronome = Metronome::start(&*node.backend).await;
            let mut unfinished = 0;
            for n in 0..=POLLS {
                let (runner, pool) = (node.runner.snapshot(), node.observations());
                match polled(&node, make(n), n).await {
                    Ok(report) => {
                        succeeded(&report);
                        assert_eq!(node.runner.snapshot().releases, runner.releases + 1);
                        assert_eq!(node.observations(), pool);
                    }
                    Err(run) => {
                        drop(run);
                        let held = usize::from(n > 0);
                        if held == 1 {
                            unfinished += 1;
                            node.lose_a_cell();
                        }
                        assert_eq!(node.runner.snapshot().releases, runner.releases);
                        assert_eq!(node.observations().quarantined, pool.quarantined + held, "{fixture} at poll {n}");
                        assert_eq!(node.observations().active_leases, 0);
                    }
                }
            }
            drop(metronome);
            println!("{fixture}: {unfinished} of {POLLS} dropped under way");
            node.settled().await;
        }
    });
}
