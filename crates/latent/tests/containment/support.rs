//! A whole node without its edges: backend, pool and runner, and the check that a test leaves it as it found it.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use latent_activation::CancelDisposition;
use latent_core::{ActivationId, CellClass, NodeId, SystemWallClock, TenantId};
use latent_executor::{BoundedLogSink, ExecutionBackend, LogRecord, LogSink};
use latent_node::runtime::data_runtime;
use latent_node::{ActivationReport, Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{CellPool as _, CellPoolSnapshot, FixedCellPool, FixedCellPoolConfig};
use latent_wasmtime::{EngineSettings, Phase0WasmtimeBackend, WasmtimeBackend};
use tokio::task::JoinHandle;

use crate::calls::{Call, artifact, echo, succeeded};

/// How long anything may take before it is a deadlock. No tolerance is derived from it.
pub const WATCHDOG: Duration = Duration::from_secs(5);
/// What a deadline may be overshot by, beyond the ticks of the engine.
const ALLOWANCE: Duration = Duration::from_millis(500);

/// Tests that measure have the machine to themselves; the others share it.
static MACHINE: RwLock<()> = RwLock::new(());

/// What a test asks of its node.
pub struct Setup {
    pub cells: usize,
    pub settings: EngineSettings,
    /// Whether prepared code is cached, or kept in the one shared slot.
    pub cached: bool,
    /// Instead of a sink of 4 MiB.
    pub sink: Option<Arc<dyn LogSink>>,
    /// Worker threads of the runtime.
    pub threads: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Self { cells: 4, settings: EngineSettings::for_cells(4), cached: true, sink: None, threads: 2 }
    }
}

impl Setup {
    /// So many cells, in the pool and in the engine.
    pub fn with_cells(cells: u32) -> Self {
        Self { cells: cells as usize, settings: EngineSettings::for_cells(cells), ..Self::default() }
    }

    /// The cache-disabled backend.
    pub fn uncached() -> Self {
        Self { cached: false, ..Self::default() }
    }
}

/// A node under test. Clones are the same node.
#[derive(Clone)]
pub struct Node {
    pub runner: Arc<Phase0ActivationRunner>,
    pub backend: Arc<dyn ExecutionBackend>,
    pub cells: Arc<FixedCellPool>,
    pub sink: Arc<BoundedLogSink>,
    pub settings: EngineSettings,
    lost: Arc<AtomicUsize>,
}

