//! The threads of a backend: two, named, quiet when nothing runs, and gone with its last owner.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use latent_executor::{BoundedLogSink, ExecutionBackend as _, suite};
use latent_node::runtime::data_runtime;
use latent_wasmtime::{EngineSettings, WasmtimeBackend};

use crate::calls::{artifact, spin};
use crate::polls::poll_once;
use crate::spinning::ends_by_deadline;
use crate::support::{Setup, WATCHDOG, alone, alone_on_node, now, until};

/// The threads of this process with that name, as folders of `/proc`.
fn threads(name: &str) -> Vec<std::path::PathBuf> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists threads");
    tasks
        .filter_map(|task| Some(task.ok()?.path()))
        .filter(|task| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end() == name))
        .collect()
}

/// Threads of one backend: the watchdog, what loads, and what compiles.
const OF_A_BACKEND: (usize, usize, usize) = (1, 1, 2);

fn count() -> (usize, usize, usize) {
    (threads("latent-ticker").len(), threads("latent-loader").len(), threads("latent-compiler").len())
}

fn of(backends: usize) -> (usize, usize, usize) {
    let (ticker, loader, compilers) = OF_A_BACKEND;
    (backends * ticker, backends * loader, backends * compilers)
}

/// Waits until the threads of so many backends are there: a thread takes its name when it starts to run.
fn named(backends: usize) {
    let started = now();
    while count() != of(backends) {
        assert!(started.elapsed() < WATCHDOG, "expected {:?}, found {:?}", of(backends), count());
        std::thread::yield_now();
    }
}

fn backend() -> WasmtimeBackend {
    let sink = Arc::new(BoundedLogSink::new(1 << 20));
    WasmtimeBackend::new(EngineSettings::for_cells(1), sink).expect("this machine runs the engine")
}

#[test]
fn the_last_owner_of_a_backend_joins_its_threads() {
    alone(|| {
        assert_eq!(count(), of(0));
        let first = backend();
        let second = first.clone();
        named(1);
        let other = backend();
        named(2);
        drop(first);
        assert_eq!(count(), of(2), "another owner is left");
        drop(second);
        assert_eq!(count(), of(1), "gone, not going");
        drop(other);
        assert_eq!(count(), of(0));
    });
}

#[test]
fn a_backend_dropped_during_a_compilation_ends_its_threads_too() {
    alone(|| {
        data_runtime(1).expect("a runtime").block_on(drop_during_a_compilation());
        assert_eq!(count(), of(0));
    });
}

async fn drop_during_a_compilation() {
    let backend = backend();
    let mut preparation = Box::pin(backend.prepare_for_use(artifact("containment-capsule")));
    assert!(poll_once(&mut preparation).await.is_pending(), "the compiler has a thread of its own");
    drop(preparation);
    drop(backend);
}

#[test]
fn the_watchdog_sleeps_when_nothing_runs_and_wakes_for_the_next_run() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        ends_by_deadline(&node, "before the sleep", spin(), Duration::from_millis(20)).await;
        let ticker = threads("latent-ticker").pop().expect("the backend's ticker");
        let switches = || {
            let status = fs::read_to_string(ticker.join("status")).expect("the thread lives");
            status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).map(str::to_owned)
        };
        // A ticking thread blocks and returns every millisecond.
        let (mut seen, mut since) = (switches(), now());
        until("the ticker has been still for 100 ms", || {
            let current = switches();
            if current != seen {
                (seen, since) = (current, now());
            }
            since.elapsed() >= Duration::from_millis(100)
        })
        .await;
        ends_by_deadline(&node, "after the sleep", spin(), Duration::from_millis(20)).await;
        let request = suite::request(CAPSULE_SPIN, "[]");
        let cancellation = suite::cancellation(&request, None);
        cancellation.probe().request_cancel();
        drop(node.backend.invoke_contained(artifact("containment-capsule"), request, cancellation).await);
    });
}

const CAPSULE_SPIN: &str = "fixture:containment-capsule/modes@0.1.0#spin";
