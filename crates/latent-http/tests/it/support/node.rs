//! The node: one tenant `t` with the open service `s` for `t.example`, and `u` with one that wants a token for `u.example`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use latent_activation::journal::{ActivationStatus, RetainedOutcome};
use latent_activation::{LocalActivationJournal, LocalActivationJournalConfig, RandomActivationIdSource};
use latent_catalog::{ActivationCatalogSource as _, RouteRequest};
use latent_core::http::HttpAuthentication;
use latent_core::{
    ActivationId, CellClass, ErrorDetail, FunctionTarget, NodeId, PlatformError, PlatformErrorCode, Principal,
    PrincipalKind, RevisionId, RouteName, ServiceName, SystemWallClock, TenantId, TerminalState, Threading,
};
use latent_executor::HttpExchangeParts;
use latent_executor::fake::{FakeBackend, FakeHandled, FakeHandler, FakeRepository, FakeStep};
use latent_http::ingress::{HttpIngress, IngressConfig, IngressPorts};
use latent_node::access::{Access, Authenticator, Presented, Role, unauthenticated};
use latent_node::observe::NoObserver;
use latent_node::operations::{BackupReport, NodeInventory, NodeState, Operations, UsageQuery, UsageSum};
use latent_node::{
    CleanupSupervisor, CleanupSupervisorConfig, LocalActivationManager, LocalActivationManagerConfig,
    LocalActivationManagerParts,
};
use latent_scheduler::admission::{Admission, AdmissionConfig, ClassOffer, Quota, QuotaLedger};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_wire::listener::{Bound, Listener, ListenerConfig};

use super::Routes;
use super::peers::soon;

/// Cells of a node, and activations that may wait for one.
const CELLS: usize = 2;
const QUEUE: usize = 2;

pub struct Served {
    pub address: SocketAddr,
    pub listener: Listener,
    pub manager: Arc<LocalActivationManager>,
    pub supervisor: Arc<CleanupSupervisor>,
    pub backend: Arc<FakeBackend>,
    pub routes: Arc<Routes>,
    pub repository: Arc<FakeRepository>,
    pub pool: Arc<FixedCellPool>,
    pub doors: Arc<Doors>,
}

/// A node with the defaults.
pub fn served() -> Served {
    served_with(ListenerConfig::new(([127, 0, 0, 1], 0).into()), IngressConfig::default())
}

pub fn served_with(listener: ListenerConfig, config: IngressConfig) -> Served {
    let routes = Arc::new(Routes::new());
    let repository = Arc::new(FakeRepository::unsealed());
    for (tenant, authentication) in [("t", HttpAuthentication::Open), ("u", HttpAuthentication::Bearer)] {
        routes.deploy(&repository, (tenant, "s", "d"), 100, None);
        routes.route(&format!("{tenant}.example"), "/", (tenant, "s"), authentication);
    }
    let backend = Arc::new(FakeBackend::new());
    let (manager, pool) = manager(&routes, &repository, &backend);
    let (supervisor, driver) = CleanupSupervisor::new(CleanupSupervisorConfig::default()).unwrap();
    tokio::spawn(driver);
    let doors = Arc::new(Doors::default());
    let ports = IngressPorts {
        manager: manager.clone(),
        supervisor: supervisor.clone(),
        authenticator: Arc::new(Tokens),
        operations: doors.clone(),
    };
    let bound = Bound::new(listener).expect("a free port");
    let address = bound.address();
    let listener = bound.serve(None, HttpIngress::new(ports, config).expect("a config within its bounds"));
    let served = Served { address, listener, manager, supervisor, backend, routes, repository, pool, doors };
    served.guest(super::hello);
    served
}

fn manager(
    routes: &Arc<Routes>,
    repository: &Arc<FakeRepository>,
    backend: &Arc<FakeBackend>,
) -> (Arc<LocalActivationManager>, Arc<FixedCellPool>) {
    let (clock, class) = (Arc::new(SystemWallClock), CellClass::Standard);
    let config = FixedCellPoolConfig { node: NodeId::new("node").unwrap(), class, capacity: CELLS, queue_capacity: 0 };
    let pool = Arc::new(FixedCellPool::new(config, clock.clone()).unwrap());
    let queue = ClassQueue { class, pool: pool.clone(), queue_capacity: QUEUE, tenant_cells_max: None };
    let offer = ClassOffer {
        class,
        cells: CELLS as u64,
        memory_bytes: 64 << 20,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    };
    let open = AdmissionConfig::open(vec![offer], (CELLS + QUEUE) as u64);
    let admission = Admission::new(Arc::new(QuotaLedger::new()), open).unwrap();
    let parts = LocalActivationManagerParts {
        catalog: routes.clone(),
        repository: repository.clone(),
        admission: Arc::new(admission),
        scheduler: Arc::new(LocalScheduler::new(LocalSchedulerConfig::default(), [queue]).unwrap()),
        backend: backend.clone(),
        journal: Arc::new(LocalActivationJournal::new(LocalActivationJournalConfig::default()).unwrap()),
        ids: Arc::new(RandomActivationIdSource::new()),
        clock,
        observer: Arc::new(NoObserver),
    };
    let manager = LocalActivationManager::new(parts, LocalActivationManagerConfig::default()).unwrap();
    (Arc::new(manager), pool)
}

