//! The backend: one engine and everything that serves it, behind the execution port.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use latent_core::{BudgetLedger, PlatformError, PlatformErrorCode, Sha256Digest, StopLatch, budget::earlier};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionReport, ExecutionRequest,
    LogSink, PreparationKey, PreparedActivation, PreparedUse, RuntimeResourceSnapshot,
};
use wasmtime::Engine;

use crate::cache::{Lookup, compiler_gone};
use crate::contain::{self, Guards, Pinned};
use crate::engine::EngineReport;
use crate::gauges::Kind;
use crate::prepare::PreparedComponent;
use crate::settings::EngineSettings;
use crate::shared::Shared;

/// Runs components on Wasmtime. Cloning shares the engine; the last clone joins its threads.
#[derive(Clone)]
pub struct WasmtimeBackend {
    shared: Arc<Shared>,
}

impl WasmtimeBackend {
    /// Builds the engine and starts its two threads. Accepted logs go to `sink`.
    ///
    /// # Errors
    /// `invalid-argument` for an unusable setting, `internal` when this machine cannot run the engine.
    pub fn new(settings: EngineSettings, sink: Arc<dyn LogSink>) -> Result<Self, PlatformError> {
        Shared::new(settings, sink).map(|shared| Self { shared: Arc::new(shared) })
    }

    /// What the engine turned out to be on this machine.
    #[must_use]
    pub fn report(&self) -> &EngineReport {
        &self.shared.report
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &EngineSettings {
        &self.shared.settings
    }

    async fn run(&self, request: ExecutionRequest, cancellation: ExecutionCancellation) -> ContainedExecution {
        let shared = &*self.shared;
        let _running = shared.gauges.hold(Kind::Invocation);
        let code = match shared.look_up(&request.artifact) {
            Err(error) => return contain::refused(&cancellation, error),
            Ok(Lookup::Kept(code)) => code,
            Ok(Lookup::Compiling(answer)) => {
                let answer = async { answer.await.unwrap_or_else(|_gone| Err(compiler_gone())) };
                match contain::prepared(shared, &cancellation, answer).await {
                    Ok(code) => code,
                    Err(ended) => return ended,
                }
            }
        };
        let permit = match shared.permit() {
            Ok(permit) => permit,
            Err(error) => return contain::refused(&cancellation, error),
        };
        let guards = Guards::Own { _pin: shared.gauges.hold(Kind::Pin), _permit: permit };
        contain::run(shared, Pinned { code, _guards: guards }, request, cancellation).await
    }

    async fn run_prepared(
        &self,
        pinned: PreparedUse,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> ContainedExecution {
        let shared = &*self.shared;
        let _running = shared.gauges.hold(Kind::Invocation);
        let code: Arc<dyn Any + Send + Sync> = pinned.code().clone();
        match code.downcast::<PreparedComponent>() {
            Ok(code)
                if code.digest() == request.artifact.digest() && Engine::same(code.pre.engine(), &shared.engine) =>
            {
                let pinned = Pinned { code, _guards: Guards::Use { _pinned: pinned } };
                contain::run(shared, pinned, request, cancellation).await
            }
            _ => contain::refused(
                &cancellation,
                PlatformError::new(
                    PlatformErrorCode::Internal,
                    "the code was prepared by another backend, or from another component",
                ),
            ),
        }
    }
}

impl ExecutionBackend for WasmtimeBackend {
    /// Derives its deadline from one clock sample, and proves nothing to its caller.
    fn invoke(&self, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        let ledger = Arc::new(BudgetLedger::new(request.budget));
        let deadline = monotonic_deadline(&request);
        let cancellation = ExecutionCancellation::new(Arc::new(StopLatch::new()), deadline, ledger);
        Box::pin(async move { self.run(request, cancellation).await.report })
    }

    fn invoke_contained(
        &self,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        Box::pin(self.run(request, cancellation))
    }

    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        self.shared.key(digest)
    }

    fn prepare_for_use(&self, artifact: ComponentArtifact) -> BoxFuture<'_, Result<PreparedActivation, PlatformError>> {
        Box::pin(async move {
            let code = self.shared.ready(artifact).await?;
            let held = self.shared.hold_use()?;
            Ok(PreparedActivation::new(PreparedUse::new(code, Box::new(held))))
        })
    }

    fn invoke_prepared_contained(
        &self,
        prepared: PreparedActivation,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        Box::pin(self.run_prepared(prepared.into_use(), request, cancellation))
    }

    fn resources(&self) -> RuntimeResourceSnapshot {
        let gauges = &self.shared.gauges;
        let (prepared_entries, prepared_bytes) = self.shared.preparer.kept();
        let stores = gauges.get(Kind::Store);
        RuntimeResourceSnapshot {
            running_invocations: gauges.get(Kind::Invocation),
            stores,
            // A store owns exactly one host state, and that the live probe.
            host_states: stores,
            cancellation_probes: stores,
            component_instances: gauges.get(Kind::Instance),
            temporary_buffers: gauges.get(Kind::Buffer),
            instance_permits: gauges.permits(),
            prepared_pins: gauges.get(Kind::Pin),
            prepared_entries,
            prepared_bytes,
        }
    }
}

/// The legacy entry has no admission, so its deadline is turned into a monotonic instant here, from one sample.
#[expect(clippy::disallowed_methods, reason = "the legacy entry takes its own clock sample")]
fn monotonic_deadline(request: &ExecutionRequest) -> Option<std::time::Instant> {
    // Wall before monotonic: whatever passes between the two makes the deadline late, never early.
    let wall = std::time::SystemTime::now();
    let now = std::time::Instant::now();
    let deadline = earlier(request.context.deadline, request.budget.deadline)?;
    let left = deadline.duration_since(wall).unwrap_or_default();
    now.checked_add(left)
}

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
    fn invoke(&self, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        self.0.invoke(request)
    }

    fn invoke_contained(
        &self,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        self.0.invoke_contained(request, cancellation)
    }

    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        self.0.preparation_key(digest)
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
