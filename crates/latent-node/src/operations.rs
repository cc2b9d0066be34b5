//! The node as its operator sees it.
//!
//! Invariant: what is asked here changes whether activations begin, and nothing of those that have begun.

mod lifecycle;
mod node;
mod stopping;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use latent_core::{CellClass, PlatformError, TenantId};
use latent_scheduler::CellPoolSnapshot;

pub use lifecycle::NodeLifecycle;
pub use node::{NodeHost, NodeOperations, NodeOperationsParts};
pub use stopping::Settled;

/// What the node is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeState {
    /// Not yet listening.
    Starting,
    /// Taking activations.
    Ready,
    /// Taking none any more; some are under way.
    Draining,
    /// None is under way.
    Drained,
    /// Too many cells are quarantined: it drains, and the process ends.
    Failing,
}

impl NodeState {
    /// The state's name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Drained => "drained",
            Self::Failing => "failing",
        }
    }
}

/// What the node holds, counted as it changes (reference, section 10).
#[derive(Debug, Clone)]
pub struct NodeInventory {
    /// What it is doing.
    pub state: NodeState,
    /// Since when it runs.
    pub started_at: SystemTime,
    /// The cells of each class, and how many wait for one.
    pub cells: Vec<(CellClass, CellPoolSnapshot)>,
    /// Everything else, by name, in a fixed order.
    pub counts: Vec<(&'static str, u64)>,
}

/// Which lines of the usage log are summed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageQuery {
    /// Of one tenant, or of all.
    pub tenant: Option<TenantId>,
    /// Of activations that ended at this time or later.
    pub since: Option<SystemTime>,
    /// Of activations that ended before this time.
    pub until: Option<SystemTime>,
}

/// What one service of one tenant used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageSum {
    /// Whose.
    pub tenant: String,
    /// Of which service.
    pub service: String,
    /// How many activations ended.
    pub activations: u64,
    /// How many by terminal state, in order of name.
    pub ended: Vec<(String, u64)>,
    /// How many by the limit that fired, in order of name.
    pub limited: Vec<(String, u64)>,
    /// Units of fuel.
    pub fuel: u64,
    /// Time in guests.
    pub wall_time: Duration,
    /// The highest of any.
    pub peak_memory_bytes: u64,
    /// Bytes of log records.
    pub log_bytes: u64,
    /// HTTP requests that guests made, refused ones included.
    pub outbound_requests: u64,
    /// Bytes of payloads.
    pub bytes_in: u64,
    /// Bytes of results and declared errors.
    pub bytes_out: u64,
}

/// What a backup holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupReport {
    /// The catalog's generation.
    pub generation: u64,
    /// Releases, each counted for each tenant that has it.
    pub releases: u64,
    /// Deployments.
    pub deployments: u64,
    /// Bytes of components.
    pub component_bytes: u64,
}

/// What an operator asks of a node.
pub trait Operations: Send + Sync {
    /// What it is doing. Does not block.
    fn state(&self) -> NodeState;

    /// Whether a new activation may begin. Does not block; called for every one.
    ///
    /// # Errors
    /// Retryable `unavailable`, detail `activation.shutting-down`, while it starts, drains or fails.
    fn admits(&self) -> Result<(), PlatformError>;

    /// What the node holds, in constant time.
    fn inventory(&self) -> NodeInventory;

    /// Takes no activation any more, waits at most `wait` (absent: the node's grace) for those under way, and says how many
    /// are left.
    fn drain(&self, wait: Option<Duration>) -> BoxFuture<'_, u64>;

    /// Takes activations again.
    ///
    /// # Errors
    /// `state-conflict` when the node is shutting down or failing.
    fn resume(&self) -> Result<(), PlatformError>;

    /// Copies all that is durable into `directory`. Blocks.
    ///
    /// # Errors
    /// As the storage's backup.
    fn backup(&self, directory: PathBuf) -> Result<BackupReport, PlatformError>;

    /// Sums the usage log, and says how many lines it could not take. Blocks.
    ///
    /// # Errors
    /// `unavailable` when the log cannot be read.
    fn usage(&self, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError>;

    /// The metrics in the text format of Prometheus.
    fn metrics(&self) -> String;
}
