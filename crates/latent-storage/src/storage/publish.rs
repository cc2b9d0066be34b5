//! Publishing and deleting releases.
//!
//! Invariant: a release is in the index only after its component lies durably under its digest. Nothing in here depends
//! on whether another tenant has the same component.

use std::sync::Arc;

use latent_catalog::{CapsuleManifest, Release};
use latent_core::{PlatformError, Sha256Digest, TenantId};

use super::Storage;
use crate::record::{self, ReleaseRecord};
use crate::records::{Edit, Table};
use crate::refusal::Refusal;

/// What a publication did.
#[derive(Debug, Clone)]
pub struct Published {
    /// The release.
    pub release: Arc<ReleaseRecord>,
    /// Whether the tenant did not have it before.
    pub created: bool,
}

/// A component that was looked at and found fit.
struct Candidate<'a> {
    tenant: &'a TenantId,
    record: Arc<ReleaseRecord>,
    /// The record as it is written.
    value: Vec<u8>,
}

impl Storage {
    /// Stores a component with its capsule manifest for a tenant. Durable when this returns. The same component with the
    /// same manifest again changes nothing, except that a damaged file is replaced.
    ///
    /// # Errors
    /// `invalid-argument` and `incompatible-contract` for a component or manifest that is not fit; `state-conflict` when the
    /// tenant published it with another manifest; `resource-exhausted` beyond a quota or limit, or on a full disk;
    /// `unavailable` when the disk fails; `corrupt-artifact` when a directory has the component's name. Then the
    /// tenant has what it had.
    pub fn publish(&self, tenant: &TenantId, manifest: &[u8], component: &[u8]) -> Result<Published, PlatformError> {
        let (found, max) = (component.len() as u64, self.limits.component_bytes_max);
        if found > max {
            return Err(Refusal::ComponentTooLarge { found, max }.into());
        }
        let manifest = CapsuleManifest::from_json(manifest, &self.limits.manifest)?;
        let digest = Sha256Digest::of(component);
        if let Some(release) = self.known(tenant, &digest, &manifest)? {
            self.mend(&release, component)?;
            return Ok(Published { release, created: false });
        }
        let record = Arc::new(self.inspected(digest, component, manifest)?);
        let value = record::release(&record).map_err(|malformed| Refusal::TypeTooDeep { what: malformed.0 })?;
        self.check_record(value.len())?;
        self.add(&Candidate { tenant, record, value }, component)
    }

    /// Removes a tenant's release. Its component stays on the disk until [`collect`](Self::collect).
    ///
    /// # Errors
    /// `not-found` when the tenant has no such release; `state-conflict` naming a deployment that uses it;
    /// `resource-exhausted` or `unavailable` when the disk fails.
    pub fn delete_release(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<(), PlatformError> {
        let mut writer = self.writer();
        let deployments = self.index().get(tenant, &digest).map(|held| held.deployments);
        let deployments = deployments.ok_or(Refusal::UnknownRelease { digest })?;
        if deployments > 0 {
            let view = self.view();
            let user = view.of_tenant(tenant).find(|deployment| deployment.release().digest() == digest);
            if let Some(user) = user {
                let (service, deployment) = (user.service().clone(), user.id().clone());
                return Err(Refusal::Referenced { digest, service, deployment }.into());
            }
        }
        let generation = writer.generation();
        let key = record::release_key(tenant, &digest);
        writer.commit(vec![Edit { table: Table::Releases, key, value: None }], generation)?;
        self.index_mut().remove(tenant, &digest);
        Ok(())
    }

    /// Gives a tenant a quota of its own, or with `None` the one that everybody has. A quota below what is stored keeps
    /// what is there.
    ///
    /// # Errors
    /// `resource-exhausted` or `unavailable` when the disk fails.
    pub fn set_quota(&self, tenant: &TenantId, bytes: Option<u64>) -> Result<(), PlatformError> {
        let mut writer = self.writer();
        let edit = Edit { table: Table::Quotas, key: record::quota_key(tenant), value: bytes.map(record::quota) };
        let generation = writer.generation();
        writer.commit(vec![edit], generation)?;
        self.index_mut().set_quota(tenant, bytes);
        Ok(())
    }

    /// Stages outside of the lock; names, commits and shows under it.
    fn add(&self, candidate: &Candidate<'_>, component: &[u8]) -> Result<Published, PlatformError> {
        let Candidate { tenant, record, value } = candidate;
        let digest = record.release.digest();
        self.check_room(candidate)?;
        let staged = self.directory.stage(component)?;
        let mut writer = self.writer();
        if let Some(release) = self.known(tenant, &digest, &record.manifest)? {
            return Ok(Published { release, created: false });
        }
        self.check_room(candidate)?;
        self.directory.place(staged, &digest)?;
        let generation = writer.generation();
        let key = record::release_key(tenant, &digest);
        writer.commit(vec![Edit { table: Table::Releases, key, value: Some(value.clone()) }], generation)?;
        self.index_mut().insert(tenant, record.clone(), value.len() as u64);
        Ok(Published { release: record.clone(), created: true })
    }

    /// The tenant's release of this digest, which must have this manifest.
    fn known(
        &self,
        tenant: &TenantId,
        digest: &Sha256Digest,
        manifest: &CapsuleManifest,
    ) -> Result<Option<Arc<ReleaseRecord>>, Refusal> {
        let known = self.index().get(tenant, digest).map(|held| held.record.clone());
        match known {
            Some(release) if release.manifest != *manifest => Err(Refusal::OtherManifest { digest: *digest }),
            known => Ok(known),
        }
    }

    /// Writes the component of a release again if what is stored is not what was published.
    fn mend(&self, release: &ReleaseRecord, component: &[u8]) -> Result<(), PlatformError> {
        let digest = release.release.digest();
        let stored = self.directory.component(&digest, release.component_bytes);
        if stored.is_ok_and(|stored| stored == component) {
            return Ok(());
        }
        let staged = self.directory.stage(component)?;
        let _writer = self.writer();
        Ok(self.directory.place(staged, &digest)?)
    }

    fn inspected(
        &self,
        digest: Sha256Digest,
        component: &[u8],
        manifest: CapsuleManifest,
    ) -> Result<ReleaseRecord, PlatformError> {
        let inspection = self.inspector.inspect(component)?;
        manifest.check_imports(inspection.imports.iter().map(|import| &*import.0))?;
        Ok(ReleaseRecord {
            release: Arc::new(Release::new(digest, &inspection.surface, &manifest)?),
            manifest,
            component_bytes: component.len() as u64,
            imports: inspection.imports,
            declared_memory_bytes: inspection.declared_memory_bytes,
        })
    }

    fn check_room(&self, candidate: &Candidate<'_>) -> Result<(), Refusal> {
        let owned = self.index().owned(candidate.tenant);
        let needed = candidate.record.component_bytes.saturating_add(candidate.value.len() as u64);
        let (used, max) = (owned.charged_bytes, owned.quota_bytes.unwrap_or(self.limits.tenant_bytes_max));
        if used.saturating_add(needed) > max {
            return Err(Refusal::Quota { needed, used, max });
        }
        let max = self.limits.tenant_releases_max;
        if owned.releases >= max { Err(Refusal::TooManyReleases { max }) } else { Ok(()) }
    }

    pub(super) fn check_record(&self, found: usize) -> Result<(), Refusal> {
        let max = self.limits.record_bytes_max;
        if found > max { Err(Refusal::RecordTooLarge { found, max }) } else { Ok(()) }
    }
}
