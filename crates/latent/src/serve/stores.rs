//! The storage behind the ports of the API and of the registry of tenants.
//!
//! Invariant: nothing is decided here; each method is one call of the storage.

use std::sync::Arc;

use latent_catalog::{Applied, CapsuleManifest, CatalogView, Delete, Deleted, DeploymentManifest, PageBounds};
use latent_core::{PlatformError, Sha256Digest, TenantId};
use latent_node::access::{RegistryChange, RegistryStore};
use latent_storage::{DocumentEdit, ReleaseRecord, Storage};
use latent_wire::ports::{DeploymentStore, ReleaseStore, ReleaseView, ReleasesPage};

/// A storage, and how large a component may be.
#[derive(Debug, Clone)]
pub struct Stores {
    storage: Arc<Storage>,
    component_bytes_max: u64,
}

impl Stores {
    /// The ports over `storage`, which was opened with this bound.
    pub fn new(storage: Arc<Storage>, component_bytes_max: u64) -> Self {
        Self { storage, component_bytes_max }
    }
}

impl ReleaseStore for Stores {
    fn component_bytes_max(&self) -> u64 {
        self.component_bytes_max
    }

    fn publish(
        &self,
        tenant: &TenantId,
        manifest: &[u8],
        component: &[u8],
    ) -> Result<(ReleaseView, bool), PlatformError> {
        let published = self.storage.publish(tenant, manifest, component)?;
        Ok((view(&published.release), published.created))
    }

    fn release(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ReleaseView, PlatformError> {
        self.storage.release(tenant, digest).map(|record| view(&record))
    }

    fn releases(&self, tenant: &TenantId, after: Option<Sha256Digest>, bounds: PageBounds) -> ReleasesPage {
        let page = self.storage.releases(tenant, after, bounds);
        ReleasesPage { releases: page.releases.iter().map(|record| view(record)).collect(), next: page.next }
    }

    fn delete(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<(), PlatformError> {
        self.storage.delete_release(tenant, digest)
    }

    fn usage(&self, tenant: &TenantId) -> (u64, u64) {
        let usage = self.storage.usage(tenant);
        (usage.releases as u64, usage.bytes)
    }
}

impl DeploymentStore for Stores {
    fn view(&self) -> Arc<CatalogView> {
        self.storage.view()
    }

    fn apply(&self, manifest: DeploymentManifest, expected_generation: Option<u64>) -> Result<Applied, PlatformError> {
        self.storage.apply(manifest, expected_generation)
    }

    fn delete(&self, delete: &Delete) -> Result<Deleted, PlatformError> {
        self.storage.delete(delete)
    }
}

impl RegistryStore for Stores {
    fn load(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, PlatformError> {
        Ok(self.storage.documents(kind))
    }

    fn write(&self, change: &RegistryChange) -> Result<(), PlatformError> {
        let edits: Vec<_> = change
            .documents
            .iter()
            .map(|document| DocumentEdit { kind: document.kind, key: &document.key, value: document.value.as_deref() })
            .collect();
        self.storage.put_documents(&edits, &change.disk_quotas)
    }

    fn holds_anything(&self, tenant: &TenantId) -> bool {
        self.storage.holds_anything(tenant)
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
