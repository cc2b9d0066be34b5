//! A manager with a supervisor over the scripted backend, and a pool whose dispositions can be made to hang.

use std::fmt::Debug;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use latent_activation::journal::RetainedOutcome;
use latent_activation::request::TraceContext;
use latent_activation::{
    ActivationRequest, LifecyclePhase, LocalActivationJournal, LocalActivationJournalConfig, RandomActivationIdSource,
    RequestLimits,
};
use latent_catalog::{ActivationCatalog, ActivationCatalogSource, RevisionPolicySource, RouteRequest, RouteResolver};
use latent_core::{
    ActivationId, BudgetCeilings, Caller, CellClass, DeploymentId, FunctionTarget, ManualWallClock, NodeId, Payload,
    PlatformError, ResolvedRevision, RevisionId, RevisionPolicy, RouteName, ServiceName, TenantId, Threading,
};
use latent_executor::fake::{FakeBackend, FakeRepository};
use latent_executor::{ComponentArtifact, ExecutionBackend as _};
use latent_node::{
    ActivationArrival, CleanupDriver, CleanupSupervisor, CleanupSupervisorConfig, LocalActivationManager,
    LocalActivationManagerConfig, LocalActivationManagerParts, NoObserver, SupervisedActivation,
};
use latent_scheduler::admission::{Admission, AdmissionConfig, ClassOffer, Quota, QuotaLedger};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig, NonqueueingCellPool};
use latent_scheduler::{CellLease, CellPool, CellPoolSnapshot, CellRequest, FixedCellPool, FixedCellPoolConfig};
use tokio::task::JoinHandle;

/// The grace of all managers and supervisors here.
pub const GRACE: Duration = Duration::from_millis(100);
/// What a continuation may take.
pub const CAP: Duration = Duration::from_millis(200);

/// A manager, its supervisor, and what they work with.
pub struct Node {
    pub manager: LocalActivationManager,
    pub supervisor: Arc<CleanupSupervisor>,
    pub backend: Arc<FakeBackend>,
    pub pool: Arc<StickyPool>,
}

/// A node with so many cells and slots, whose driver nobody polls yet.
pub fn node(cells: usize, continuations_max: usize) -> (Node, CleanupDriver) {
    let clock = Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)));
    let class = CellClass::Standard;
    let config = FixedCellPoolConfig { node: NodeId::new("node").unwrap(), class, capacity: cells, queue_capacity: 0 };
    let inner = Arc::new(FixedCellPool::new(config, clock.clone()).unwrap());
    let pool = Arc::new(StickyPool { inner, silent: AtomicBool::new(false) });
    let offer = ClassOffer {
        class,
        cells: cells as u64,
        memory_bytes: 64 << 20,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    };
    let queue = ClassQueue { class, pool: pool.clone(), queue_capacity: 64, tenant_cells_max: None };
    let backend = Arc::new(FakeBackend::new());
    let repository = FakeRepository::sealed();
    repository.put(&tenant(), &artifact());
    let parts = LocalActivationManagerParts {
        catalog: Arc::new(OneRevision),
        repository: Arc::new(repository),
        admission: Arc::new(
            Admission::new(Arc::new(QuotaLedger::new()), AdmissionConfig::open(vec![offer], 256)).unwrap(),
        ),
        scheduler: Arc::new(LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).unwrap()),
        backend: backend.clone(),
        journal: Arc::new(
            LocalActivationJournal::new(LocalActivationJournalConfig { active_max: 256, ..Default::default() })
                .unwrap(),
        ),
        ids: Arc::new(RandomActivationIdSource::new()),
        clock,
        observer: Arc::new(NoObserver),
    };
    let config = LocalActivationManagerConfig { requests: RequestLimits::default(), cleanup_grace: GRACE };
    let manager = LocalActivationManager::new(parts, config).unwrap();
    let config = CleanupSupervisorConfig { continuations_max, cleanup_grace: GRACE };
    let (supervisor, driver) = CleanupSupervisor::new(config).unwrap();
    (Node { manager, supervisor, backend, pool }, driver)
}

impl Node {
    /// Starts `function` as activation `id`.
    pub fn try_start(&self, id: &str, function: &str) -> Result<SupervisedActivation, PlatformError> {
        self.supervisor.start(&self.manager, request(id, function), ActivationArrival::default())
    }

    #[track_caller]
    pub fn start(&self, id: &str, function: &str) -> SupervisedActivation {
        self.try_start(id, function).expect("a slot and a record are free")
    }

    /// Starts `function` and polls it until it waits for its guest.
    #[track_caller]
    pub fn running(&self, id: &str, function: &str) -> SupervisedActivation {
        let mut activation = self.start(id, function);
        assert!(poll(&mut activation).is_pending());
        assert_eq!(self.phase(id), LifecyclePhase::Running);
        activation
    }

    #[track_caller]
    pub fn phase(&self, id: &str) -> LifecyclePhase {
        self.manager.status(&tenant(), &activation(id)).found().expect("it has a record").phase
    }

    /// How activation `id` ended: its error's detail kind, or `ok`. It did so exactly once, as its last event.
    #[track_caller]
    pub fn end(&self, id: &str) -> String {
        let status = self.manager.status(&tenant(), &activation(id)).found().expect("it has a record");
        let events = self.manager.events(&tenant(), &activation(id)).found().expect("it has events");
        let terminal = status.terminal.expect("it has ended");
        assert_eq!(events.iter().filter(|event| event.terminal.is_some()).count(), 1);
        assert_eq!(events.last().and_then(|event| event.terminal), Some(terminal.state));
        match terminal.outcome {
            RetainedOutcome::Failed(error) => {
                assert_eq!(terminal.state, error.code().terminal_state());
                error.details()[0].kind().to_owned()
            }
            _ => "ok".to_owned(),
        }
    }

