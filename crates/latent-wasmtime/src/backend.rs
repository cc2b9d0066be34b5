//! The backend: one engine and everything that serves it, behind the execution port.

use std::any::Any;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use latent_core::{BudgetLedger, PlatformError, PlatformErrorCode, Sha256Digest, StopLatch, TenantId, budget::earlier};
use latent_executor::{
    ComponentArtifact, ComponentInspection, ComponentInspector, ContainedExecution, ExecutionBackend,
    ExecutionCancellation, ExecutionReport, ExecutionRequest, LogSink, NoOutgoingHttp, NoSecrets, OwnedRepository,
    PreparationKey, PreparedActivation, PreparedCode, PreparedReadiness, PreparedUse, RuntimeResourceSnapshot,
};
use wasmtime::Engine;

use crate::contain::{self, Guards, Pinned};
use crate::engine::EngineReport;
use crate::gauges::Kind;
use crate::inspect::inspect_whole;
use crate::ports::Ports;
use crate::preparation::Preparation;
use crate::prepare::PreparedComponent;
use crate::preparer::{Lookup, Source, compiler_gone};
use crate::ready::ReadyGuard;
use crate::settings::EngineSettings;
use crate::shared::Shared;

/// Runs components on Wasmtime. Cloning shares the engine; the last clone joins its threads.
#[derive(Clone)]
pub struct WasmtimeBackend {
    shared: Arc<Shared>,
}

impl WasmtimeBackend {
    /// Builds the engine and starts its threads. Components are compiled in this process, without the limits of a child,
    /// and their images kept nowhere: for components that are trusted. For others see [`Self::with_preparation`].
    /// Accepted logs go to `sink`.
    ///
    /// # Errors
    /// `invalid-argument` for an unusable setting, `internal` when this machine cannot run the engine.
    pub fn new(settings: EngineSettings, sink: Arc<dyn LogSink>) -> Result<Self, PlatformError> {
        Self::with_preparation(settings, Preparation::default(), sink)
    }

