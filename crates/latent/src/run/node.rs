//! The command's own node: one engine, one pool of cells, one runner, and a sink that loses no accepted record.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latent_activation::ActivationEnvelope;
use latent_core::{
    ActivationId, CellClass, ContractSurface, FunctionTarget, NodeId, Payload, PlatformError, Principal, PrincipalKind,
    ResourceBudget, ServiceName, SystemWallClock, WallClock,
};
use latent_executor::{
    BoundedLogSink, ComponentArtifact, ComponentInspector as _, ExecutionBackend as _, LogRecord,
    RuntimeResourceSnapshot,
};
use latent_node::{ActivationReport, Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{CellPool as _, CellPoolSnapshot, FixedCellPool, FixedCellPoolConfig};
use latent_wasmtime::{EngineReport, EngineSettings, Preparation, WasmtimeBackend};

use crate::ending::Failure;
use crate::preparing;

/// The most bytes of records, in canonical encoding, that the command holds for all activations under way.
const SINK_BYTES_MAX: u64 = 128 << 20;
/// Room in the sink, for each activation in flight, for the node's own notice about dropped records.
const NOTICE_BYTES: u64 = 4 << 10;

/// What the flags say about the node and its activations.
#[derive(Debug, Clone, Copy)]
pub struct NodeOptions {
    /// Cells.
    pub cells: u32,
    /// The most activations in flight, waiting ones included.
    pub in_flight_max: u32,
    /// Fuel of one activation.
    pub fuel: u64,
    /// Linear memory of one activation, and the engine's own ceiling.
    pub memory_bytes: u64,
    /// Log records of one activation, in bytes.
    pub log_bytes: u64,
    /// How long one activation may take from when it is asked for.
    pub deadline: Option<Duration>,
}

impl NodeOptions {
    /// The engine's settings: a node's defaults, with the ceiling where the grant is.
    pub fn engine(&self) -> EngineSettings {
        EngineSettings { memory_bytes_max: self.memory_bytes, ..EngineSettings::for_cells(self.cells) }
    }

    /// What the sink must hold. An activation's records are taken out when it ends, so whatever those in flight are
    /// granted is enough for all. This is an account, not an allocation: memory is used as guests log. Beyond
    /// [`SINK_BYTES_MAX`] the oldest records are evicted, as on any node.
    fn sink_bytes(&self) -> u64 {
        let granted = self.log_bytes.saturating_add(NOTICE_BYTES).saturating_mul(u64::from(self.in_flight_max));
        granted.min(SINK_BYTES_MAX)
    }
}

/// What is called, the same for every activation.
#[derive(Debug, Clone)]
pub struct Call {
    /// The component.
    pub artifact: ComponentArtifact,
    /// The function.
    pub target: FunctionTarget,
    /// The arguments.
    pub payload: Payload,
}

/// One activation that ended: the runner's report and the records of its guest.
#[derive(Debug)]
pub struct Record {
    /// The report.
    pub report: ActivationReport,
    /// The log records, oldest first.
    pub logs: Vec<LogRecord>,
}

/// What the node looks like when nothing is under way.
#[derive(Debug)]
pub struct Rest {
    /// The cells.
    pub pool: CellPoolSnapshot,
    /// What the engine holds.
    pub runtime: RuntimeResourceSnapshot,
    /// What the engine is.
    pub engine: EngineReport,
}

/// A node of one tenant, for one command.
pub struct Node {
    options: NodeOptions,
    clock: Arc<dyn WallClock>,
    pool: Arc<FixedCellPool>,
    sink: Arc<BoundedLogSink>,
    backend: Arc<WasmtimeBackend>,
    runner: Phase0ActivationRunner,
    principal: Principal,
    /// Sets this process's activations apart from those of others.
    id_prefix: String,
    ids_given: AtomicU64,
}

impl Node {
    /// Builds the node, which compiles as `preparation` says.
    ///
    /// # Errors
    /// One sentence when this machine cannot run it.
    pub fn start(options: NodeOptions, preparation: Preparation) -> Result<Self, Failure> {
        let unable = |error: PlatformError| Failure::local(format!("cannot start a node: {}", error.message()));
        let clock: Arc<dyn WallClock> = Arc::new(SystemWallClock);
        let in_flight_max = options.in_flight_max as usize;
        let pool = FixedCellPoolConfig {
            node: NodeId::new("local").expect("a literal without forbidden characters"),
            class: CellClass::Standard,
            capacity: options.cells as usize,
            queue_capacity: in_flight_max,
        };
        let pool = Arc::new(FixedCellPool::new(pool, clock.clone()).map_err(unable)?);
        let sink = Arc::new(BoundedLogSink::new(options.sink_bytes()));
        let backend =
            Arc::new(WasmtimeBackend::with_preparation(options.engine(), preparation, sink.clone()).map_err(unable)?);
        let config = Phase0ActivationRunnerConfig { registrations_max: in_flight_max, class: CellClass::Standard };
        let runner = Phase0ActivationRunner::new(pool.clone(), backend.clone(), clock.clone(), config);
        let principal = Principal {
            tenant: preparing::tenant(),
            subject: ServiceName::new("latent-run").expect("a literal without forbidden characters"),
            kind: PrincipalKind::User,
        };
        let id_prefix = format!("run-{:08x}", RandomState::new().hash_one(std::process::id()) >> 32);
        let ids_given = AtomicU64::new(0);
        Ok(Self { options, clock, pool, sink, backend, runner, principal, id_prefix, ids_given })
    }

    /// What the engine turned out to be on this machine.
    pub fn engine(&self) -> &EngineReport {
        self.backend.report()
    }

    /// Whether the component was compiled before, and its image kept.
    pub fn has_image(&self, artifact: &ComponentArtifact) -> bool {
        self.backend.has_image(artifact.digest())
    }

    /// Says what the component exports, without compiling it.
    ///
    /// # Errors
    /// Why it cannot run here, as far as that can be told.
    pub fn inspect(&self, artifact: &ComponentArtifact) -> Result<ContractSurface, PlatformError> {
        self.backend.inspect(artifact.bytes()).map(|inspection| inspection.surface)
    }

    /// Compiles the component, once for all calls, and says what it exports.
    ///
    /// # Errors
    /// Why it cannot run here.
    pub async fn prepare(&self, artifact: ComponentArtifact) -> Result<ContractSurface, PlatformError> {
        let code = self.backend.prepare(artifact, &self.principal.tenant).await?;
        Ok(code.surface().clone())
    }

    /// Runs one activation to its end. When `stop` comes first it is cancelled, and its cleanup awaited.
    pub async fn activate(&self, call: &Call, stop: impl Future<Output = ()>) -> Record {
        let envelope = self.envelope(call);
        let (tenant, id) = (envelope.principal.tenant.clone(), envelope.activation_id.clone());
        let mut running = std::pin::pin!(self.runner.run(envelope, call.artifact.clone()));
        // Biased: the run registers at its first poll, so that a stop always finds it.
        let report = tokio::select! {
            biased;
            report = &mut running => report,
            () = stop => {
                let _found = self.runner.cancel(&tenant, &id, "the command was interrupted");
                running.await
            }
        };
        Record { report, logs: self.sink.take(&tenant, &id) }
    }

    /// The record of an activation that never came to be, because of `error`.
    pub fn never_started(&self, error: PlatformError) -> Record {
        let report = ActivationReport {
            activation_id: self.next_id(),
            cell: None,
            outcome: latent_core::ActivationOutcome::failed(error),
            consumption: latent_core::BudgetConsumption::default(),
            queue_wait: Duration::ZERO,
        };
        Record { report, logs: Vec::new() }
    }

    /// The node's counters.
    pub fn rest(&self) -> Rest {
        Rest {
            pool: self.pool.observations(CellClass::Standard),
            runtime: self.backend.resources(),
            engine: self.engine().clone(),
        }
    }

    fn envelope(&self, call: &Call) -> ActivationEnvelope {
        let NodeOptions { fuel, memory_bytes, log_bytes, deadline, .. } = self.options;
        // A deadline beyond what the clock can express will not come.
        let deadline = deadline.and_then(|after| self.clock.now().checked_add(after));
        ActivationEnvelope {
            activation_id: self.next_id(),
            principal: self.principal.clone(),
            target: call.target.clone(),
            payload: call.payload.clone(),
            budget: ResourceBudget { fuel, memory_bytes, log_bytes, deadline },
            deadline: None,
            trace_parent: None,
            metadata: Vec::new(),
        }
    }

    fn next_id(&self) -> ActivationId {
        let number = self.ids_given.fetch_add(1, Ordering::Relaxed) + 1;
        ActivationId::new(format!("{}-{number}", self.id_prefix)).expect("a short id of letters, digits and dashes")
    }
}
