//! A node of real admission, scheduler, pool and journal over a scripted catalog, repository and backend.
//!
//! Invariant: whatever a test did to it, [`Node::assert_settled`] counts everything out at its end.

mod backend;
mod bomb;
mod catalog;
mod ends;
mod pool;
mod requests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use latent_activation::id_source::IdsExhausted;
use latent_activation::{
    ActivationIdSource, ActivationRequest, CancelDisposition, LifecycleEvent, LifecyclePhase, LocalActivationJournal,
    LocalActivationJournalConfig,
};
use latent_core::{
    ActivationId, ActivationOutcome, CellClass, ManualWallClock, NodeId, PlatformError, TenantId, TerminalState,
    Threading, WallClock,
};
use latent_executor::ExecutionBackend;
use latent_executor::fake::{FakeRepository, FakeStep};
use latent_node::{
    ActivationHandle, ActivationReceipt, LocalActivationManager, LocalActivationManagerConfig,
    LocalActivationManagerParts,
};
use latent_scheduler::admission::{Admission, AdmissionConfig, ClassOffer, Quota, QuotaLedger};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};

pub use backend::{Bombs, ScriptedBackend};
pub use bomb::Bomb;
pub use catalog::{CatalogScript, ScriptedCatalog};
pub use ends::Ends;
pub use pool::{PoolStep, ScriptedPool};
pub use requests::*;

/// The tenants that tests speak of. Each has the service `s` with the deployment `d`.
pub const TENANTS: [&str; 2] = ["t", "u"];
/// No activation of a test takes longer, in whichever time it runs.
pub const WATCHDOG: Duration = Duration::from_secs(5);
/// The grace of a node that is not told another one.
pub const GRACE: Duration = Duration::from_millis(100);
/// One millisecond less.
pub const ALMOST_GRACE: Duration = Duration::from_millis(99);
const CLASS: CellClass = CellClass::Standard;

/// How to build a node.
pub struct Setup {
    pub cells: usize,
    pub queue: usize,
    pub grace: Duration,
    pub journal: LocalActivationJournalConfig,
    /// What admission goes by; the offers are made of `cells`.
    pub admission: fn(&mut AdmissionConfig),
    /// Activations admitted at once.
    pub live: u64,
}

impl Default for Setup {
    fn default() -> Self {
        let journal = LocalActivationJournalConfig::default();
        Self { cells: 1, queue: 64, grace: GRACE, journal, admission: |_config| {}, live: 64 }
    }
}

/// A manager with everything around it that a test wants to see or to turn.
pub struct Node {
    pub manager: Arc<LocalActivationManager>,
    pub catalog: Arc<ScriptedCatalog>,
    pub repository: Arc<FakeRepository>,
    pub backend: Arc<ScriptedBackend>,
    pub pool: Arc<ScriptedPool>,
    pub scheduler: Arc<LocalScheduler>,
    pub admission: Arc<Admission>,
    pub journal: Arc<LocalActivationJournal>,
    pub clock: Arc<ManualWallClock>,
    pub ends: Arc<Ends>,
}

/// A node with one cell whose function `f` does `step`.
pub fn node(step: FakeStep) -> Node {
    Setup::default().node(step)
}

impl Setup {
    pub fn node(self, step: FakeStep) -> Node {
        let clock = Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365)));
        let catalog = Arc::new(ScriptedCatalog::new());
        let repository = Arc::new(FakeRepository::unsealed());
        for name in TENANTS {
            publish(&catalog, &repository, name, "d", "first", 100);
        }
        let backend = Arc::new(ScriptedBackend::new(step));
        let cells = FixedCellPoolConfig {
            node: NodeId::new("node").unwrap(),
            class: CLASS,
            capacity: self.cells,
            queue_capacity: 0,
        };
        let pool = Arc::new(ScriptedPool::new(FixedCellPool::new(cells, clock.clone()).unwrap()));
        let queue = ClassQueue { class: CLASS, pool: pool.clone(), queue_capacity: self.queue, tenant_cells_max: None };
        let scheduler = Arc::new(LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).unwrap());
        let mut config = AdmissionConfig::open(vec![offer(self.cells)], self.live);
        (self.admission)(&mut config);
        let admission = Arc::new(Admission::new(Arc::new(QuotaLedger::new()), config).unwrap());
        let journal = Arc::new(LocalActivationJournal::new(self.journal).unwrap());
        let ends = Arc::new(Ends::new(&admission, &journal));
        let parts = LocalActivationManagerParts {
            catalog: catalog.clone(),
            repository: repository.clone(),
            admission: admission.clone(),
            scheduler: scheduler.clone(),
            backend: backend.clone(),
            journal: journal.clone(),
            ids: Arc::new(CountedIds::default()),
            clock: clock.clone(),
            observer: ends.clone(),
        };
        let config = LocalActivationManagerConfig { cleanup_grace: self.grace, ..Default::default() };
        let manager = Arc::new(LocalActivationManager::new(parts, config).unwrap());
        Node { manager, catalog, repository, backend, pool, scheduler, admission, journal, clock, ends }
    }
}

fn offer(cells: usize) -> ClassOffer {
    ClassOffer {
        class: CLASS,
        cells: cells as u64,
        memory_bytes: 64 << 20,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    }
}

/// Ids `generated-1`, `generated-2` and so on.
#[derive(Default)]
struct CountedIds(AtomicU64);

impl ActivationIdSource for CountedIds {
    fn next_id(&self) -> Result<ActivationId, IdsExhausted> {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(activation(&format!("generated-{count}")))
    }
}

impl Node {
    /// Starts the function `f` as activation `id` of tenant `t`.
    #[track_caller]
    pub fn start(&self, id: &str) -> ActivationHandle {
        self.start_request(request(id))
    }

