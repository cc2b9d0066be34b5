//! The parts of a node, put together once.
//!
//! Invariant: everything that lasts is opened before anything listens, and the guests' threads are the data runtime's.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use latent_activation::{LocalActivationJournal, RandomActivationIdSource};
use latent_catalog::CatalogLimits;
use latent_core::{PlatformError, SystemWallClock, TenantId, WallClock};
use latent_executor::{NoSecrets, SecretSource};
use latent_http::egress::{Client, EgressConfig};
use latent_node::access::{
    Tenant, TenantDirectory as _, TenantRegistry, TenantRegistryConfig, TenantRegistryParts, policy,
};
use latent_node::logs::{LogBook, LogBookConfig};
use latent_node::operations::{NodeOperations, NodeOperationsParts};
use latent_node::pressure::PressureReader;
use latent_node::{
    ActivationObserver, CleanupDriver, CleanupSupervisor, LocalActivationManager, LocalActivationManagerParts,
    Observers,
};
use latent_scheduler::CellPool;
use latent_scheduler::admission::{Admission, AdmissionConfig, PressureSample, QuotaLedger};
use latent_storage::disk::{Disk, RealDisk};
use latent_storage::{SecretDirectory, Storage, StorageOptions};
use latent_wasmtime::{
    ChildOptions, CompileLimits, CompilerChoice, FunctionsOptions, ImageLimits, ImageStore, Ports, Preparation,
    WasmtimeBackend,
};

use super::host::Host;
use super::sizes::{self, Places};
use super::stores::Stores;
use super::telemetry::Spans;
use super::{directory, pressure};
use crate::config::{Config, PressureSource};
use crate::ending::Failure;
use crate::preparing;

/// Tenants of one page when all are read.
const PAGE_ROWS: usize = 1000;

/// A node without its listeners.
pub struct Node {
    pub manager: Arc<LocalActivationManager>,
    pub supervisor: Arc<CleanupSupervisor>,
    pub registry: Arc<TenantRegistry>,
    pub stores: Arc<Stores>,
    pub storage: Arc<Storage>,
    pub backend: Arc<WasmtimeBackend>,
    pub logs: Arc<LogBook>,
    pub host: Arc<Host>,
    pub operations: Arc<NodeOperations>,
    pub places: Places,
    /// `None` where the machine's pressure is not looked at.
    pub pressure: Option<PressureReader>,
}

/// What a node has of the machine.
pub(super) struct Outside {
    /// How components become code, and where it is kept.
    pub preparation: Preparation,
    /// What the storage is on.
    pub disk: Arc<dyn Disk>,
    /// What reads the machine's pressure, with what it read first; `None` where nobody looks at it.
    pub pressure: Option<(PressureReader, PressureSample)>,
    /// Where spans are sent.
    pub spans: Option<Arc<Spans>>,
    /// Who is told of ends after the node's own.
    pub observer: Option<Arc<dyn ActivationObserver>>,
}

impl Node {
    /// Opens the data directory of `config` and makes a node of it. Blocks on the disk. The driver is to be spawned on
    /// the data runtime. `observer` is told of ends after the node's own.
    ///
    /// # Errors
    /// One sentence: which directory, file or setting it was, and what to do.
    pub fn open(
        config: &Config,
        clock: &Arc<dyn WallClock>,
        now: Instant,
        observer: Option<Arc<dyn ActivationObserver>>,
    ) -> Result<(Self, CleanupDriver), Failure> {
        let pressure = (config.pressure_source == PressureSource::Psi).then(|| pressure::open(now));
        let pressure = pressure.transpose().map_err(Failure::local)?;
        directory::make_private(&config.data_dir).map_err(Failure::local)?;
        let preparation = preparation(config).map_err(Failure::local)?;
        if let Some(dir) = &config.secrets_dir {
            let checked = secret_directory(dir).check();
            checked.map_err(|refusal| Failure::local(format!("secrets_dir: {refusal}")))?;
        }
        let spans = config.otlp_endpoint.as_deref().map(Spans::to).transpose().map_err(Failure::local)?;
        let outside = Outside { preparation, disk: Arc::new(RealDisk), pressure, spans: spans.map(Arc::new), observer };
        Self::assemble(config, clock, outside)
            .map_err(|error| Failure::local(format!("cannot start the node: {}", error.message())))
    }

