//! Every bound of the storage, and what it is opened with.

use std::fmt;
use std::sync::Arc;

use latent_catalog::{CatalogLimits, ManifestLimits};
use latent_executor::ComponentInspector;

/// Bounds of the storage. What was accepted under other bounds stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageLimits {
    /// Bytes of one component. Default 64 MiB. A larger one is refused before it is looked at; a fetch holds at most
    /// this much.
    pub component_bytes_max: u64,
    /// Bytes that one tenant may store, if it has no quota of its own. Default 1 GiB. A component counts for each tenant
    /// that published it, together with its record.
    pub tenant_bytes_max: u64,
    /// Releases of one tenant. Default 10,000. Each is kept in memory without its bytes.
    pub tenant_releases_max: usize,
    /// Bytes of one record: what is known of a release, or a deployment. Default 1 MiB.
    pub record_bytes_max: usize,
    /// Bytes of one document. Default 64 KiB. A larger one is refused.
    pub document_bytes_max: usize,
    /// Documents of one kind. Default 100,000. Each is kept in memory; one more is refused.
    pub documents_max: usize,
    /// Bounds of capsule manifests.
    pub manifest: ManifestLimits,
    /// Bytes of memory in which the database keeps pages. Default 16 MiB.
    pub database_cache_bytes: usize,
}

impl Default for StorageLimits {
    fn default() -> Self {
        Self {
            component_bytes_max: 64 << 20,
            tenant_bytes_max: 1 << 30,
            tenant_releases_max: 10_000,
            record_bytes_max: 1 << 20,
            document_bytes_max: 64 << 10,
            documents_max: 100_000,
            manifest: ManifestLimits::default(),
            database_cache_bytes: 16 << 20,
        }
    }
}

/// What a storage is opened with.
#[derive(Clone)]
pub struct StorageOptions {
    /// Its own bounds.
    pub limits: StorageLimits,
    /// Bounds of the catalog in it.
    pub catalog: CatalogLimits,
    /// Reads what a component exports and imports, when it is published.
    pub inspector: Arc<dyn ComponentInspector>,
}

impl StorageOptions {
    /// Default bounds.
    #[must_use]
    pub fn new(inspector: Arc<dyn ComponentInspector>) -> Self {
        Self { limits: StorageLimits::default(), catalog: CatalogLimits::default(), inspector }
    }
}

impl fmt::Debug for StorageOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageOptions")
            .field("limits", &self.limits)
            .field("catalog", &self.catalog)
            .finish_non_exhaustive()
    }
}
