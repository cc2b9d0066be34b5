//! A node whose API is served in this process, and clients of it.
//!
//! Invariant: everything between the message and the backend is what a node runs; only what touches disks is in memory.

// By their paths, so that this can be a module of the fuzz targets too.
#[path = "support/ports.rs"]
mod ports;
#[path = "support/store.rs"]
mod store;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use latent_activation::{LocalActivationJournal, LocalActivationJournalConfig, RandomActivationIdSource};
use latent_core::{CellClass, NodeId, SystemWallClock, TenantId, Threading, WallClock};
use latent_executor::fake::{FakeBackend, FakeRepository, FakeStep, Gate};
use latent_node::observe::NoObserver;
use latent_node::{
    CleanupSupervisor, CleanupSupervisorConfig, LocalActivationManager, LocalActivationManagerConfig,
    LocalActivationManagerParts,
};
use latent_scheduler::admission::{Admission, AdmissionConfig, ClassOffer, Quota, QuotaLedger};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_wire::api::{Api, ApiConfig, Listener};
use latent_wire::grpc;
use latent_wire::json::{Edge, EdgeConfig};
use latent_wire::ports::NodePorts;
use latent_wire::proto::invocation_client::InvocationClient;
use latent_wire::proto::{self};
use tonic::service::Routes;
use tonic::{Code, Request, Status};

pub use ports::{Directory, Logs, Switches};
pub use store::{CONTRACT, Store};

/// No call of a test takes longer.
pub const WATCHDOG: Duration = Duration::from_secs(20);

/// Records of ended activations that a node keeps.
pub const RECORDS: usize = 8;
/// Watchers that it lets in.
pub const WATCHERS: usize = 2;

/// A node and what tests turn and see of it.
pub struct Node {
    pub api: Arc<Api>,
    pub manager: Arc<LocalActivationManager>,
    pub supervisor: Arc<CleanupSupervisor>,
    pub backend: Arc<FakeBackend>,
    pub store: Arc<Store>,
    pub switches: Arc<Switches>,
    pub logs: Arc<Logs>,
}

/// A node with so many cells, in which the tenants `t` and `u` have the service `s` with the deployment `d`.
pub fn node(cells: usize) -> Node {
    node_with(cells, ApiConfig::default())
}

pub fn node_with(cells: usize, config: ApiConfig) -> Node {
    let clock = Arc::new(SystemWallClock);
    let repository = Arc::new(FakeRepository::unsealed());
    let store = Arc::new(Store::new(repository.clone()));
    for name in ["t", "u"] {
        let digest = store.put(&tenant(name), b"first");
        store.deploy(name, "s", "d", digest, 100);
    }
    let backend = Arc::new(FakeBackend::new().with("f", FakeStep::Echo).with("g", FakeStep::Echo));
    let manager = Arc::new(manager(cells, &clock, &store, repository, &backend));
    let (supervisor, driver) = CleanupSupervisor::new(CleanupSupervisorConfig::default()).unwrap();
    tokio::spawn(driver);
    let (directory, switches) = (Arc::new(Directory::new()), Arc::new(Switches::default()));
    let logs = Arc::new(Logs::default());
    let ports = NodePorts {
        manager: manager.clone(),
        supervisor: supervisor.clone(),
        authenticator: directory.clone(),
        tenants: directory,
        releases: store.clone(),
        deployments: store.clone(),
        logs: logs.clone(),
        operations: switches.clone(),
    };
    let api = Arc::new(Api::new(ports, config));
    Node { api, manager, supervisor, backend, store, switches, logs }
}

