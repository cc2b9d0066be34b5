//! The command's own node: one component, deployed as the one service of the one tenant, and everything that takes an
//! activation of it from a request to a record.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latent_activation::request::TraceContext;
use latent_activation::{ActivationRequest, LocalActivationJournal, Progress, RandomActivationIdSource};
use latent_catalog::{Catalog, CatalogLimits, CatalogView};
use latent_core::id::{DEFAULT_ROUTE, ID_BYTES_MAX};
use latent_core::{
    ActivationId, ActivationOutcome, BudgetCeilings, BudgetConsumption, Caller, CellClass, ContractSurface,
    FunctionTarget, Payload, PlatformError, ResolvedRevision, RouteName, ServiceName, SystemWallClock, TenantId,
    WallClock,
};
use latent_executor::{
    BoundedLogSink, ComponentArtifact, ComponentInspector as _, ExecutionBackend as _, LogRecord,
    RuntimeResourceSnapshot,
};
use latent_node::{LocalActivationManager, LocalActivationManagerParts, NoObserver};
use latent_scheduler::admission::WALL_LIMIT_MAX;
use latent_scheduler::{CellPool as _, CellPoolSnapshot, FixedCellPool};
use latent_wasmtime::{EngineReport, Preparation, WasmtimeBackend};

use crate::ending::Failure;
use crate::preparing;
use one_release::OneRelease;

mod one_release;
mod parts;

/// What the flags say about the node and its activations.
#[derive(Debug, Clone, Copy)]
pub struct NodeOptions {
    /// Cells.
    pub cells: u32,
    /// The most activations in flight, waiting ones included; at least 1.
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

/// What is called, the same for every activation.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function.
    pub target: FunctionTarget,
    /// The arguments.
    pub payload: Payload,
}

/// One activation that ended, or that never was.
#[derive(Debug)]
pub struct Record {
    /// The activation.
    pub activation_id: ActivationId,
    /// What its caller gets.
    pub outcome: ActivationOutcome,
    /// What it used.
    pub consumption: BudgetConsumption,
    /// The revision that it was pinned to, if it got so far.
    pub resolved: Option<ResolvedRevision>,
    /// Its events; none when there was no activation.
    pub progress: Option<Progress>,
    /// The log records of its guest, oldest first.
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

/// A node of one tenant and one service, for one command.
pub struct Node {
    deadline: Option<Duration>,
    clock: Arc<dyn WallClock>,
    pool: Arc<FixedCellPool>,
    sink: Arc<BoundedLogSink>,
    backend: Arc<WasmtimeBackend>,
    catalog: Arc<Catalog>,
    repository: Arc<OneRelease>,
    manager: LocalActivationManager,
    tenant: TenantId,
    service: ServiceName,
    subject: ServiceName,
    route: RouteName,
    /// Sets this process's activations apart from those of others.
    id_prefix: String,
    ids_given: AtomicU64,
}

impl Node {
    /// Builds the node of `artifact`, which was read from `component` and is compiled as `preparation` says.
    ///
    /// # Errors
    /// One sentence when this machine cannot run it.
    pub fn start(
        options: NodeOptions,
        component: &Path,
        artifact: ComponentArtifact,
        preparation: Preparation,
    ) -> Result<Self, Failure> {
        Self::build(options, component, artifact, preparation)
            .map_err(|error| Failure::local(format!("cannot start a node: {}", error.message())))
    }

    fn build(
        options: NodeOptions,
        component: &Path,
        artifact: ComponentArtifact,
        preparation: Preparation,
    ) -> Result<Self, PlatformError> {
        let clock: Arc<dyn WallClock> = Arc::new(SystemWallClock);
        let pool = Arc::new(FixedCellPool::new(options.pool(), clock.clone())?);
        let sink = Arc::new(BoundedLogSink::new(options.sink_bytes()));
        let backend = Arc::new(WasmtimeBackend::with_preparation(options.engine(), preparation, sink.clone())?);
        let catalog = Arc::new(Catalog::new(CatalogView::empty(CatalogLimits::default())));
        let tenant = preparing::tenant();
        let repository = Arc::new(OneRelease::new(tenant.clone(), artifact));
        let parts = LocalActivationManagerParts {
            catalog: catalog.clone(),
            repository: repository.clone(),
            admission: Arc::new(options.admission()?),
            scheduler: Arc::new(options.scheduler(pool.clone())?),
            backend: backend.clone(),
            journal: Arc::new(LocalActivationJournal::new(options.journal())?),
            ids: Arc::new(RandomActivationIdSource::new()),
            clock: clock.clone(),
            observer: Arc::new(NoObserver),
        };
        let manager = LocalActivationManager::new(parts, NodeOptions::manager())?;
        Ok(Self {
            deadline: options.deadline,
            clock,
            pool,
            sink,
            backend,
            catalog,
            repository,
            manager,
            tenant,
            service: service_name(component),
            subject: ServiceName::new("latent-run").expect("a literal without forbidden characters"),
            route: RouteName::new(DEFAULT_ROUTE).expect("a literal without forbidden characters"),
            id_prefix: format!("run-{:08x}", RandomState::new().hash_one(std::process::id()) >> 32),
            ids_given: AtomicU64::new(0),
        })
    }

    /// What the engine turned out to be on this machine.
    pub fn engine(&self) -> &EngineReport {
        self.backend.report()
    }

    /// The component.
    pub fn artifact(&self) -> &ComponentArtifact {
        self.repository.artifact()
    }

    /// Whether the component was compiled before, and its image kept.
    pub fn has_image(&self) -> bool {
        self.backend.has_image(self.artifact().digest())
    }

