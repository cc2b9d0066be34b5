//! The backend without a cache: the same engine and containment, one uncached preparation at a time.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use latent_core::{PlatformError, Sha256Digest};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionReport, ExecutionRequest,
    LogSink, OwnedRepository, PreparationKey, PreparedActivation, PreparedReadiness, RuntimeResourceSnapshot,
};

use crate::backend::WasmtimeBackend;
use crate::settings::EngineSettings;

/// The cache-disabled backend of the containment document: the same engine and the same containment, with the one
/// shared uncached-preparation slot instead of a cache.
#[derive(Clone)]
pub struct Phase0WasmtimeBackend(WasmtimeBackend);

impl Phase0WasmtimeBackend {
    /// Builds the backend with its cache disabled.
    ///
    /// # Errors
    /// As [`WasmtimeBackend::new`].
    pub fn new(mut settings: EngineSettings, sink: Arc<dyn LogSink>) -> Result<Self, PlatformError> {
        settings.prepared_entries_max = 0;
        WasmtimeBackend::new(settings, sink).map(Self)
    }
}

impl ExecutionBackend for Phase0WasmtimeBackend {
    fn invoke(&self, artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        self.0.invoke(artifact, request)
    }

    fn invoke_contained(
        &self,
        artifact: ComponentArtifact,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        self.0.invoke_contained(artifact, request, cancellation)
    }

    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        self.0.preparation_key(digest)
    }

    fn prepare_ready_from_repository(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> BoxFuture<'_, Result<PreparedReadiness, PlatformError>> {
        self.0.prepare_ready_from_repository(repository, key)
    }

    fn materialize_ready(&self, ready: PreparedReadiness) -> Result<PreparedActivation, PlatformError> {
        self.0.materialize_ready(ready)
    }

    fn prepare_for_use(&self, artifact: ComponentArtifact) -> BoxFuture<'_, Result<PreparedActivation, PlatformError>> {
        self.0.prepare_for_use(artifact)
    }

    fn invoke_prepared_contained(
        &self,
        prepared: PreparedActivation,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        self.0.invoke_prepared_contained(prepared, request, cancellation)
    }

    fn resources(&self) -> RuntimeResourceSnapshot {
        self.0.resources()
    }
}
