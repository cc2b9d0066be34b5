//! The second state: admitted and queued, without code and without a cell. It ends with code that is ready, or settled.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use latent_core::{ExecutionOutcome, PlatformError, RevisionPolicy, Sha256Digest};
use latent_executor::{OwnedRepository, PreparedReadiness, refuse_ungranted};
use latent_scheduler::admission::AdmissionPermit;

use super::owner::Accepted;
use super::ready::Ready;
use super::services::Services;
use super::settled::Settled;
use super::stops::unless_stopped;
use crate::contain::{Foreign, begin, port_panicked};

/// An activation with a reservation. Dropping it gives up its place with the preparation, then refunds the quota.
pub(super) struct Admitted<'s> {
    services: &'s Services,
    release: Sha256Digest,
    /// When it was admitted.
    since: Instant,
    preparation: Option<Foreign<BoxFuture<'s, Answer>>>,
    permit: AdmissionPermit,
    policy: Arc<RevisionPolicy>,
    accepted: Box<Accepted>,
}

type Answer = Result<PreparedReadiness, PlatformError>;

impl<'s> Admitted<'s> {
    pub(super) fn new(
        services: &'s Services,
        (release, since): (Sha256Digest, Instant),
        permit: AdmissionPermit,
        policy: Arc<RevisionPolicy>,
        accepted: Box<Accepted>,
    ) -> Self {
        Self { services, release, since, preparation: None, permit, policy, accepted }
    }

    /// Waits until the code is ready, or the activation is stopped.
    pub(super) async fn prepare(&mut self) -> Result<Foreign<PreparedReadiness>, ExecutionOutcome> {
        let (parts, tenant) = (&self.services.parts, self.permit.tenant());
        let release = self.release;
        let begun = begin(
            || {
                let repository = OwnedRepository::new(Arc::clone(&parts.repository), tenant.clone());
                let key = parts.backend.preparation_key(release);
                parts.backend.prepare_ready_from_repository(repository, key)
            },
            panicked,
        );
        let future = self.preparation.insert(Foreign::new(begun.map_err(ExecutionOutcome::Failed)?));
        let answer =
            unless_stopped(future, &self.accepted.owner.latch, (self.since, self.permit.deadline()), panicked).await;
        let let_go = self.preparation.take().is_none_or(Foreign::let_go);
        let ready = Foreign::new(answer?.map_err(ExecutionOutcome::Failed)?);
        if !let_go {
            return Err(ExecutionOutcome::Failed(panicked()));
        }
        refuse_ungranted(ready.get().code().imports(), &self.policy.execution.imports)
            .map_err(ExecutionOutcome::Failed)?;
        Ok(ready)
    }

    /// Goes on with code that is ready, or settles. No cell has been touched.
    pub(super) fn ready(
        self,
        prepared: Result<Foreign<PreparedReadiness>, ExecutionOutcome>,
    ) -> Result<Ready<'s>, Box<Settled>> {
        let Self { services, preparation, permit, policy, accepted, release: _, since: _ } = self;
        drop(preparation);
        match prepared {
            Ok(readiness) => Ok(Ready { services, readiness, permit: Some(permit), policy, accepted }),
            // For want of room, which may pass: a full queue, not a limit that the activation exceeded.
            Err(ExecutionOutcome::Failed(error)) if error.is_retryable() => {
                Err(Settled::denied(accepted.owner, error).holding(permit.into_hold()))
            }
            Err(execution) => Err(Settled::refused(accepted.owner, execution).holding(permit.into_hold())),
        }
    }
}

fn panicked() -> PlatformError {
    port_panicked("backend", "prepare_ready_from_repository")
}
