//! Deployments: decided by the catalog, written down, then shown.
//!
//! Invariant: a view is published only after the transaction that describes it has been committed.

use latent_catalog::{Applied, Apply, Delete, Deleted, DeploymentManifest};
use latent_core::PlatformError;

use super::Storage;
use crate::record;
use crate::records::{Edit, Table};
use crate::refusal::Refusal;

impl Storage {
    /// Makes or replaces a deployment. Durable, and seen by every later pin, when this returns.
    ///
    /// `expected_generation` is the one at which the deployment must be: zero, that there is none; absent, any.
    ///
    /// # Errors
    /// `not-found` when the tenant has no such release; as the catalog says when the change does not fit;
    /// `resource-exhausted` or `unavailable` when the disk fails. Then nothing has changed.
    pub fn apply(
        &self,
        manifest: DeploymentManifest,
        expected_generation: Option<u64>,
    ) -> Result<Applied, PlatformError> {
        let (tenant, digest) = (manifest.tenant.clone(), manifest.release);
        let mut writer = self.writer();
        let release = self.index().get(&tenant, &digest).map(|held| held.record.release.clone());
        let release = release.ok_or(Refusal::UnknownRelease { digest })?;
        let staged = self.catalog.stage_apply(Apply { manifest, release, expected_generation })?;
        let deployment = &staged.outcome().deployment;
        let value = record::deployment(deployment);
        self.check_record(value.len())?;
        let key = record::deployment_key(&tenant, deployment.service(), deployment.id());
        writer.commit(vec![Edit { table: Table::Deployments, key, value: Some(value) }], staged.generation())?;
        let applied = self.catalog.publish(staged)?;
        let mut index = self.index_mut();
        let _known = index.refer(&tenant, &digest);
        if let Some(replaced) = &applied.replaced {
            index.unrefer(&tenant, &replaced.release().digest());
        }
        Ok(applied)
    }

    /// Removes a deployment. Durable, and gone for every later pin, when this returns.
    ///
    /// # Errors
    /// `not-found` and `state-conflict` as the catalog says; `resource-exhausted` or `unavailable` when the disk fails.
    /// Then nothing has changed.
    pub fn delete(&self, delete: &Delete) -> Result<Deleted, PlatformError> {
        let mut writer = self.writer();
        let staged = self.catalog.stage_delete(delete)?;
        let key = record::deployment_key(&delete.tenant, &delete.service, &delete.deployment);
        writer.commit(vec![Edit { table: Table::Deployments, key, value: None }], staged.generation())?;
        let deleted = self.catalog.publish(staged)?;
        self.index_mut().unrefer(&delete.tenant, &deleted.deployment.release().digest());
        Ok(deleted)
    }
}