/// Runs a test that disturbs nobody on a node of its own and asserts that it left no trace.
pub fn on_node<F>(setup: Setup, test: impl FnOnce(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    drive(setup, test);
}

/// The same for a test that measures time or looks at the process.
pub fn alone_on_node<F>(setup: Setup, test: impl FnOnce(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    drive(setup, test);
}

/// Runs `test` while no other test runs.
pub fn alone<T>(test: impl FnOnce() -> T) -> T {
    let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    test()
}

fn drive<F>(setup: Setup, test: impl FnOnce(Node) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = data_runtime(setup.threads).expect("a runtime");
    let node = Node::new(setup);
    let test = runtime.spawn(test(node.clone()));
    if let Err(panicked) = runtime.block_on(test) {
        std::panic::resume_unwind(panicked.into_panic());
    }
    runtime.block_on(node.settled());
}

impl Node {
    /// Composes the parts.
    pub fn new(setup: Setup) -> Self {
        let Setup { cells, settings, cached, sink, .. } = setup;
        let own = Arc::new(BoundedLogSink::new(4 << 20));
        let sink = sink.unwrap_or_else(|| own.clone());
        let backend: Arc<dyn ExecutionBackend> = if cached {
            Arc::new(WasmtimeBackend::new(settings.clone(), sink).expect("this machine runs the engine"))
        } else {
            Arc::new(Phase0WasmtimeBackend::new(settings.clone(), sink).expect("this machine runs the engine"))
        };
        let config = FixedCellPoolConfig {
            node: NodeId::new("node").expect("a constant id"),
            class: CellClass::Standard,
            capacity: cells,
            queue_capacity: 64,
        };
        let clock = Arc::new(SystemWallClock);
        let cells = Arc::new(FixedCellPool::new(config, clock.clone()).expect("a capacity above zero"));
        let config = Phase0ActivationRunnerConfig { registrations_max: 4096, class: CellClass::Standard };
        let runner = Phase0ActivationRunner::new(cells.clone(), backend.clone(), clock, config);
        Self { runner: Arc::new(runner), backend, cells, sink: own, settings, lost: Arc::default() }
    }

    /// Runs `call` to its end, within the watchdog.
    pub async fn run(&self, call: Call) -> ActivationReport {
        let name = call.to_string();
        let run = self.runner.run(call.envelope, call.artifact);
        match tokio::time::timeout(WATCHDOG, run).await {
            Ok(report) => report,
            Err(_elapsed) => panic!("{name} did not end within the watchdog"),
        }
    }

    /// The same in a task of its own.
    pub fn spawn(&self, call: Call) -> JoinHandle<ActivationReport> {
        let node = self.clone();
        tokio::spawn(async move { node.run(call).await })
    }

    /// Has `fixture` compiled and kept, so that later runs of it do not wait for the compiler.
    pub async fn warm(&self, fixture: &str) {
        drop(self.backend.prepare_for_use(artifact(fixture)).await.expect("a fixture that prepares"));
    }

    /// Cancels `call`, which is named before it is run.
    pub fn cancel(&self, id: &(TenantId, ActivationId)) -> CancelDisposition {
        self.runner.cancel(&id.0, &id.1, "the test says so")
    }

    /// The most that a deadline may be overshot by (`activation-containment.md`, "Runtime interruption and deadline
    /// tolerance").
    pub fn tolerance(&self) -> Duration {
        let EngineSettings { epoch_tick_interval_millis, epoch_deadline_ticks, .. } = self.settings;
        Duration::from_millis(u64::from(epoch_tick_interval_millis) * u64::from(epoch_deadline_ticks)) + ALLOWANCE
    }

    /// The records that an activation left, taken out.
    pub fn logs(&self, id: &(TenantId, ActivationId)) -> Vec<LogRecord> {
        self.sink.take(&id.0, &id.1)
    }

    /// A healthy call of another tenant succeeds now.
    pub async fn healthy(&self) {
        let report = self.run(echo().tenant("bystander")).await;
        assert_eq!(succeeded(&report), "\"hi\"");
    }

    /// The pool's numbers, counted out.
    pub fn observations(&self) -> CellPoolSnapshot {
        self.cells.audit().expect("the pool's books are right")
    }

    /// Says that a cell is expected to be lost by now.
    pub fn lose_a_cell(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Nothing is under way, nothing is held, the expected cells are lost and no other, and the node serves.
    pub async fn settled(&self) {
        self.assert_quiet();
        self.healthy().await;
        self.assert_quiet();
    }

    #[track_caller]
    fn assert_quiet(&self) {
        let cells = self.observations();
        assert_eq!(cells, self.cells.observations(CellClass::Standard), "the snapshot says what counting says");
        assert_eq!(
            (cells.active_leases, cells.queue_depth, cells.quarantined),
            (0, 0, self.lost.load(Ordering::Relaxed))
        );
        assert_eq!(cells.available + cells.active_leases + cells.quarantined, cells.capacity);
        let runner = self.runner.snapshot();
        assert_eq!((runner.registrations, runner.waiting, runner.running_invocations), (0, 0, 0));
        assert_eq!(runner.failed_dispositions, 0);
        let held = self.backend.resources();
        assert!(held.is_idle(), "{held:?}");
        let entries_max = u64::from(self.settings.prepared_entries_max.max(1));
        assert!(held.prepared_entries <= entries_max && held.prepared_bytes <= self.settings.prepared_bytes_max);
    }
}

#[expect(clippy::disallowed_methods, reason = "tests on the real engine run on real time")]
pub fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "tests on the real engine run on real time")]
pub fn wall_now() -> SystemTime {
    SystemTime::now()
}

/// Goes to the end of its thread's queue. Tokio's own `yield_now` comes back at the head of it where the runtime looks
/// at its events after every poll, and starves whatever else that thread has.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Lets others run until `condition` holds, within the watchdog.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = now();
    while !condition() {
        assert!(started.elapsed() < WATCHDOG, "waited in vain until {what}");
        yield_now().await;
    }
}