    /// Nothing is held any more, and `quarantined` cells are out of reuse.
    #[track_caller]
    pub fn assert_settled(&self, quarantined: usize) {
        let counted = self.supervisor.audit().unwrap();
        assert_eq!((counted.reserved, counted.continuing), (0, 0), "{counted:?}");
        let cells = self.pool.inner.audit().unwrap();
        assert_eq!((cells.active_leases, cells.quarantined), (0, quarantined));
        assert_eq!(cells.available + cells.quarantined, cells.capacity);
        let parts = self.manager.parts();
        assert_eq!(parts.admission.ledger().audit().unwrap().live(), 0);
        parts.scheduler.audit().unwrap();
        assert_eq!(parts.journal.audit().unwrap().active, 0);
        assert!(self.backend.resources().is_idle() && self.backend.resources().preparations == 0);
    }

    /// (ended, overruns)
    pub fn counts(&self) -> (u64, u64) {
        let counted = self.supervisor.audit().unwrap();
        (counted.ended, counted.overruns)
    }

    /// Closes the supervisor and waits for its driver.
    pub async fn drain(&self, driver: JoinHandle<()>) {
        self.supervisor.close();
        watched(driver).await.expect("the driver does not panic");
    }
}

/// Waits for five seconds at most.
pub async fn watched<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(5), future).await.expect("it ends within five seconds")
}

/// One poll; whoever made the future notices nothing of a wake-up.
pub fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[track_caller]
pub fn refused<T: Debug>(answer: Result<T, PlatformError>) -> PlatformError {
    answer.expect_err("it is refused")
}

pub fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

pub fn activation(id: &str) -> ActivationId {
    ActivationId::new(id).unwrap()
}

fn service() -> ServiceName {
    ServiceName::new("service").unwrap()
}

fn artifact() -> ComponentArtifact {
    ComponentArtifact::new(&b"component"[..])
}

pub fn request(id: &str, function: &str) -> ActivationRequest {
    ActivationRequest {
        activation_id: Some(id.into()),
        root_activation_id: None,
        parent_activation_id: None,
        caller: Caller::User { tenant: tenant(), subject: ServiceName::new("caller").unwrap() },
        tenant: tenant(),
        service: service(),
        route: RouteName::new("default").unwrap(),
        target: FunctionTarget { contract: "test:supervisor/api".into(), function: function.into() },
        payload: Payload::json("[]"),
        budget: BudgetCeilings::default(),
        deadline: None,
        trace: TraceContext::default(),
        idempotency_key: None,
        retry_count: 0,
        metadata: Vec::new(),
    }
}

/// A catalog in which every route leads to the same revision.
struct OneRevision;

impl ActivationCatalogSource for OneRevision {
    fn pin(&self) -> Arc<dyn ActivationCatalog> {
        Arc::new(Self)
    }
}

impl ActivationCatalog for OneRevision {
    fn generation(&self) -> u64 {
        1
    }
}

impl RouteResolver for OneRevision {
    fn resolve(&self, request: &RouteRequest<'_>) -> Result<ResolvedRevision, PlatformError> {
        Ok(ResolvedRevision {
            tenant: request.tenant.clone(),
            service: request.service.clone(),
            route: request.route.clone(),
            deployment: DeploymentId::new("deployment").unwrap(),
            revision: RevisionId::new(artifact().digest()),
            release: artifact().digest(),
            route_generation: 1,
        })
    }
}

impl RevisionPolicySource for OneRevision {
    fn policy(&self, _revision: &ResolvedRevision) -> Result<Arc<RevisionPolicy>, PlatformError> {
        Ok(Arc::default())
    }
}

/// A pool that, once silent, never answers to a release or a quarantine.
pub struct StickyPool {
    pub inner: Arc<FixedCellPool>,
    silent: AtomicBool,
}

impl StickyPool {
    pub fn fall_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }
}

impl CellPool for StickyPool {
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        self.inner.acquire(request)
    }

    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        if self.silent.load(Ordering::Relaxed) { silent(lease) } else { self.inner.release(lease) }
    }

    fn capacity(&self, class: CellClass) -> usize {
        self.inner.capacity(class)
    }

    fn available(&self, class: CellClass) -> usize {
        self.inner.available(class)
    }

    fn quarantine<'a>(&'a self, lease: CellLease, reason: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        if self.silent.load(Ordering::Relaxed) { silent(lease) } else { self.inner.quarantine(lease, reason) }
    }

    fn observations(&self, class: CellClass) -> CellPoolSnapshot {
        self.inner.observations(class)
    }
}

/// Holds the lease for as long as it is asked.
fn silent<'a>(lease: CellLease) -> BoxFuture<'a, Result<(), PlatformError>> {
    Box::pin(async move {
        let _held = lease;
        pending().await
    })
}

impl NonqueueingCellPool for StickyPool {
    fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError> {
        self.inner.try_acquire(request)
    }

    fn listen(&self, listener: Waker) -> Result<(), PlatformError> {
        self.inner.listen(listener)
    }
}
