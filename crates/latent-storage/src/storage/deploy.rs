//! Deployments: decided by the catalog, written down, then shown; those that wait for the disk at the same time together.
//!
//! Invariant: a view is published only after the transaction that describes it has been committed. Changes that are made
//! together are decided one after the other, as if each had come alone; their transaction is there whole or not at all.

use std::sync::Arc;

use latent_catalog::{Applied, Apply, Delete, Deleted, Deployment, DeploymentManifest, Staged};
use latent_core::PlatformError;

use super::Storage;
use crate::index::Index;
use crate::record;
use crate::records::{Edit, Table};
use crate::refusal::Refusal;

/// A change to deployments, and the generation at which the deployment must be.
#[derive(Debug)]
pub(super) enum Change {
    Apply(Box<DeploymentManifest>, Option<u64>),
    Delete(Delete),
}

/// A change that was made.
#[derive(Debug)]
pub(super) struct Done {
    generation: u64,
    /// As it is now, or as it was when it was deleted.
    deployment: Arc<Deployment>,
    is_deleted: bool,
    replaced: Option<Arc<Deployment>>,
}

impl Storage {
    /// Makes or replaces a deployment. Durable, and seen by every later pin, when this returns. Changes that other threads
    /// ask for while the disk is at work are written together.
    ///
    /// `expected_generation` is the one at which the deployment must be: zero, that there is none; absent, any.
    ///
    /// # Errors
    /// `not-found` when the tenant has no such release; as the catalog says when the change does not fit;
    /// `resource-exhausted` or `unavailable` when the disk fails. Then nothing has changed.
    ///
    /// # Panics
    /// When the thread that wrote the change together with its own did.
    pub fn apply(
        &self,
        manifest: DeploymentManifest,
        expected_generation: Option<u64>,
    ) -> Result<Applied, PlatformError> {
        let change = Change::Apply(Box::new(manifest), expected_generation);
        let Done { deployment, replaced, .. } = self.turns.take(change, |changes| self.make(changes))?;
        Ok(Applied { deployment, replaced })
    }

    /// Removes a deployment. Durable, and gone for every later pin, when this returns.
    ///
    /// # Errors
    /// `not-found` and `state-conflict` as the catalog says; `resource-exhausted` or `unavailable` when the disk fails.
    /// Then nothing has changed.
    ///
    /// # Panics
    /// As [`apply`](Self::apply).
    pub fn delete(&self, delete: &Delete) -> Result<Deleted, PlatformError> {
        let change = Change::Delete(delete.clone());
        let Done { generation, deployment, .. } = self.turns.take(change, |changes| self.make(changes))?;
        Ok(Deleted { generation, deployment })
    }

    /// Makes `changes` in their order and by one transaction, without those that are refused; an answer for each.
    fn make(&self, changes: Vec<Change>) -> Vec<Result<Done, PlatformError>> {
        let mut writer = self.writer();
        let (mut staged, mut edits) = (self.catalog.stage(), Vec::with_capacity(changes.len()));
        let decide = |change| -> Result<Done, PlatformError> {
            let mut next = staged.clone();
            let (edit, done) = self.decide(&mut next, change)?;
            staged = next;
            edits.push(edit);
            Ok(done)
        };
        let mut answers: Vec<Result<Done, PlatformError>> = changes.into_iter().map(decide).collect();
        if edits.is_empty() {
            return answers;
        }
        let written = writer.commit(edits, staged.generation()).map_err(PlatformError::from);
        match written.and_then(|()| staged.publish().map_err(PlatformError::from)) {
            Ok(()) => {
                let mut index = self.index_mut();
                answers.iter().flatten().for_each(|done| done.count(&mut index));
            }
            Err(error) => {
                let decided = answers.iter_mut().filter(|answer| answer.is_ok());
                decided.for_each(|answer| *answer = Err(error.clone()));
            }
        }
        answers
    }

    /// Decides a change after those that are `staged`, and says what is to be written.
    fn decide(&self, staged: &mut Staged<'_>, change: Change) -> Result<(Edit, Done), PlatformError> {
        match change {
            Change::Apply(manifest, expected_generation) => {
                let digest = manifest.release;
                let release = self.index().get(&manifest.tenant, &digest).map(|held| held.record.release.clone());
                let release = release.ok_or(Refusal::UnknownRelease { digest })?;
                let apply = Apply { manifest: *manifest, release, expected_generation };
                let Applied { deployment, replaced } = staged.apply(apply)?;
                let value = record::deployment(&deployment);
                self.check_record(value.len())?;
                let generation = deployment.generation();
                Ok((edit(&deployment, Some(value)), Done { generation, deployment, is_deleted: false, replaced }))
            }
            Change::Delete(delete) => {
                let Deleted { generation, deployment } = staged.delete(&delete)?;
                Ok((edit(&deployment, None), Done { generation, deployment, is_deleted: true, replaced: None }))
            }
        }
    }
}

impl Done {
    /// Counts the deployment for its release, and no longer for the one that it had.
    fn count(&self, index: &mut Index) {
        let Self { deployment, is_deleted, replaced, .. } = self;
        let tenant = deployment.tenant();
        if !is_deleted {
            let _known = index.refer(tenant, &deployment.release().digest());
        }
        if let Some(gone) = if *is_deleted { Some(deployment) } else { replaced.as_ref() } {
            index.unrefer(tenant, &gone.release().digest());
        }
    }
}

fn edit(deployment: &Deployment, value: Option<Vec<u8>>) -> Edit {
    let key = record::deployment_key(deployment.tenant(), deployment.service(), deployment.id());
    Edit { table: Table::Deployments, key, value }
}

#[cfg(test)]
mod tests;
