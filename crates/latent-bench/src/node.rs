//! The node's path: pool, runner and backend, as a node puts them together.

use std::sync::Arc;

use latent_activation::ActivationEnvelope;
use latent_core::{
    ActivationId, CellClass, FunctionTarget, NodeId, Payload, Principal, PrincipalKind, ResourceBudget, ServiceName,
    SystemWallClock, TenantId,
};
use latent_executor::{BoundedLogSink, ComponentArtifact, ExecutionBackend as _};
use latent_node::{Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_wasmtime::{EngineSettings, WasmtimeBackend};

/// A pool, a backend and the runner that joins them.
pub struct Node {
    /// The pool.
    pub pool: Arc<FixedCellPool>,
    /// The backend.
    pub backend: Arc<WasmtimeBackend>,
    /// The sink of guest logs.
    pub sink: Arc<BoundedLogSink>,
    /// The runner.
    pub runner: Phase0ActivationRunner,
}

impl Node {
    /// A node with the settings' number of cells and as many places in the queue as `queue_capacity` says.
    ///
    /// # Panics
    /// When this machine does not run the engine.
    #[must_use]
    pub fn new(settings: EngineSettings, queue_capacity: usize) -> Self {
        let cells = settings.cells as usize;
        let sink = Arc::new(BoundedLogSink::new(4 << 20));
        let backend = Arc::new(WasmtimeBackend::new(settings, sink.clone()).expect("this machine runs the engine"));
        let config = FixedCellPoolConfig {
            node: NodeId::new("bench").expect("a constant id"),
            class: CellClass::Standard,
            capacity: cells,
            queue_capacity,
        };
        let pool = Arc::new(FixedCellPool::new(config, Arc::new(SystemWallClock)).expect("a pool of cells"));
        let config = Phase0ActivationRunnerConfig { registrations_max: cells + queue_capacity, ..Default::default() };
        let runner = Phase0ActivationRunner::new(pool.clone(), backend.clone(), Arc::new(SystemWallClock), config);
        Self { pool, backend, sink, runner }
    }

    /// Compiles `artifact` ahead of the first call.
    ///
    /// # Panics
    /// When it does not compile.
    pub async fn prepare(&self, artifact: &ComponentArtifact) {
        drop(self.backend.prepare_for_use(artifact.clone()).await.expect("the fixture compiles"));
    }
}

/// A call as the bench's only caller makes it, with its id still to be given.
#[derive(Clone)]
pub struct Template {
    principal: Principal,
    target: FunctionTarget,
    payload: Payload,
    /// The budget; a standard grant unless changed.
    pub budget: ResourceBudget,
}

impl Template {
    /// A call of `contract#function` by tenant `tenant`.
    ///
    /// # Panics
    /// When an id is malformed.
    #[must_use]
    pub fn new(tenant: &str, contract: &str, function: &str, payload: Payload) -> Self {
        let principal = Principal {
            tenant: TenantId::new(tenant).expect("a constant id"),
            subject: ServiceName::new("bench").expect("a constant id"),
            kind: PrincipalKind::User,
        };
        let target = FunctionTarget { contract: contract.into(), function: function.into() };
        Self { principal, target, payload, budget: ResourceBudget::default() }
    }

    /// The call under this id.
    ///
    /// # Panics
    /// When the id is malformed.
    #[must_use]
    pub fn envelope(&self, id: &str) -> ActivationEnvelope {
        ActivationEnvelope {
            activation_id: ActivationId::new(id).expect("a well-formed id"),
            principal: self.principal.clone(),
            target: self.target.clone(),
            payload: self.payload.clone(),
            budget: self.budget,
            deadline: None,
            trace_parent: None,
            metadata: Vec::new(),
        }
    }
}
