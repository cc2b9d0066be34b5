//! The sizes of a node's parts, as the configuration has them. Pure.
//!
//! Invariant: whatever admission lets in has its place in every queue, ledger and journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use latent_activation::{LocalActivationJournalConfig, RequestLimits};
use latent_core::{CellClass, NodeId, PlatformError, Threading, WallClock};
use latent_node::{CleanupSupervisorConfig, LocalActivationManagerConfig};
use latent_scheduler::admission::{
    AdmissionConfig, ClassOffer, NodeCeilings, PressureLimits, PressurePolicy, Quota, TenantPolicy,
};
use latent_scheduler::fair::{ClassQueue, LocalScheduler, LocalSchedulerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_storage::StorageLimits;
use latent_wasmtime::EngineSettings;

use crate::config::{CellsConfig, Config, PressureSource};

/// The pool of one class.
pub type Pool = (CellClass, Arc<FixedCellPool>);

/// Settings of the engine: one slot for each cell, with the memory of the largest class.
pub fn engine(config: &Config) -> EngineSettings {
    let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let defaults = EngineSettings::for_cells(narrow(config.cells_total()));
    let mut values = defaults.values;
    values.bytes_in_max = whole(config.limits.payload.0);
    values.bytes_out_max = whole(config.limits.result.0);
    EngineSettings {
        memory_bytes_max: config.memory_max(),
        component_bytes_max: config.limits.component.0,
        prepared_entries_max: narrow(config.prepared.entries),
        prepared_bytes_max: config.prepared.bytes.0,
        compilers: narrow(config.prepared.compilers),
        ready_pins_max: defaults.ready_pins_max.max(narrow(config.capacity())),
        values,
        ..defaults
    }
}

/// Bounds of the storage.
pub fn storage(config: &Config) -> StorageLimits {
    StorageLimits {
        component_bytes_max: config.limits.component.0,
        tenant_bytes_max: config.limits.tenant_disk.0,
        ..StorageLimits::default()
    }
}

/// Admission of tenants that a registry lists.
pub fn admission(config: &Config) -> AdmissionConfig {
    let classes = config.classes().map(|(class, cells)| offer(class, cells)).collect();
    let open = AdmissionConfig::open(classes, config.capacity());
    let ceilings = NodeCeilings {
        fuel: config.limits.fuel,
        memory_bytes: config.memory_max(),
        log_bytes: config.limits.log_bytes.0,
        wall_limit: config.limits.wall,
    };
    let pressure = match config.pressure_source {
        PressureSource::Psi => PressurePolicy::Linux(pressure(config)),
        PressureSource::None => PressurePolicy::None,
    };
    let node = Quota { payload_bytes: config.limits.payload.0, ..open.node };
    // What a tenant may have whose own quota says nothing: so much that it leaves room for others.
    let share = tenant_active(config);
    let quota = Quota { live: share, queued: share, ..Quota::UNLIMITED };
    let other_tenants = Some(TenantPolicy { quota, ..TenantPolicy::open() });
    AdmissionConfig { ceilings, node, pressure, other_tenants, ..open }
}

/// Admission counts in hundredths of a percent.
fn pressure(config: &Config) -> PressureLimits {
    let hundredths = |percent: u64| u16::try_from(percent.saturating_mul(100)).unwrap_or(u16::MAX);
    PressureLimits {
        cpu_some: hundredths(config.pressure.cpu),
        memory_full: hundredths(config.pressure.memory),
        io_full: hundredths(config.pressure.io),
        ..PressureLimits::default()
    }
}

/// The most activations of one tenant: as configured, or three quarters of all.
fn tenant_active(config: &Config) -> u64 {
    match config.journal.tenant_active {
        0 => (config.capacity() * 3 / 4).max(1),
        configured => configured,
    }
}

fn offer(class: CellClass, cells: CellsConfig) -> ClassOffer {
    ClassOffer {
        class,
        cells: cells.count,
        memory_bytes: cells.memory.0,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota { live: cells.count + cells.queue, ..Quota::UNLIMITED },
    }
}

/// The pools, and the scheduler over them.
///
/// # Errors
/// None for a configuration that was checked.
pub fn cells(config: &Config, clock: &Arc<dyn WallClock>) -> Result<(Vec<Pool>, LocalScheduler), PlatformError> {
    let (mut pools, mut queues) = (Vec::new(), Vec::new());
    for (class, cells) in config.classes() {
        let pool = FixedCellPoolConfig {
            node: NodeId::new("node").expect("a literal without forbidden characters"),
            class,
            capacity: whole(cells.count),
            queue_capacity: whole(cells.queue),
        };
        let pool = Arc::new(FixedCellPool::new(pool, Arc::clone(clock))?);
        let queue_capacity = whole(cells.queue);
        queues.push(ClassQueue { class, pool: pool.clone(), queue_capacity, tenant_cells_max: None });
        pools.push((class, pool));
    }
    let grace = LocalSchedulerConfig { cleanup_grace: config.limits.cleanup_grace, ..LocalSchedulerConfig::default() };
    Ok((pools, LocalScheduler::new(grace, queues)?))
}

/// Bounds of the journal.
pub fn journal(config: &Config) -> LocalActivationJournalConfig {
    LocalActivationJournalConfig {
        active_max: whole(config.capacity()),
        tenant_active_max: whole(tenant_active(config)),
        terminal_max: whole(config.journal.retained),
        aggregate_bytes_max: config.journal.bytes.0,
        terminal_retention: config.journal.retention,
        declared_error_bytes_max: config.journal.declared_error.0,
        evicted_ids_max: whole(config.journal.retained),
        ..LocalActivationJournalConfig::default()
    }
}

/// Bounds of requests, and the grace of cleanups.
pub fn manager(config: &Config) -> LocalActivationManagerConfig {
    let requests = RequestLimits { payload_bytes_max: whole(config.limits.payload.0), ..RequestLimits::default() };
    LocalActivationManagerConfig { requests, cleanup_grace: config.limits.cleanup_grace }
}

/// A slot for each activation that may be under way.
pub fn supervisor(config: &Config) -> CleanupSupervisorConfig {
    CleanupSupervisorConfig { continuations_max: whole(config.capacity()), cleanup_grace: config.limits.cleanup_grace }
}

/// Where things are in the data directory.
#[derive(Debug, Clone)]
pub struct Places {
    /// Releases, deployments, tenants and credentials.
    pub store: PathBuf,
    /// Compiled components.
    pub images: PathBuf,
    /// Compiled functions.
    pub functions: PathBuf,
    /// The usage log.
    pub usage: PathBuf,
    /// Where clients find the listeners.
    pub listeners: PathBuf,
    /// The credential of a development node.
    pub credential: PathBuf,
}

impl Places {
    /// The places of `config`.
    pub fn of(config: &Config) -> Self {
        let data: &Path = &config.data_dir;
        let cache = config.image_cache_dir.as_deref().unwrap_or(data);
        Self {
            store: data.join("store"),
            images: cache.join("images"),
            functions: cache.join("functions"),
            usage: data.join("usage"),
            listeners: data.join("listeners.json"),
            credential: data.join("dev-credential"),
        }
    }
}

/// Whoever has more than this machine can address is bounded by it.
fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_activation::LocalActivationJournal;
    use latent_core::SystemWallClock;
    use latent_node::CleanupSupervisor;
    use latent_scheduler::admission::{Admission, QuotaLedger};

    #[test]
    fn the_defaults_are_those_of_the_reference() {
        let config = Config::default();
        let journal = journal(&config);
        assert_eq!((journal.active_max, journal.terminal_max, journal.tenant_active_max), (64, 65_536, 48));
        assert_eq!(supervisor(&config).continuations_max, 64);
        let engine = engine(&config);
        assert_eq!((engine.cells, engine.memory_bytes_max, engine.component_bytes_max), (16, 64 << 20, 64 << 20));
        let admission = admission(&config);
        assert_eq!((admission.node.live, admission.classes.len(), admission.ceilings.fuel), (64, 1, 100_000_000));
    }

    #[test]
    fn parts_of_every_class_are_made_within_their_bounds() {
        let mut config = Config::default();
        config.cells.iter_mut().for_each(|cells| (cells.count, cells.queue) = (2, 3));
        let clock: Arc<dyn WallClock> = Arc::new(SystemWallClock);
        let (pools, _scheduler) = cells(&config, &clock).expect("the cells");
        assert_eq!(pools.len(), CellClass::ALL.len());
        Admission::new(Arc::new(QuotaLedger::new()), admission(&config)).expect("the policy");
        LocalActivationJournal::new(journal(&config)).expect("the journal");
        let _supervised = CleanupSupervisor::new(supervisor(&config)).expect("the supervisor");
        assert_eq!((journal(&config).active_max, engine(&config).cells), (25, 10));
    }
}
