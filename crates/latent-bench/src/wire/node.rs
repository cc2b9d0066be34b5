//! A node as `latent serve` puts it together, without its process: storage, registry, logs, usage log and metrics are real.
//!
//! Invariant: everything that `latent serve` does for a call is done here too.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use latent_activation::{LocalActivationJournal, LocalActivationJournalConfig, RandomActivationIdSource};
use latent_catalog::{DeploymentManifest, Weight};
use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, CellClass, DeploymentId, Environment, ImportGrant, NodeId, SecretReferences, ServiceName,
    SystemWallClock, TenantId, Threading, WallClock,
};
use latent_node::access::{
    NewCredential, Role, Tenant, TenantDirectory as _, TenantQuota, TenantRegistry, TenantRegistryConfig,
    TenantRegistryParts, policy,
};
use latent_node::logs::{LogBook, LogBookConfig};
use latent_node::operations::{NodeOperations, NodeOperationsParts};
use latent_node::{
    CleanupDriver, CleanupSupervisor, CleanupSupervisorConfig, LocalActivationManager, LocalActivationManagerConfig,
    LocalActivationManagerParts, Observers,
};
use latent_scheduler::admission::{Admission, AdmissionConfig, ClassOffer, Quota, QuotaLedger};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_storage::{Storage, StorageOptions};
use latent_wasmtime::{EngineSettings, WasmtimeBackend};
use latent_wire::api::{Api, ApiConfig};
use latent_wire::ports::NodePorts;

use super::ports::{Host, Stores};
use super::{CELLS, QUEUED, TENANT};

/// Records of ended activations that are kept, as by default.
const RETAINED: usize = 65_536;

/// A node without listeners.
pub struct WireNode {
    /// What listeners serve.
    pub api: Arc<Api>,
    /// The token of a credential that may invoke.
    pub token: String,
    /// Cleans up after lost transports; to be spawned.
    pub driver: CleanupDriver,
}

impl WireNode {
    /// A node that keeps its data in `directory`, with a service for each of `guests`, named as the fixture.
    ///
    /// # Panics
    /// When one of its parts does not start.
    #[must_use]
    pub fn new(directory: &Path, guests: &[&str]) -> Self {
        let clock: Arc<dyn WallClock> = Arc::new(SystemWallClock);
        let settings = EngineSettings::for_cells(CELLS);
        let offered = admission(&settings);
        let logs = Arc::new(LogBook::new(LogBookConfig::default(), clock.clone()).expect("a log book"));
        let backend = Arc::new(WasmtimeBackend::new(settings, logs.clone()).expect("this machine runs the engine"));
        let options = StorageOptions::new(backend.clone());
        let storage = Arc::new(Storage::open(directory.join("store"), options).expect("a storage"));
        let stores = Arc::new(Stores(storage.clone()));
        let admission = Arc::new(
            Admission::new(Arc::new(QuotaLedger::new()), offered.clone()).expect("a policy within its bounds"),
        );
        let (registry, token) = registry(&stores, &admission, offered, &clock);
        for guest in guests {
            deploy(&storage, guest);
        }
        let host = Arc::new(Host::new(&directory.join("usage"), storage.clone(), &logs));
        let (pool, scheduler) = cells(&clock);
        let parts = LocalActivationManagerParts {
            catalog: storage.catalog(),
            repository: storage,
            admission,
            scheduler: Arc::new(scheduler),
            backend,
            journal: Arc::new(LocalActivationJournal::new(journal()).expect("a journal within its bounds")),
            ids: Arc::new(RandomActivationIdSource::new()),
            clock: clock.clone(),
            observer: Arc::new(Observers(host.observers().into())),
        };
        let manager = LocalActivationManager::new(parts, LocalActivationManagerConfig::default());
        let manager = Arc::new(manager.expect("a manager"));
        let (supervisor, driver) = CleanupSupervisor::new(CleanupSupervisorConfig::default()).expect("a supervisor");
        let operations = Arc::new(NodeOperations::new(NodeOperationsParts {
            manager: manager.clone(),
            supervisor: supervisor.clone(),
            pools: vec![(CellClass::Standard, pool)],
            host,
            started_at: clock.now(),
            grace: Duration::from_secs(1),
            quarantined_percent: 50,
        }));
        assert!(operations.lifecycle().started(), "nobody has asked it to end");
        let needed = NodePorts {
            manager,
            supervisor,
            authenticator: registry.clone(),
            tenants: registry,
            releases: stores.clone(),
            deployments: stores,
            logs,
            operations,
        };
        Self { api: Arc::new(Api::new(needed, ApiConfig::default())), token, driver }
    }
}