    /// Makes a node of what is open already, whose directories are there.
    ///
    /// # Errors
    /// Those of the parts.
    pub(super) fn assemble(
        config: &Config,
        clock: &Arc<dyn WallClock>,
        outside: Outside,
    ) -> Result<(Self, CleanupDriver), PlatformError> {
        let Outside { preparation, disk, pressure, spans, observer } = outside;
        let places = Places::of(config);
        let logs = Arc::new(LogBook::new(logs(config), Arc::clone(clock))?);
        let engine_ports =
            Ports { secrets: secrets(config), outgoing: Arc::new(outgoing(config)?), sink: logs.clone() };
        let backend = Arc::new(WasmtimeBackend::with_ports(sizes::engine(config), preparation, engine_ports)?);
        let options = StorageOptions {
            limits: sizes::storage(config),
            catalog: CatalogLimits::default(),
            inspector: backend.clone(),
        };
        let storage = Arc::new(Storage::open_on(disk, &places.store, options)?);
        let stores = Arc::new(Stores::new(storage.clone(), config.limits.component.0));
        let admission = Arc::new(Admission::new(Arc::new(QuotaLedger::new()), sizes::admission(config))?);
        let registry = registry(config, &stores, &admission, clock)?;
        let host = Arc::new(Host::open(config, &places, &backend, &storage, &logs, spans)?);
        let (pools, scheduler) = sizes::cells(config, clock)?;
        let parts = LocalActivationManagerParts {
            catalog: storage.catalog(),
            repository: storage.clone(),
            admission,
            scheduler: Arc::new(scheduler),
            backend: backend.clone(),
            journal: Arc::new(LocalActivationJournal::new(sizes::journal(config))?),
            ids: Arc::new(RandomActivationIdSource::new()),
            clock: Arc::clone(clock),
            observer: Arc::new(Observers(host.observers().into_iter().chain(observer).collect())),
        };
        let manager = Arc::new(LocalActivationManager::new(parts, sizes::manager(config))?);
        // The rounds that go on with it begin once the node listens.
        let pressure = pressure.map(|(reader, sample)| {
            manager.observe_pressure(Some(sample));
            reader
        });
        let (supervisor, driver) = CleanupSupervisor::new(sizes::supervisor(config))?;
        let operations = NodeOperations::new(NodeOperationsParts {
            manager: manager.clone(),
            supervisor: supervisor.clone(),
            pools: pools.into_iter().map(|(class, pool)| (class, pool as Arc<dyn CellPool>)).collect(),
            host: host.clone(),
            started_at: clock.now(),
            grace: config.shutdown_grace,
            quarantined_percent: config.quarantined_percent,
        });
        let operations = Arc::new(operations);
        let node =
            Self { manager, supervisor, registry, stores, storage, backend, logs, host, operations, places, pressure };
        Ok((node, driver))
    }

    /// The names of all tenants.
    pub fn registry_tenants(&self) -> Vec<TenantId> {
        let (mut names, mut after) = (Vec::new(), None::<Box<str>>);
        loop {
            let page = self.registry.tenants(after.as_deref(), PAGE_ROWS);
            names.extend(page.rows.into_iter().map(|tenant| tenant.name));
            after = page.next;
            if after.is_none() {
                return names;
            }
        }
    }
}

