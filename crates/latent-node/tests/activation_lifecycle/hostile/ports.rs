//! A backend whose guests do what a test says, and a pool that leases another pool's cells.

use std::sync::Arc;
use std::task::Waker;

use futures_util::future::BoxFuture;
use latent_core::{ActivationId, CellClass, ExecutionOutcome, PlatformError, Sha256Digest, TenantId};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionReport, ExecutionRequest,
    OwnedRepository, PreparationKey, PreparedActivation, PreparedReadiness, RuntimeResourceSnapshot,
};
use latent_scheduler::fair::NonqueueingCellPool;
use latent_scheduler::{CellLease, CellPool, CellPoolSnapshot, CellRequest, FixedCellPool};

use crate::support::{ScriptedBackend, ScriptedPool};

pub type Run = Box<dyn Fn(ExecutionCancellation) -> BoxFuture<'static, ()> + Send + Sync>;

/// The scripted backend, with guests that do `run`.
pub struct Hostile {
    pub inner: Arc<ScriptedBackend>,
    pub run: Run,
}

impl ExecutionBackend for Hostile {
    fn invoke(&self, artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        self.inner.invoke(artifact, request)
    }

    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        self.inner.preparation_key(digest)
    }

    fn prepare_ready_from_repository(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> BoxFuture<'_, Result<PreparedReadiness, PlatformError>> {
        self.inner.prepare_ready_from_repository(repository, key)
    }

    fn materialize_ready(&self, ready: PreparedReadiness) -> Result<PreparedActivation, PlatformError> {
        self.inner.materialize_ready(ready)
    }

    fn invoke_prepared_contained(
        &self,
        prepared: PreparedActivation,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        let run = (self.run)(cancellation.clone());
        Box::pin(async move {
            run.await;
            drop(prepared);
            ContainedExecution::ended_early(&cancellation, ExecutionOutcome::Returned(request.payload))
        })
    }

    fn resources(&self) -> RuntimeResourceSnapshot {
        self.inner.resources()
    }
}

/// A pool whose attempts lease cells of another pool.
pub struct Swapped {
    pub own: Arc<ScriptedPool>,
    pub other: FixedCellPool,
}

impl CellPool for Swapped {
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        self.other.acquire(request)
    }

    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        self.own.release(lease)
    }

    fn capacity(&self, class: CellClass) -> usize {
        self.own.capacity(class)
    }

    fn available(&self, class: CellClass) -> usize {
        self.own.available(class)
    }

    fn cancel_waiting<'a>(
        &'a self,
        tenant: &'a TenantId,
        activation_id: &'a ActivationId,
    ) -> BoxFuture<'a, Result<bool, PlatformError>> {
        self.own.cancel_waiting(tenant, activation_id)
    }

    fn quarantine<'a>(&'a self, lease: CellLease, reason: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        self.own.quarantine(lease, reason)
    }

    fn observations(&self, class: CellClass) -> CellPoolSnapshot {
        self.own.observations(class)
    }
}

impl NonqueueingCellPool for Swapped {
    fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError> {
        self.other.try_acquire(request)
    }

    fn listen(&self, listener: Waker) -> Result<(), PlatformError> {
        self.other.listen(listener)
    }
}
