//! What a node's process has besides activations: the engine, the storage, guests' logs and the usage log.
//!
//! Invariant: every count is one that its owner keeps; none is counted out here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::ExecutionBackend as _;
use latent_node::ActivationObserver;
use latent_node::logs::LogBook;
use latent_node::metrics::{NodeMetrics, NodeMetricsConfig, NodeSample};
use latent_node::operations::{BackupReport, NodeHost, NodeInventory, UsageQuery, UsageSum};
use latent_node::usage::{self, UsageLog, UsageLogConfig};
use latent_storage::Storage;
use latent_wasmtime::WasmtimeBackend;

use super::sizes::Places;
use super::telemetry::Spans;
use crate::config::Config;

/// How long a question about usage waits until the log has what ended before it.
const CATCH_UP: Duration = Duration::from_secs(1);

/// The process of a node.
pub struct Host {
    backend: Arc<WasmtimeBackend>,
    storage: Arc<Storage>,
    logs: Arc<LogBook>,
    usage: Arc<UsageLog>,
    usage_dir: PathBuf,
    data_dir: PathBuf,
    metrics: Arc<NodeMetrics>,
    spans: Option<Arc<Spans>>,
}

impl Host {
    /// Opens the usage log beside what is open already. Blocks on the disk.
    ///
    /// # Errors
    /// As [`UsageLog::open`].
    pub fn open(
        config: &Config,
        places: &Places,
        backend: &Arc<WasmtimeBackend>,
        storage: &Arc<Storage>,
        logs: &Arc<LogBook>,
        spans: Option<Arc<Spans>>,
    ) -> Result<Self, PlatformError> {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let bounds = UsageLogConfig {
            queue_max: count(config.usage_log.queue),
            file_bytes_max: config.usage_log.file_bytes.0,
            files_max: count(config.usage_log.files),
            ..UsageLogConfig::default()
        };
        let usage = UsageLog::open(&places.usage, &engine_name(backend), &bounds)?;
        Ok(Self {
            backend: backend.clone(),
            storage: storage.clone(),
            logs: logs.clone(),
            usage: Arc::new(usage),
            usage_dir: places.usage.clone(),
            data_dir: config.data_dir.clone(),
            metrics: Arc::new(NodeMetrics::new(NodeMetricsConfig::default())),
            spans,
        })
    }

    /// Who is told of every end.
    pub fn observers(&self) -> Vec<Arc<dyn ActivationObserver>> {
        let mut observers: Vec<Arc<dyn ActivationObserver>> =
            vec![self.logs.clone(), self.usage.clone(), self.metrics.clone()];
        observers.extend(self.spans.clone().map(|spans| spans as Arc<dyn ActivationObserver>));
        observers
    }

    /// Writes down what waits to be, within `time`, and says whether that was enough.
    pub async fn close(&self, time: Duration) -> bool {
        let (usage, spans) = (self.usage.clone(), self.spans.clone());
        let usage = tokio::task::spawn_blocking(move || usage.close(time));
        // Spans are lost where their collector does not answer; that holds up nothing.
        let spans = tokio::task::spawn_blocking(move || spans.is_none_or(|spans| spans.close(time)));
        let (usage, _sent) = tokio::join!(usage, spans);
        usage.unwrap_or(false)
    }
}

impl NodeHost for Host {
    fn held(&self) -> Vec<(&'static str, u64)> {
        let engine = self.backend.resources();
        vec![
            ("stores", engine.stores),
            ("instances", engine.component_instances),
            ("instance-permits", engine.instance_permits),
            ("value-buffers", engine.temporary_buffers),
            ("prepared-pins", engine.prepared_pins),
            ("ready-pins", engine.ready_pins),
        ]
    }

    fn kept(&self) -> Vec<(&'static str, u64)> {
        let (engine, storage) = (self.backend.resources(), self.storage.inventory());
        let (logs, usage) = (self.logs.snapshot(), self.usage.snapshot());
        vec![
            ("compiler-jobs", engine.preparations),
            ("compilations", self.backend.compilations()),
            ("prepared-entries", engine.prepared_entries),
            ("prepared-bytes", engine.prepared_bytes),
            ("log-records", logs.records),
            ("log-bytes", logs.bytes),
            ("log-records-dropped", logs.dropped),
            ("log-followers", logs.followers),
            ("usage-lines", usage.written),
            ("usage-lines-dropped", usage.dropped),
            ("usage-write-failures", usage.failures),
            ("releases", storage.releases),
            ("deployments", storage.deployments as u64),
            ("component-bytes", storage.component_bytes),
        ]
    }

    fn backup(&self, directory: &Path) -> Result<BackupReport, PlatformError> {
        if is_within(directory, &self.data_dir) {
            let message =
                format_args!("{} lies in the node's data directory; name one outside of it", directory.display());
            let detail = ErrorDetail::new("storage.inside").with("directory", directory.display());
            return Err(PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail));
        }
        let copied = self.storage.backup(directory)?;
        Ok(BackupReport {
            generation: copied.generation,
            releases: copied.releases,
            deployments: copied.deployments as u64,
            component_bytes: copied.component_bytes,
        })
    }

    fn usage(&self, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError> {
        // What cannot be written in time is missing, as it is where the disk takes nothing.
        let _in_time = self.usage.catch_up(CATCH_UP);
        usage::sum(&self.usage_dir, query)
    }

    fn metrics(&self, inventory: &NodeInventory) -> String {
        let (usage, logs) = (Some(self.usage.snapshot()), Some(self.logs.snapshot()));
        self.metrics.text(&NodeSample { inventory, usage, logs })
    }
}

/// Whether `path`, or where it would be made, lies in `directory`, whatever links lead there.
fn is_within(path: &Path, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    let mut there = path.ancestors().filter_map(|ancestor| ancestor.canonicalize().ok());
    there.next().is_some_and(|there| there.starts_with(directory))
}

/// What runs the guests, for the usage log.
fn engine_name(backend: &WasmtimeBackend) -> String {
    let key = backend.preparation_key(latent_core::Sha256Digest::from_bytes([0; 32]));
    format!("wasmtime-{:016x}", key.compatibility())
}