impl Served {
    /// What guests do from now on.
    pub fn guest<F>(&self, handle: impl Fn(HttpExchangeParts) -> F + Send + Sync + 'static)
    where
        F: Future<Output = FakeHandled> + Send + 'static,
    {
        self.backend.set_step("handle", FakeStep::Handle(FakeHandler::new(handle)));
    }

    /// How an activation of tenant `t` ended.
    pub async fn ended(&self, id: &str) -> TerminalState {
        let ended = async {
            loop {
                if let Some(terminal) = self.status(id).and_then(|status| status.terminal) {
                    return terminal.state;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon(ended).await
    }

    /// The kind of the error that an activation of tenant `t` ended with.
    pub async fn failed(&self, id: &str) -> String {
        self.ended(id).await;
        let outcome = self.status(id).and_then(|status| status.terminal).map(|terminal| terminal.outcome);
        let Some(RetainedOutcome::Failed(error)) = outcome else { panic!("it failed: {outcome:?}") };
        error.details().first().map_or("", |detail| detail.kind()).to_owned()
    }

    /// Which revision an activation of that name is led to.
    pub fn resolve(&self, id: &str) -> RevisionId {
        let (tenant, service) = (TenantId::new("t").unwrap(), ServiceName::new("s").unwrap());
        let request = RouteRequest {
            tenant: &tenant,
            service: &service,
            route: &RouteName::new("default").unwrap(),
            target: &FunctionTarget::http_handler(),
            activation_id: &ActivationId::new(id).unwrap(),
        };
        self.routes.pin().resolve(&request).unwrap().revision
    }

    /// Cancels an activation of tenant `t`.
    pub fn cancel(&self, id: &str) {
        let (tenant, id) = (TenantId::new("t").unwrap(), ActivationId::new(id).unwrap());
        let _accepted = self.manager.cancel_for(&tenant, &id, "asked");
    }

    pub fn status(&self, id: &str) -> Option<ActivationStatus> {
        self.manager.status(&TenantId::new("t").unwrap(), &ActivationId::new(id).unwrap()).found()
    }

    /// Every cell, quota and cleanup slot is free again, and none was lost.
    pub async fn settles(&self) {
        let settled = async {
            while self.supervisor.snapshot().reserved + self.supervisor.snapshot().continuing > 0
                || self.manager.parts().admission.ledger().snapshot().live() > 0
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon(settled).await;
        self.supervisor.audit().unwrap();
        let cells = self.pool.audit().unwrap();
        assert_eq!((cells.available, cells.quarantined), (CELLS, 0), "{cells:?}");
    }
}

/// Tokens of `t` and `u` that may invoke, and one of `u` that may not.
struct Tokens;

impl Authenticator for Tokens {
    fn authenticate(
        &self,
        presented: Option<Presented<'_>>,
        _peer: Option<IpAddr>,
        _now: SystemTime,
    ) -> Result<Arc<Access>, PlatformError> {
        let (tenant, role) = match presented {
            Some(Presented::Bearer(b"of-t")) => ("t", Role::Invoke),
            Some(Presented::Bearer(b"of-u")) => ("u", Role::Invoke),
            Some(Presented::Bearer(b"of-u-deploys")) => ("u", Role::Deploy),
            _ => return Err(unauthenticated()),
        };
        let (tenant, subject) = (TenantId::new(tenant).unwrap(), ServiceName::new("caller").unwrap());
        let principal = Principal { tenant, subject, kind: PrincipalKind::User };
        Ok(Arc::new(Access { principal, roles: [role].into_iter().collect(), credential: "c".into() }))
    }

    fn still_holds(&self, _access: &Arc<Access>, _now: SystemTime) -> bool {
        true
    }
}

/// Whether the node takes activations.
#[derive(Default)]
pub struct Doors {
    pub closed: AtomicBool,
}

impl Operations for Doors {
    fn state(&self) -> NodeState {
        if self.closed.load(Ordering::SeqCst) { NodeState::Draining } else { NodeState::Ready }
    }

    fn admits(&self) -> Result<(), PlatformError> {
        if self.state() == NodeState::Ready {
            return Ok(());
        }
        let detail = ErrorDetail::new("activation.shutting-down");
        Err(PlatformError::new(PlatformErrorCode::Unavailable, "the node drains").with_detail(detail).retryable())
    }

    fn inventory(&self) -> NodeInventory {
        NodeInventory { state: self.state(), started_at: SystemTime::UNIX_EPOCH, cells: Vec::new(), counts: Vec::new() }
    }

    fn drain(&self, _wait: Option<Duration>) -> BoxFuture<'_, u64> {
        self.closed.store(true, Ordering::SeqCst);
        Box::pin(std::future::ready(0))
    }

    fn resume(&self) -> Result<(), PlatformError> {
        self.closed.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn backup(&self, _directory: PathBuf) -> Result<BackupReport, PlatformError> {
        Err(PlatformError::new(PlatformErrorCode::Unavailable, "nothing is stored"))
    }

    fn usage(&self, _query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError> {
        Ok((Vec::new(), 0))
    }

    fn metrics(&self) -> String {
        String::new()
    }
}