fn tenant() -> TenantId {
    TenantId::new(TENANT).expect("a constant id")
}

fn admission(settings: &EngineSettings) -> AdmissionConfig {
    let cells = u64::from(CELLS);
    let offer = ClassOffer {
        class: CellClass::Standard,
        cells,
        memory_bytes: settings.memory_bytes_max,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota { live: cells + QUEUED as u64, ..Quota::UNLIMITED },
    };
    AdmissionConfig::open(vec![offer], cells + QUEUED as u64)
}

fn registry(
    stores: &Arc<Stores>,
    admission: &Arc<Admission>,
    base: AdmissionConfig,
    clock: &Arc<dyn WallClock>,
) -> (Arc<TenantRegistry>, String) {
    let admission = admission.clone();
    let sink = Arc::new(move |tenants: &[Tenant]| {
        admission.replace(policy(&base, tenants)).expect("the tenants' quotas are within bounds");
    });
    let parts = TenantRegistryParts { store: stores.clone(), clock: clock.clone(), sink };
    let registry = TenantRegistry::open(parts, TenantRegistryConfig::default()).expect("an empty registry opens");
    registry.apply_tenant(Tenant { name: tenant(), quota: TenantQuota::default() }).expect("a first tenant");
    let new = NewCredential {
        tenant: tenant(),
        subject: ServiceName::new("bench").expect("a constant id"),
        roles: [Role::Invoke].into_iter().collect(),
        lifetime: None,
        certificate: None,
    };
    let (_, token) = registry.create_credential(new, clock.now()).expect("a first credential");
    (Arc::new(registry), token.expect("a credential without a certificate has a token"))
}

fn deploy(storage: &Storage, guest: &str) {
    let published = storage.publish(&tenant(), b"{}", latent_guests::component(guest));
    let manifest = DeploymentManifest {
        tenant: tenant(),
        service: ServiceName::new(guest).expect("fixtures are named as ids"),
        deployment: DeploymentId::new("main").expect("a constant id"),
        release: published.expect("the fixture is sound").release.release.digest(),
        weight: Weight::default(),
        ceilings: BudgetCeilings::default(),
        imports: ImportGrant::Standard,
        environment: Environment::default(),
        secrets: SecretReferences::default(),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    };
    storage.apply(manifest, None).expect("a deployment within the bounds");
}

fn cells(clock: &Arc<dyn WallClock>) -> (Arc<FixedCellPool>, LocalScheduler) {
    let class = CellClass::Standard;
    let node = NodeId::new("bench").expect("a constant id");
    let config = FixedCellPoolConfig { node, class, capacity: CELLS as usize, queue_capacity: QUEUED };
    let pool = Arc::new(FixedCellPool::new(config, clock.clone()).expect("a pool of cells"));
    let queue = ClassQueue { class, pool: pool.clone(), queue_capacity: QUEUED, tenant_cells_max: None };
    (pool, LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).expect("a scheduler"))
}

fn journal() -> LocalActivationJournalConfig {
    let active_max = CELLS as usize + QUEUED;
    LocalActivationJournalConfig {
        active_max,
        tenant_active_max: active_max * 3 / 4,
        terminal_max: RETAINED,
        evicted_ids_max: RETAINED,
        ..LocalActivationJournalConfig::default()
    }
}