    /// The same, with components compiled and images kept as `preparation` says. There are no secrets, and every HTTP
    /// request of a guest is refused; see [`Self::with_ports`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_preparation(
        settings: EngineSettings,
        preparation: Preparation,
        sink: Arc<dyn LogSink>,
    ) -> Result<Self, PlatformError> {
        let ports = Ports { secrets: Arc::new(NoSecrets), outgoing: Arc::new(NoOutgoingHttp), sink };
        Self::with_ports(settings, preparation, ports)
    }

    /// The same, with all that the node around it gives.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_ports(settings: EngineSettings, preparation: Preparation, ports: Ports) -> Result<Self, PlatformError> {
        Shared::new(settings, preparation, ports).map(|shared| Self { shared: Arc::new(shared) })
    }

    /// Prepares `artifact` for `tenant` and keeps it as the cache does: nothing is pinned. Functions that the tenant had
    /// compiled before are used again, where they are kept.
    ///
    /// # Errors
    /// As [`ExecutionBackend::prepare_for_use`].
    pub async fn prepare(
        &self,
        artifact: ComponentArtifact,
        tenant: &TenantId,
    ) -> Result<Arc<dyn PreparedCode>, PlatformError> {
        let code: Arc<dyn PreparedCode> = self.shared.ready(artifact, Some(tenant)).await?;
        Ok(code)
    }

    /// Prepares an image of a tenant's release when nothing else is to do, so that its first call finds one. `false`
    /// when no images are kept, or too many wait already.
    #[must_use]
    pub fn prepare_in_background(&self, repository: OwnedRepository, digest: Sha256Digest) -> bool {
        let key = self.shared.key(digest);
        self.shared.preparer.in_background(key, Source::Repository { repository, digest, verified: false })
    }

    /// Ends whatever is being prepared, and the threads that do it, for which it waits; the processes that compile are killed.
    /// Preparations that are asked for afterwards fail as `unavailable`. An owner calls it before its end when what it
    /// prepares from, such as a repository whose inspector this backend is, keeps the backend in turn.
    pub fn stop_preparing(&self) {
        self.shared.preparer.close();
    }

    /// How often a component was compiled; what came from memory or from an image does not count.
    #[must_use]
    pub fn compilations(&self) -> u64 {
        self.shared.preparer.compilations()
    }

    /// Whether there is an image of the component `digest`, sound or not, so that it need not be compiled.
    #[must_use]
    pub fn has_image(&self, digest: Sha256Digest) -> bool {
        let images = self.shared.preparer.workshop().images.as_ref();
        images.is_some_and(|images| images.contains(self.shared.key(digest)))
    }

    /// Components whose only images are those of another engine, such as the one before an upgrade; the most recently
    /// used comes first.
    #[must_use]
    pub fn components_with_stale_images(&self) -> Vec<Sha256Digest> {
        let images = self.shared.preparer.workshop().images.as_ref();
        images.map_or_else(Vec::new, |images| {
            images.stale(self.shared.key(Sha256Digest::from_bytes([0; 32])).compatibility())
        })
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

    async fn run(
        &self,
        artifact: ComponentArtifact,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> ContainedExecution {
        let shared = &*self.shared;
        let running = shared.gauges.hold(Kind::Invocation);
        let code = match shared.look_up(&artifact, Some(&request.context.principal.tenant)) {
            Err(error) => return ContainedExecution::refused(&cancellation, error),
            Ok(Lookup::Kept(code)) => code,
            Ok(Lookup::Preparing(answer)) => {
                let answer = async { answer.await.unwrap_or_else(|_gone| Err(compiler_gone())) };
                match contain::prepared(shared, &cancellation, answer).await {
                    Ok(code) => code,
                    Err(ended) => return ended,
                }
            }
        };
        let permit = match shared.permit() {
            Ok(permit) => permit,
            Err(error) => return ContainedExecution::refused(&cancellation, error),
        };
        let guards = Guards::Own { _pin: shared.gauges.hold(Kind::Pin), _permit: permit };
        contain::run(shared, Pinned { code, _guards: guards, _running: running }, request, cancellation).await
    }

    /// `code` as what this backend prepared, if it did.
    fn own(&self, code: Arc<dyn PreparedCode>) -> Option<Arc<PreparedComponent>> {
        let code: Arc<dyn Any + Send + Sync> = code;
        let code = code.downcast::<PreparedComponent>().ok()?;
        Engine::same(code.pre.engine(), &self.shared.engine).then_some(code)
    }

    /// Whether this backend prepared `code`.
    fn owns(&self, code: &dyn PreparedCode) -> bool {
        let code: &dyn Any = code;
        code.downcast_ref::<PreparedComponent>()
            .is_some_and(|code| Engine::same(code.pre.engine(), &self.shared.engine))
    }
}

impl ExecutionBackend for WasmtimeBackend {
    /// Derives its deadline from one clock sample, and proves nothing to its caller.
    fn invoke(&self, artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        let ledger = Arc::new(BudgetLedger::new(request.budget));
        let deadline = monotonic_deadline(&request);
        let cancellation = ExecutionCancellation::new(Arc::new(StopLatch::new()), deadline, ledger);
        Box::pin(async move { self.run(artifact, request, cancellation).await.report })
    }

    fn invoke_contained(
        &self,
        artifact: ComponentArtifact,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        boxed(|| self.run(artifact, request, cancellation))
    }

    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        self.shared.key(digest)
    }

    fn prepare_ready_from_repository(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> BoxFuture<'_, Result<PreparedReadiness, PlatformError>> {
        boxed(|| async move {
            let code = self.shared.ready_from(repository, key).await?;
            let pin = self.shared.ready.pin(code.clone())?;
            Ok(PreparedReadiness::new(code, Box::new(ReadyGuard::new(pin))))
        })
    }

    fn materialize_ready(&self, ready: PreparedReadiness) -> Result<PreparedActivation, PlatformError> {
        if !self.owns(&**ready.code()) {
            return Err(foreign_code());
        }
        let held = self.shared.hold_use()?;
        let (code, pin) = ready.into_parts();
        let pinned = match pin.downcast::<ReadyGuard>() {
            Ok(mut guard) => {
                guard.hold(held);
                PreparedUse::new(code, guard)
            }
            Err(pin) => PreparedReadiness::new(code, pin).into_use(Box::new(held)),
        };
        Ok(PreparedActivation::new(pinned))
    }

    fn prepare_for_use(&self, artifact: ComponentArtifact) -> BoxFuture<'_, Result<PreparedActivation, PlatformError>> {
        Box::pin(async move {
            let code = self.shared.ready(artifact, None).await?;
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
        let shared = &*self.shared;
        let running = shared.gauges.hold(Kind::Invocation);
        let (code, guards) = prepared.into_use().into_parts();
        match self.own(code) {
            Some(code) => {
                let pinned = Pinned { code, _guards: Guards::Use { _guards: guards }, _running: running };
                boxed(|| contain::run(shared, pinned, request, cancellation))
            }
            None => Box::pin(ready(ContainedExecution::refused(&cancellation, foreign_code()))),
        }
    }

    fn resources(&self) -> RuntimeResourceSnapshot {
        let gauges = &self.shared.gauges;
        let (prepared_entries, prepared_bytes) = self.shared.preparer.kept();
        let (ready_pins, ready_bytes) = self.shared.ready.usage();
        let stores = gauges.get(Kind::Store);
        RuntimeResourceSnapshot {
            running_invocations: gauges.get(Kind::Invocation),
            stores,
            // A store owns exactly one host state, and that the live probe.
            host_states: stores,
            cancellation_probes: stores,
            component_instances: gauges.get(Kind::Instance),
            temporary_buffers: gauges.get(Kind::Buffer),
            outgoing_requests: gauges.get(Kind::Outgoing),
            instance_permits: gauges.permits(),
            prepared_pins: gauges.get(Kind::Pin),
            ready_pins,
            ready_bytes,
            preparations: self.shared.preparer.jobs(),
            prepared_entries,
            prepared_bytes,
        }
    }
}

impl ComponentInspector for WasmtimeBackend {
    fn inspect(&self, bytes: &[u8]) -> Result<ComponentInspection, PlatformError> {
        inspect_whole(&self.shared.engine, bytes, &self.shared.settings)
    }
}

/// Boxes what `make` answers. The place is taken before the future is made, so that nothing can fail in between and the
/// compiler writes the few bytes that a new future has instead of copying its whole size.
fn boxed<'a, F: Future + Send + 'a>(make: impl FnOnce() -> F) -> BoxFuture<'a, F::Output> {
    let place = Box::<F>::new_uninit();
    let boxed: Box<F> = Box::write(place, make());
    Box::into_pin(boxed)
}

fn foreign_code() -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, "the code was prepared by another backend")
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
