//! Questions about releases. All are answered from memory, about the tenant that asks and nobody else.

use std::sync::Arc;

use latent_catalog::PageBounds;
use latent_core::{PlatformError, Sha256Digest, TenantId};

use super::Storage;
use crate::index::Held;
use crate::record::ReleaseRecord;
use crate::refusal::Refusal;

/// What a row weighs besides its record: digest, numbers and names of fields.
const ROW_BYTES: u64 = 256;

/// Some releases of a tenant.
#[derive(Debug, Clone)]
pub struct ReleasePage {
    /// The rows, ordered by digest.
    pub releases: Vec<Arc<ReleaseRecord>>,
    /// After which the next page begins; `None` on the last one.
    pub next: Option<Sha256Digest>,
}

/// What a tenant stores and may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Releases.
    pub releases: usize,
    /// Bytes of its components and their records, whoever else has the same.
    pub bytes: u64,
    /// The most that `bytes` may become by a publication.
    pub quota_bytes: u64,
}

/// What the storage holds, counted as it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageInventory {
    /// Tenants with releases or a quota of their own.
    pub tenants: usize,
    /// Releases, each counted for each tenant that has it.
    pub releases: u64,
    /// Deployments.
    pub deployments: usize,
    /// Components that somebody owns, each once.
    pub components: u64,
    /// Bytes of those on disk. What is still to be collected is not among them.
    pub component_bytes: u64,
    /// Bytes that tenants are charged.
    pub charged_bytes: u64,
}

impl Storage {
    /// One release of a tenant. Does not block on the disk.
    ///
    /// # Errors
    /// `not-found` when the tenant has no such release.
    pub fn release(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<Arc<ReleaseRecord>, PlatformError> {
        let found = self.index().get(tenant, &digest).map(|held| held.record.clone());
        Ok(found.ok_or(Refusal::UnknownRelease { digest })?)
    }

    /// A tenant's releases after the one of digest `after`. A page has one row at least if any is left, never more than
    /// its bound, and no second one beyond its bytes. Does not block on the disk.
    #[must_use]
    pub fn releases(&self, tenant: &TenantId, after: Option<Sha256Digest>, bounds: PageBounds) -> ReleasePage {
        let index = self.index();
        let (mut releases, mut bytes) = (Vec::<Arc<ReleaseRecord>>::new(), 0_u64);
        for held in index.after(tenant, after) {
            bytes = bytes.saturating_add(row_bytes(held));
            let is_full = releases.len() >= bounds.rows_max.max(1) || bytes > bounds.bytes_max as u64;
            if let Some(last) = releases.last().filter(|_| is_full) {
                let next = Some(last.release.digest());
                return ReleasePage { releases, next };
            }
            releases.push(held.record.clone());
        }
        ReleasePage { releases, next: None }
    }

    /// What a tenant stores. Does not block on the disk.
    #[must_use]
    pub fn usage(&self, tenant: &TenantId) -> Usage {
        let owned = self.index().owned(tenant);
        Usage {
            releases: owned.releases,
            bytes: owned.charged_bytes,
            quota_bytes: owned.quota_bytes.unwrap_or(self.limits.tenant_bytes_max),
        }
    }

    /// What the storage holds, in constant time and without blocking on the disk.
    #[must_use]
    pub fn inventory(&self) -> StorageInventory {
        let index = self.index();
        let counts = index.counts();
        StorageInventory {
            tenants: index.tenants(),
            releases: counts.releases,
            deployments: self.view().len(),
            components: counts.components,
            component_bytes: counts.component_bytes,
            charged_bytes: counts.charged_bytes,
        }
    }

    /// Counts everything in memory anew, and says what does not add up. Slow: each release is looked for among all of its
    /// tenant's deployments.
    ///
    /// # Errors
    /// A sentence about the first counter that is wrong.
    pub fn audit(&self) -> Result<(), String> {
        let _no_change = self.writer();
        let (view, index) = (self.view(), self.index());
        index.audit(|tenant, digest| {
            view.of_tenant(tenant).filter(|deployment| deployment.release().digest() == *digest).count() as u64
        })
    }
}

fn row_bytes(held: &Held) -> u64 {
    ROW_BYTES.saturating_add(held.record_bytes)
}