    /// Says what the component exports, without compiling it.
    ///
    /// # Errors
    /// Why it cannot run here, as far as that can be told.
    pub fn inspect(&self) -> Result<ContractSurface, PlatformError> {
        self.backend.inspect(self.artifact().bytes()).map(|inspection| inspection.surface)
    }

    /// Compiles the component, once for all calls, deploys it, and says what it exports.
    ///
    /// # Errors
    /// Why it cannot run here.
    pub async fn prepare(&self) -> Result<ContractSurface, PlatformError> {
        let code = self.backend.prepare(self.artifact().clone(), &self.tenant).await?;
        let surface = code.surface();
        self.catalog.apply(parts::deployment(self.service.clone(), self.artifact(), surface)?)?;
        Ok(surface.clone())
    }

    /// Runs one activation to its end. When `stop` comes first it is cancelled, and its cleanup awaited.
    pub async fn activate(&self, call: &Call, stop: impl Future<Output = ()>) -> Record {
        let activation_id = self.next_id();
        let mut running = match self.manager.start(self.request(call, &activation_id)) {
            Ok(accepted) => accepted,
            Err(error) => return never_was(activation_id, error),
        };
        // Biased: an activation that has ended is not cancelled any more.
        let receipt = tokio::select! {
            biased;
            receipt = &mut running => receipt,
            () = stop => {
                let _found = self.manager.cancel_for(&self.tenant, &activation_id, "the command was interrupted");
                running.await
            }
        };
        Record {
            logs: self.sink.take(&self.tenant, &activation_id),
            activation_id,
            outcome: receipt.outcome,
            consumption: receipt.consumption,
            resolved: receipt.resolved,
            progress: Some(receipt.progress),
        }
    }

    /// The record of an activation that never came to be, because of `error`.
    pub fn never_started(&self, error: PlatformError) -> Record {
        never_was(self.next_id(), error)
    }

    /// The node's counters.
    pub fn rest(&self) -> Rest {
        let mut pool = self.pool.observations(CellClass::Standard);
        let queue = self.manager.parts().scheduler.snapshot(CellClass::Standard);
        pool.queue_depth += queue.map_or(0, |queue| queue.queued);
        Rest { pool, runtime: self.backend.resources(), engine: self.engine().clone() }
    }

    /// Asks for nothing but the call and its deadline: the flags are the node's own ceilings.
    fn request(&self, call: &Call, activation_id: &ActivationId) -> ActivationRequest {
        // A deadline beyond the longest that a node gives is that one.
        let deadline = self.deadline.filter(|after| *after < WALL_LIMIT_MAX);
        ActivationRequest {
            activation_id: Some(activation_id.as_str().to_owned()),
            root_activation_id: None,
            parent_activation_id: None,
            caller: Caller::User { tenant: self.tenant.clone(), subject: self.subject.clone() },
            tenant: self.tenant.clone(),
            service: self.service.clone(),
            route: self.route.clone(),
            target: call.target.clone(),
            payload: call.payload.clone(),
            budget: BudgetCeilings::default(),
            deadline: deadline.and_then(|after| self.clock.now().checked_add(after)),
            trace: TraceContext::default(),
            idempotency_key: None,
            retry_count: 0,
            metadata: Vec::new(),
        }
    }

    fn next_id(&self) -> ActivationId {
        let number = self.ids_given.fetch_add(1, Ordering::Relaxed) + 1;
        ActivationId::new(format!("{}-{number}", self.id_prefix)).expect("a short id of letters, digits and dashes")
    }
}

fn never_was(activation_id: ActivationId, error: PlatformError) -> Record {
    Record {
        activation_id,
        outcome: ActivationOutcome::failed(error),
        consumption: BudgetConsumption::default(),
        resolved: None,
        progress: None,
        logs: Vec::new(),
    }
}

/// What the service of a component is called: as its file, with a dash for white space; `local` where that is no name.
pub fn service_name(component: &Path) -> ServiceName {
    let stem = component.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = stem.replace(|c: char| c.is_whitespace() || c.is_control(), "-");
    name.truncate(name.floor_char_boundary(ID_BYTES_MAX));
    ServiceName::new(name)
        .unwrap_or_else(|_not_a_name| ServiceName::new("local").expect("a literal without forbidden characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_called_as_its_file() {
        let long = format!("{}é.wasm", "x".repeat(ID_BYTES_MAX - 1));
        for (path, name) in [
            ("target/text-stats.wasm", "text-stats"),
            ("my service.wat", "my-service"),
            ("grüße", "grüße"),
            ("a\u{200b}b.wasm", "local"),
            ("..", "local"),
            (&long, &long[..ID_BYTES_MAX - 1]),
        ] {
            assert_eq!(service_name(Path::new(path)).as_str(), name, "{path}");
        }
    }

    #[test]
    fn what_is_in_flight_has_room_whatever_it_is_granted() {
        for in_flight_max in [1, 3, 65_536] {
            let options = NodeOptions {
                cells: 1,
                in_flight_max,
                fuel: u64::MAX,
                memory_bytes: u64::MAX,
                log_bytes: u64::MAX,
                deadline: None,
            };
            let clock = Arc::new(SystemWallClock);
            let pool = Arc::new(FixedCellPool::new(options.pool(), clock).expect("the pool"));
            options.admission().expect("the policy");
            options.scheduler(pool).expect("the scheduler");
            LocalActivationJournal::new(options.journal()).expect("the journal");
            assert!(options.engine().ready_pins_max >= in_flight_max);
        }
    }
}
