//! What a node's API asks besides activations: the storage, and the rest of the process.
//!
//! Invariant: each method is one call of the part that it speaks for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use latent_catalog::{Applied, CapsuleManifest, CatalogView, Delete, Deleted, DeploymentManifest, PageBounds};
use latent_core::{PlatformError, Sha256Digest, TenantId};
use latent_node::ActivationObserver;
use latent_node::access::{RegistryChange, RegistryStore};
use latent_node::logs::LogBook;
use latent_node::metrics::{NodeMetrics, NodeMetricsConfig, NodeSample};
use latent_node::operations::{BackupReport, NodeHost, NodeInventory, UsageQuery, UsageSum};
use latent_node::usage::{self, UsageLog, UsageLogConfig};
use latent_storage::{DocumentEdit, ReleaseRecord, Storage, StorageLimits};
use latent_wire::ports::{DeploymentStore, ReleaseStore, ReleaseView, ReleasesPage};

/// A storage behind the ports of the API and of the registry.
pub struct Stores(pub Arc<Storage>);

impl ReleaseStore for Stores {
    fn component_bytes_max(&self) -> u64 {
        StorageLimits::default().component_bytes_max
    }

    fn publish(
        &self,
        tenant: &TenantId,
        manifest: &[u8],
        component: &[u8],
    ) -> Result<(ReleaseView, bool), PlatformError> {
        let published = self.0.publish(tenant, manifest, component)?;
        Ok((view(&published.release), published.created))
    }

    fn release(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ReleaseView, PlatformError> {
        self.0.release(tenant, digest).map(|record| view(&record))
    }

    fn releases(&self, tenant: &TenantId, after: Option<Sha256Digest>, bounds: PageBounds) -> ReleasesPage {
        let page = self.0.releases(tenant, after, bounds);
        ReleasesPage { releases: page.releases.iter().map(|record| view(record)).collect(), next: page.next }
    }

    fn delete(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<(), PlatformError> {
        self.0.delete_release(tenant, digest)
    }

    fn usage(&self, tenant: &TenantId) -> (u64, u64) {
        let usage = self.0.usage(tenant);
        (usage.releases as u64, usage.bytes)
    }
}

impl DeploymentStore for Stores {
    fn view(&self) -> Arc<CatalogView> {
        self.0.view()
    }

    fn apply(&self, manifest: DeploymentManifest, expected_generation: Option<u64>) -> Result<Applied, PlatformError> {
        self.0.apply(manifest, expected_generation)
    }

    fn delete(&self, delete: &Delete) -> Result<Deleted, PlatformError> {
        self.0.delete(delete)
    }
}

impl RegistryStore for Stores {
    fn load(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, PlatformError> {
        Ok(self.0.documents(kind))
    }

    fn write(&self, change: &RegistryChange) -> Result<(), PlatformError> {
        let edit = |kind, key, value| DocumentEdit { kind, key, value };
        let edits: Vec<_> = change.documents.iter().map(|one| edit(one.kind, &one.key, one.value.as_deref())).collect();
        self.0.put_documents(&edits, &change.disk_quotas)
    }

    fn holds_anything(&self, tenant: &TenantId) -> bool {
        self.0.holds_anything(tenant)
    }
}

fn view(record: &ReleaseRecord) -> ReleaseView {
    ReleaseView {
        release: Arc::clone(&record.release),
        manifest: CapsuleManifest::clone(&record.manifest),
        component_bytes: record.component_bytes,
        imports: record.imports.iter().map(|import| import.0.clone()).collect(),
        declared_memory_bytes: record.declared_memory_bytes,
    }
}

/// The rest of a node's process: everybody who is told of ends.
pub struct Host {
    storage: Arc<Storage>,
    logs: Arc<LogBook>,
    usage: Arc<UsageLog>,
    usage_dir: PathBuf,
    metrics: Arc<NodeMetrics>,
}

impl Host {
    /// A host that writes its usage log to `usage_dir`.
    ///
    /// # Panics
    /// When the log cannot be opened.
    #[must_use]
    pub fn new(usage_dir: &Path, storage: Arc<Storage>, logs: &Arc<LogBook>) -> Self {
        let usage = UsageLog::open(usage_dir, "bench", &UsageLogConfig::default()).expect("a usage log");
        let metrics = Arc::new(NodeMetrics::new(NodeMetricsConfig::default()));
        Self { storage, logs: logs.clone(), usage: Arc::new(usage), usage_dir: usage_dir.to_owned(), metrics }
    }

    /// Who is told of every end.
    #[must_use]
    pub fn observers(&self) -> Vec<Arc<dyn ActivationObserver>> {
        vec![self.logs.clone(), self.usage.clone(), self.metrics.clone()]
    }
}

impl NodeHost for Host {
    fn held(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn kept(&self) -> Vec<(&'static str, u64)> {
        let usage = self.usage.snapshot();
        vec![("usage-lines", usage.written), ("usage-lines-dropped", usage.dropped)]
    }

    fn backup(&self, directory: &Path) -> Result<BackupReport, PlatformError> {
        let copied = self.storage.backup(directory)?;
        Ok(BackupReport {
            generation: copied.generation,
            releases: copied.releases,
            deployments: copied.deployments as u64,
            component_bytes: copied.component_bytes,
        })
    }

    fn usage(&self, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError> {
        usage::sum(&self.usage_dir, query)
    }

    fn metrics(&self, inventory: &NodeInventory) -> String {
        let (usage, logs) = (Some(self.usage.snapshot()), Some(self.logs.snapshot()));
        self.metrics.text(&NodeSample { inventory, usage, logs })
    }
}