fn manager(
    cells: usize,
    clock: &Arc<SystemWallClock>,
    store: &Arc<Store>,
    repository: Arc<FakeRepository>,
    backend: &Arc<FakeBackend>,
) -> LocalActivationManager {
    let class = CellClass::Standard;
    let config = FixedCellPoolConfig { node: NodeId::new("node").unwrap(), class, capacity: cells, queue_capacity: 0 };
    let pool = Arc::new(FixedCellPool::new(config, clock.clone()).unwrap());
    let queue = ClassQueue { class, pool, queue_capacity: 8, tenant_cells_max: None };
    let offer = ClassOffer {
        class,
        cells: cells as u64,
        memory_bytes: 64 << 20,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    };
    let admission = Admission::new(Arc::new(QuotaLedger::new()), AdmissionConfig::open(vec![offer], 64)).unwrap();
    let journal = LocalActivationJournalConfig { terminal_max: RECORDS, watchers_max: WATCHERS, ..Default::default() };
    let journal = LocalActivationJournal::new(journal).unwrap();
    let parts = LocalActivationManagerParts {
        catalog: store.clone(),
        repository,
        admission: Arc::new(admission),
        scheduler: Arc::new(LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).unwrap()),
        backend: backend.clone(),
        journal: Arc::new(journal),
        ids: Arc::new(RandomActivationIdSource::new()),
        clock: clock.clone(),
        observer: Arc::new(NoObserver),
    };
    LocalActivationManager::new(parts, LocalActivationManagerConfig::default()).unwrap()
}

impl Node {
    /// What a listener serves.
    pub fn routes(&self, listener: Listener) -> Routes {
        grpc::routes(&self.api, listener).unwrap()
    }

    /// All that a listener serves, with its gRPC by `routes`.
    pub fn edge(&self, listener: Listener, routes: Routes) -> Edge {
        Edge::new(Arc::clone(&self.api), listener, routes, EdgeConfig::default())
    }

    /// A client of the invoke listener.
    pub fn invocation(&self) -> InvocationClient<Edge> {
        InvocationClient::new(self.edge(Listener::Invoke, self.routes(Listener::Invoke)))
    }

    /// Makes `f` wait in its guest: the first gate opens when it runs, the second lets it go on.
    pub fn hold(&self) -> (Gate, Gate) {
        let (entered, leave) = (Gate::closed(), Gate::closed());
        let step = FakeStep::Gated { entered: entered.clone(), leave: leave.clone(), then: Box::new(FakeStep::Echo) };
        self.backend.set_step("f", step);
        (entered, leave)
    }

    /// Cells, quota and cleanup slots are all free again.
    pub async fn settles(&self) {
        let settled = async {
            while self.supervisor.snapshot().reserved + self.supervisor.snapshot().continuing > 0
                || self.manager.parts().admission.ledger().snapshot().live() > 0
            {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(WATCHDOG, settled).await.expect("everything is given back");
        self.supervisor.audit().unwrap();
    }
}

/// `message` from the holder of `token`.
pub fn from<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

/// A call of `f` as activation `id`.
pub fn call(id: &str) -> proto::InvokeRequest {
    proto::InvokeRequest {
        service: "s".to_owned(),
        contract: CONTRACT.to_owned(),
        function: "f".to_owned(),
        payload: "[\"hi\"]".into(),
        activation_id: id.to_owned(),
        ..Default::default()
    }
}

/// The error in a status, and the status' own code.
#[track_caller]
pub fn refusal<T: std::fmt::Debug>(answer: Result<T, Status>) -> (Code, proto::Error) {
    let status = answer.expect_err("the call is refused");
    let error = grpc::error_of(&status).unwrap_or_else(|| panic!("{status:?} has no error"));
    (status.code(), error)
}

/// The kind of the first detail.
pub fn kind(error: &proto::Error) -> &str {
    error.details.first().map_or("", |detail| &detail.kind)
}

/// The value of a field of the first detail.
pub fn field<'a>(error: &'a proto::Error, name: &str) -> &'a str {
    let fields = error.details.first().map_or(&[][..], |detail| &detail.fields);
    fields.iter().find(|field| field.name == name).map_or("", |field| &field.value)
}

pub fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub fn wall() -> SystemTime {
    SystemWallClock.now()
}