/// The registry, which gives admission a new policy at each change, with the tenants of the configuration in it.
fn registry(
    config: &Config,
    stores: &Arc<Stores>,
    admission: &Arc<Admission>,
    clock: &Arc<dyn WallClock>,
) -> Result<Arc<TenantRegistry>, PlatformError> {
    let (base, admission): (AdmissionConfig, _) = (sizes::admission(config), admission.clone());
    let sink = Arc::new(move |tenants: &[Tenant]| {
        if let Err(error) = admission.replace(policy(&base, tenants)) {
            tracing::error!(%error, "the quotas of tenants are not in force");
        }
    });
    let parts = TenantRegistryParts { store: stores.clone(), clock: Arc::clone(clock), sink };
    let registry = Arc::new(TenantRegistry::open(parts, TenantRegistryConfig::default())?);
    let seeds: Vec<_> =
        config.tenants.iter().map(|(name, quota)| Tenant { name: name.clone(), quota: *quota }).collect();
    registry.seed(&seeds)?;
    Ok(registry)
}

/// Compilation in child processes, with images and functions kept.
fn preparation(config: &Config) -> Result<Preparation, String> {
    let Places { images, functions, .. } = Places::of(config);
    let key = if config.image_cache_dir.is_some() { "image_cache_dir" } else { "data_dir" };
    let unusable =
        |dir: &Path, error: std::io::Error| format!("{key}: cannot use the directory {}: {error}", dir.display());
    if let Some(dir) = &config.image_cache_dir {
        preparing::private(dir).map_err(|error| unusable(dir, error))?;
    }
    let limits = ImageLimits { bytes_max: config.prepared.image_bytes.0, ..ImageLimits::default() };
    let kept =
        ImageStore::open(&images, limits, Arc::new(SystemWallClock)).map_err(|error| unusable(&images, error))?;
    std::fs::create_dir_all(&functions).map_err(|error| unusable(&functions, error))?;
    let options = ChildOptions {
        program: preparing::program(),
        limits: CompileLimits::default(),
        functions: Some(FunctionsOptions::in_dir(functions)),
    };
    Ok(Preparation { compiler: CompilerChoice::Child(options), images: Some(kept) })
}

/// What makes the requests of guests.
fn outgoing(config: &Config) -> Result<Client, PlatformError> {
    let (settings, count) = (&config.outgoing, |count: u64| usize::try_from(count).unwrap_or(usize::MAX));
    let client = Client::new(EgressConfig {
        connections_per_node: count(settings.connections),
        connections_per_tenant: count(settings.connections_per_tenant),
        connect_timeout: settings.connect_timeout,
        first_byte_timeout: settings.first_byte_timeout,
        between_bytes_timeout: settings.between_bytes_timeout,
        total_timeout: settings.total_timeout,
        request_body_bytes_max: settings.request_body.0,
        response_body_bytes_max: settings.response_body.0,
        ca_file: settings.ca.clone(),
        ..EgressConfig::default()
    })?;
    if client.trusted_roots() == 0 {
        tracing::warn!(
            "the system has no certificates of authorities: guests cannot make https requests; see outgoing.ca"
        );
    }
    Ok(client)
}

/// Where the secrets of deployments come from; from nowhere without a directory.
fn secrets(config: &Config) -> Arc<dyn SecretSource> {
    match &config.secrets_dir {
        Some(dir) => Arc::new(secret_directory(dir)),
        None => Arc::new(NoSecrets),
    }
}

fn secret_directory(dir: &Path) -> SecretDirectory {
    SecretDirectory::new(dir, |refusal| tracing::warn!(%refusal, "a secret could not be read"))
}

fn logs(config: &Config) -> LogBookConfig {
    let defaults = LogBookConfig::default();
    LogBookConfig {
        bytes_max: config.logs.bytes.0,
        activation_bytes_max: defaults.activation_bytes_max.max(config.limits.log_bytes.0).min(config.logs.bytes.0),
        retention: config.logs.retention,
        followers_max: usize::try_from(config.logs.followers).unwrap_or(usize::MAX),
        ..defaults
    }
}
