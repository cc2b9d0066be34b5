//! The node behind [`Operations`]: its state, its counters, and what its host does for it.
//!
//! Invariant: the inventory reads counters that are kept as things change; nothing is counted out to answer it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use latent_core::{CellClass, PlatformError};
use latent_scheduler::{CellPool, CellPoolSnapshot};

use super::{BackupReport, NodeInventory, NodeLifecycle, NodeState, Operations, UsageQuery, UsageSum};
use crate::{CleanupSupervisor, LocalActivationManager};

/// What a node's process has besides activations.
pub trait NodeHost: Send + Sync {
    /// What is held while activations or preparations are under way, by name; all zero when nothing is. Constant time.
    fn held(&self) -> Vec<(&'static str, u64)>;

    /// What is kept however little is under way, by name. In constant time.
    fn kept(&self) -> Vec<(&'static str, u64)>;

    /// Copies all that is durable into `directory`. Blocks.
    ///
    /// # Errors
    /// As the storage's backup.
    fn backup(&self, directory: &Path) -> Result<BackupReport, PlatformError>;

    /// Sums the usage log, and says how many lines it could not take. Blocks.
    ///
    /// # Errors
    /// `unavailable` when the log cannot be read.
    fn usage(&self, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError>;

    /// The metrics in the text format of Prometheus, with the gauges of `inventory`.
    fn metrics(&self, inventory: &NodeInventory) -> String;
}

/// What a node is made of, as its operations need it.
pub struct NodeOperationsParts {
    /// Runs activations.
    pub manager: Arc<LocalActivationManager>,
    /// Cleans up after lost transports.
    pub supervisor: Arc<CleanupSupervisor>,
    /// The cells of each class.
    pub pools: Vec<(CellClass, Arc<dyn CellPool>)>,
    /// The rest of the process.
    pub host: Arc<dyn NodeHost>,
    /// Since when the node runs.
    pub started_at: SystemTime,
    /// How long activations may go on when it stops.
    pub grace: Duration,
    /// Quarantined cells, in percent of all, from which on it fails; 1 to 100.
    pub quarantined_percent: u64,
}

/// A node as its operator sees it.
pub struct NodeOperations {
    pub(super) parts: NodeOperationsParts,
    pub(super) lifecycle: NodeLifecycle,
}

impl NodeOperations {
    /// A node that starts.
    #[must_use]
    pub fn new(parts: NodeOperationsParts) -> Self {
        Self { parts, lifecycle: NodeLifecycle::new() }
    }

    /// What it is doing, to change it.
    #[must_use]
    pub fn lifecycle(&self) -> &NodeLifecycle {
        &self.lifecycle
    }

    /// What is still held, by name: nothing, once the node has settled. In constant time.
    #[must_use]
    pub fn leftovers(&self) -> Vec<(&'static str, u64)> {
        self.held().into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Looks at the cells, and fails the node when too many are quarantined. Whether it fails now. In constant time.
    pub fn check_cells(&self) -> bool {
        let (mut cells, mut quarantined) = (0_u64, 0_u64);
        for (_, pool) in self.cells() {
            cells += pool.capacity as u64;
            quarantined += pool.quarantined as u64;
        }
        let is_failing = quarantined > 0 && quarantined * 100 >= cells * self.parts.quarantined_percent;
        is_failing && self.lifecycle.fail()
    }

    /// Activations and continuations under way.
    pub(super) fn under_way(&self) -> u64 {
        let NodeOperationsParts { manager, supervisor, .. } = &self.parts;
        let (journal, supervised) = (manager.parts().journal.snapshot(), supervisor.snapshot());
        (journal.active.max(supervised.reserved + supervised.continuing)) as u64
    }

    fn cells(&self) -> Vec<(CellClass, CellPoolSnapshot)> {
        let scheduler = &self.parts.manager.parts().scheduler;
        let observed = self.parts.pools.iter().map(|(class, pool)| {
            let mut cells = pool.observations(*class);
            cells.queue_depth += scheduler.snapshot(*class).map_or(0, |queue| queue.queued);
            (*class, cells)
        });
        observed.collect()
    }

    fn held(&self) -> Vec<(&'static str, u64)> {
        let NodeOperationsParts { manager, supervisor, host, .. } = &self.parts;
        let (journal, supervised) = (manager.parts().journal.snapshot(), supervisor.snapshot());
        let quota = manager.parts().admission.ledger().snapshot();
        let cells = self.cells();
        let mut held = vec![
            ("activations", journal.active as u64),
            ("leases", cells.iter().map(|(_, pool)| pool.active_leases as u64).sum()),
            ("queued", cells.iter().map(|(_, pool)| pool.queue_depth as u64).sum()),
            ("quota-live", quota.live()),
            ("quota-fuel", quota.fuel),
            ("quota-memory-bytes", quota.memory_bytes),
            ("continuation-slots", supervised.reserved as u64),
            ("continuations", supervised.continuing as u64),
        ];
        held.extend(host.held());
        held
    }
}

impl Operations for NodeOperations {
    fn state(&self) -> NodeState {
        self.lifecycle.state()
    }

    fn admits(&self) -> Result<(), PlatformError> {
        self.lifecycle.admits()
    }

    fn inventory(&self) -> NodeInventory {
        let journal = self.parts.manager.parts().journal.snapshot();
        let supervised = self.parts.supervisor.snapshot();
        let mut counts = self.held();
        counts.extend([
            ("records", journal.terminal as u64),
            ("record-bytes", journal.retained_bytes + journal.reserved_bytes),
            ("evicted-ids", journal.evicted_ids as u64),
            ("continuations-ended", supervised.ended),
            ("continuations-overrun", supervised.overruns),
        ]);
        counts.extend(self.parts.host.kept());
        NodeInventory { state: self.state(), started_at: self.parts.started_at, cells: self.cells(), counts }
    }

    fn drain(&self, wait: Option<Duration>) -> BoxFuture<'_, u64> {
        self.lifecycle.drain();
        self.emptied_within(wait.unwrap_or(self.parts.grace)).boxed()
    }

    fn resume(&self) -> Result<(), PlatformError> {
        self.lifecycle.resume()
    }

    fn backup(&self, directory: PathBuf) -> Result<BackupReport, PlatformError> {
        self.parts.host.backup(&directory)
    }

    fn usage(&self, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError> {
        self.parts.host.usage(query)
    }

    fn metrics(&self) -> String {
        self.parts.host.metrics(&self.inventory())
    }
}

impl fmt::Debug for NodeOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeOperations").field("lifecycle", &self.lifecycle).finish_non_exhaustive()
    }
}
