//! The whole lifecycle as a node puts it together, with its catalog, repository and journal in memory.

use std::sync::Arc;
use std::time::Duration;

use latent_activation::request::TraceContext;
use latent_activation::{
    ActivationRequest, LocalActivationJournal, LocalActivationJournalConfig, RandomActivationIdSource,
};
use latent_catalog::{
    Apply, CapsuleManifest, Catalog, CatalogLimits, CatalogView, DeploymentManifest, Release, Weight,
};
use latent_core::http::HttpIngress;
use latent_core::id::DEFAULT_ROUTE;
use latent_core::{
    BudgetCeilings, Caller, CellClass, DeploymentId, Environment, FunctionTarget, ImportGrant, NodeId, Payload,
    RouteName, SecretReferences, ServiceName, SystemWallClock, TenantId, Threading,
};
use latent_executor::fake::FakeRepository;
use latent_executor::{BoundedLogSink, ComponentArtifact, ComponentInspector as _};
use latent_node::{LocalActivationManager, LocalActivationManagerConfig, LocalActivationManagerParts, NoObserver};
use latent_scheduler::admission::{Admission, AdmissionConfig, ClassOffer, Quota, QuotaLedger};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_wasmtime::{EngineSettings, WasmtimeBackend};

/// How large the parts around the engine are.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Places in the queue.
    pub queue_capacity: usize,
    /// Records of ended activations that are kept.
    pub retained: usize,
    /// How long they are kept.
    pub retention: Duration,
}

impl Size {
    /// A queue of this many places, and the records that a node keeps by default.
    #[must_use]
    pub fn queueing(queue_capacity: usize) -> Self {
        Self { queue_capacity, retained: 65_536, retention: Duration::from_mins(5) }
    }
}

/// A manager and what it composes.
pub struct LifecycleNode {
    /// The manager.
    pub manager: LocalActivationManager,
    /// The cells.
    pub pool: Arc<FixedCellPool>,
    /// The backend.
    pub backend: Arc<WasmtimeBackend>,
    /// The sink of guest logs.
    pub sink: Arc<BoundedLogSink>,
    catalog: Arc<Catalog>,
    repository: Arc<FakeRepository>,
}

impl LifecycleNode {
    /// A node with the settings' number of cells, open to all tenants alike.
    ///
    /// # Panics
    /// When this machine does not run the engine.
    #[must_use]
    pub fn new(settings: EngineSettings, size: Size) -> Self {
        let (cells, memory_bytes) = (settings.cells as usize, settings.memory_bytes_max);
        let live = cells + size.queue_capacity;
        let sink = Arc::new(BoundedLogSink::new(4 << 20));
        let backend = Arc::new(WasmtimeBackend::new(settings, sink.clone()).expect("this machine runs the engine"));
        let pool = FixedCellPoolConfig {
            node: NodeId::new("bench").expect("a constant id"),
            class: CellClass::Standard,
            capacity: cells,
            queue_capacity: size.queue_capacity,
        };
        let pool = Arc::new(FixedCellPool::new(pool, Arc::new(SystemWallClock)).expect("a pool of cells"));
        let queue = ClassQueue {
            class: CellClass::Standard,
            pool: pool.clone(),
            queue_capacity: size.queue_capacity,
            tenant_cells_max: None,
        };
        let scheduler = LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).expect("a scheduler");
        let journal = LocalActivationJournalConfig {
            active_max: live,
            terminal_max: size.retained,
            aggregate_bytes_max: 4 << 30,
            terminal_retention: size.retention,
            ..LocalActivationJournalConfig::default()
        };
        let catalog = Arc::new(Catalog::new(CatalogView::empty(CatalogLimits::default())));
        let repository = Arc::new(FakeRepository::sealed());
        let parts = LocalActivationManagerParts {
            catalog: catalog.clone(),
            repository: repository.clone(),
            admission: Arc::new(admission(cells, memory_bytes, live)),
            scheduler: Arc::new(scheduler),
            backend: backend.clone(),
            journal: Arc::new(LocalActivationJournal::new(journal).expect("a journal within its bounds")),
            ids: Arc::new(RandomActivationIdSource::new()),
            clock: Arc::new(SystemWallClock),
            observer: Arc::new(NoObserver),
        };
        let config = LocalActivationManagerConfig::default();
        let manager = LocalActivationManager::new(parts, config).expect("a manager");
        Self { manager, pool, backend, sink, catalog, repository }
    }

    /// Gives `tenant` a service of this component.
    ///
    /// # Panics
    /// When the component cannot be served.
    pub fn deploy(&self, tenant: &TenantId, service: &ServiceName, artifact: &ComponentArtifact) {
        let inspected = self.backend.inspect(artifact.bytes()).expect("the component is sound");
        let release = Release::new(artifact.digest(), &inspected.surface, &CapsuleManifest::default());
        let manifest = DeploymentManifest {
            tenant: tenant.clone(),
            service: service.clone(),
            deployment: DeploymentId::new("main").expect("a constant id"),
            release: artifact.digest(),
            weight: Weight::default(),
            ceilings: BudgetCeilings::default(),
            imports: ImportGrant::Standard,
            environment: Environment::default(),
            secrets: SecretReferences::default(),
            http: HttpIngress::default(),
            outgoing: Box::default(),
        };
        self.repository.put(tenant, artifact);
        let release = Arc::new(release.expect("the manifest offers all that there is"));
        let apply = Apply { manifest, release, expected_generation: None };
        self.catalog.apply(apply).expect("a deployment within the bounds");
    }
}

fn admission(cells: usize, memory_bytes: u64, live: usize) -> Admission {
    let offer = ClassOffer {
        class: CellClass::Standard,
        cells: cells as u64,
        memory_bytes,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    };
    let config = AdmissionConfig::open(vec![offer], live as u64);
    Admission::new(Arc::new(QuotaLedger::new()), config).expect("a policy within its bounds")
}

/// A request of `tenant`'s service for one function. What is absent the node decides.
///
/// # Panics
/// When an id is malformed.
#[must_use]
pub fn request(
    tenant: &TenantId,
    service: &ServiceName,
    target: FunctionTarget,
    payload: Payload,
) -> ActivationRequest {
    let subject = ServiceName::new("bench").expect("a constant id");
    ActivationRequest {
        activation_id: None,
        root_activation_id: None,
        parent_activation_id: None,
        caller: Caller::User { tenant: tenant.clone(), subject },
        tenant: tenant.clone(),
        service: service.clone(),
        route: RouteName::new(DEFAULT_ROUTE).expect("a constant id"),
        target,
        payload,
        budget: BudgetCeilings::default(),
        deadline: None,
        trace: TraceContext::default(),
        idempotency_key: None,
        retry_count: 0,
        metadata: Vec::new(),
    }
}