    #[track_caller]
    pub fn start_request(&self, request: ActivationRequest) -> ActivationHandle {
        self.manager.start(request).expect("the request is accepted")
    }

    /// Runs the function `f` as activation `id` of tenant `t` to its end.
    pub async fn run(&self, id: &str) -> ActivationReceipt {
        finish(self.start(id)).await
    }

    pub fn cancel(&self, id: &str) -> CancelDisposition {
        self.manager.cancel_for(&tenant("t"), &activation(id), "asked by the test")
    }

    /// The events of an activation of tenant `t`.
    #[track_caller]
    pub fn events(&self, id: &str) -> Vec<LifecycleEvent> {
        self.manager.events(&tenant("t"), &activation(id)).found().expect("there is a record")
    }

    /// The status of an activation of tenant `t`.
    #[track_caller]
    pub fn status(&self, id: &str) -> latent_activation::journal::ActivationStatus {
        self.manager.status(&tenant("t"), &activation(id)).found().expect("there is a record")
    }

    /// How an activation of tenant `t` ended, and in which phase.
    #[track_caller]
    pub fn ended(&self, id: &str) -> (TerminalState, LifecyclePhase) {
        let status = self.status(id);
        (status.terminal.expect("it has ended").state, status.phase)
    }

    /// Activations that hold quota.
    pub fn live(&self) -> u64 {
        self.admission.ledger().audit().unwrap().live()
    }

    /// Activations that wait for a cell.
    pub fn queued(&self) -> usize {
        self.scheduler.snapshot(CLASS).unwrap().queued
    }

    /// Lets wall time and the runtime's paused time pass together.
    pub async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        tokio::time::advance(time).await;
    }

    /// The wall time in `left`.
    #[expect(clippy::unnecessary_wraps, reason = "it is the deadline of a request, which may have none")]
    pub fn due(&self, left: Duration) -> Option<SystemTime> {
        Some(self.clock.now() + left)
    }

    /// Nothing is held any more, every book is exact, exactly `quarantined` cells are out of reuse, and every record
    /// has one end.
    #[track_caller]
    pub fn assert_settled(&self, quarantined: usize) {
        assert_eq!(self.live(), 0, "quota that was not refunded");
        let cells = self.pool.cells.audit().unwrap();
        assert_eq!((cells.active_leases, cells.quarantined), (0, quarantined), "leases, quarantined cells");
        assert_eq!(cells.available, cells.capacity - quarantined);
        self.scheduler.audit().unwrap();
        let queue = self.scheduler.snapshot(CLASS).unwrap();
        assert_eq!((queue.queued, queue.promised), (0, 0), "places in the queue");
        assert_eq!(self.journal.audit().expect("the journal's books are right").active, 0, "records without an end");
        let resources = self.backend.resources();
        assert!(resources.is_idle() && resources.preparations == 0, "the backend holds {resources:?}");
        for name in TENANTS {
            self.assert_records(&tenant(name));
        }
    }

    #[track_caller]
    fn assert_records(&self, of: &TenantId) {
        let mut from = None;
        loop {
            let page = self.manager.list(of, from, 256);
            for row in page.rows {
                let id = row.activation_id;
                let Some(events) = self.manager.events(of, &id).found() else { continue };
                assert_course(&id, &events, row.terminal);
                self.ends.assert_told(of, &id, row.terminal);
            }
            from = page.next;
            if from.is_none() {
                return;
            }
        }
    }
}

/// The events are numbered without a gap, never go back, pass each phase once and in order, and exactly the last is
/// terminal, in the phase before it.
#[track_caller]
pub fn assert_course(id: &ActivationId, events: &[LifecycleEvent], terminal: Option<TerminalState>) {
    let (last, live) = events.split_last().expect("a record has an event");
    let numbers: Vec<_> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "{id}: {events:?}");
    assert!(events.is_sorted_by_key(|event| event.since_start) && events.is_sorted_by_key(|event| event.at), "{id}");
    let phases: Vec<_> = live.iter().map(|event| event.phase).collect();
    assert_eq!(phases, LifecyclePhase::ALL[..phases.len()], "{id}");
    assert!(live.iter().all(|event| event.terminal.is_none()), "{id}: a terminal event before the last");
    assert_eq!(Some(last.phase), phases.last().copied(), "{id}: the end repeats the last live phase");
    assert!(last.terminal.is_some() && last.terminal == terminal, "{id}: {last:?}");
}

/// Awaits an activation under the watchdog.
pub async fn finish(handle: ActivationHandle) -> ActivationReceipt {
    tokio::time::timeout(WATCHDOG, handle).await.expect("the activation ends in time")
}

/// Polls once, with a waker that does nothing.
pub fn poll(handle: &mut ActivationHandle) -> Poll<ActivationReceipt> {
    std::pin::Pin::new(handle).poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls once and expects to wait.
#[track_caller]
pub fn waits(handle: &mut ActivationHandle) {
    assert!(poll(handle).is_pending(), "it is ready where it should wait");
}

/// Polls once and expects the end.
#[track_caller]
pub fn ready(handle: &mut ActivationHandle) -> ActivationReceipt {
    match poll(handle) {
        Poll::Ready(receipt) => receipt,
        Poll::Pending => panic!("it is not ready"),
    }
}

#[track_caller]
pub fn error(receipt: &ActivationReceipt) -> (TerminalState, &PlatformError) {
    match &receipt.outcome {
        ActivationOutcome::Failed { terminal_state, error } => (*terminal_state, error),
        other => panic!("expected a failure, got {other:?}"),
    }
}

/// The outcome that `error` makes.
pub fn failed(error: PlatformError) -> ActivationOutcome {
    ActivationOutcome::failed(error)
}
