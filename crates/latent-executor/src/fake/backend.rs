//! The scripted backend behind the port: scripts are looked up when a call is made, and every value that it hands out
//! or works on is a guard of its counts.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use latent_core::{PlatformError, Sha256Digest};

use super::held::{Counts, Kind};
use super::{FakeMaterialization, FakePreparation, FakeStep, prepare, run};
use crate::artifact::ComponentArtifact;
use crate::backend::{ContainedExecution, ExecutionBackend, ExecutionReport, ExecutionRequest};
use crate::cancellation::ExecutionCancellation;
use crate::prepared::{
    ImportName, PreparationKey, PreparedActivation, PreparedReadiness, PreparedUse, refuse_ungranted,
};
use crate::repository::OwnedRepository;
use crate::resources::RuntimeResourceSnapshot;

/// Permits of a backend that is not told otherwise.
const INSTANCES_MAX: u64 = 1_024;

/// The scripted backend. Functions without a script are unknown to it; it prepares whatever the repository has, and its
/// code declares no imports until it is told which.
#[derive(Debug, Default)]
pub struct FakeBackend {
    script: Mutex<Script>,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct Script {
    steps: HashMap<Box<str>, FakeStep>,
    preparation: FakePreparation,
    materialization: FakeMaterialization,
    imports: Arc<[ImportName]>,
    instances_max: u64,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            steps: HashMap::new(),
            preparation: FakePreparation::default(),
            materialization: FakeMaterialization::default(),
            imports: Arc::default(),
            instances_max: INSTANCES_MAX,
        }
    }
}

impl FakeBackend {
    /// A backend that knows no function.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Scripts `function`.
    #[must_use]
    pub fn with(self, function: &str, step: FakeStep) -> Self {
        self.set_step(function, step);
        self
    }

    /// Scripts `function` for the calls that follow.
    pub fn set_step(&self, function: &str, step: FakeStep) {
        self.script().steps.insert(function.into(), step);
    }

    /// Scripts the preparations that follow.
    pub fn set_preparation(&self, preparation: FakePreparation) {
        self.script().preparation = preparation;
    }

    /// Scripts the materializations that follow.
    pub fn set_materialization(&self, materialization: FakeMaterialization) {
        self.script().materialization = materialization;
    }

    /// Makes the code that is prepared from now on declare these imports.
    pub fn set_imports(&self, imports: &[&str]) {
        self.script().imports = imports.iter().map(|name| ImportName((*name).into())).collect();
    }

    /// Bounds the permits of live instances; 1,024 without it.
    pub fn set_instances_max(&self, instances_max: u64) {
        self.script().instances_max = instances_max;
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step_of(&self, request: &ExecutionRequest) -> Option<FakeStep> {
        self.script().steps.get(&request.target.function).cloned()
    }

    fn preparation(&self) -> (FakePreparation, Arc<[ImportName]>) {
        let script = self.script();
        (script.preparation.clone(), script.imports.clone())
    }

    async fn run(
        &self,
        pinned: PreparedUse,
        step: Option<FakeStep>,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> ContainedExecution {
        let _running = self.counts.hold(Kind::Running);
        if !prepare::is_own(pinned.code(), &self.counts) {
            return ContainedExecution::refused(&cancellation, prepare::foreign());
        }
        if let Err(error) = refuse_ungranted(pinned.code().imports(), &request.policy.execution.imports) {
            return ContainedExecution::refused(&cancellation, error);
        }
        let contained = run::scripted(step, request, &cancellation).await;
        drop(pinned);
        contained
    }

    /// Prepares and runs in one: code from bytes is there at once, whatever the script of preparations says.
    async fn run_direct(
        &self,
        step: Option<FakeStep>,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> ContainedExecution {
        let (imports, instances_max) = {
            let script = self.script();
            (script.imports.clone(), script.instances_max)
        };
        let code = prepare::scripted(FakePreparation::Ready, imports, &self.counts).await;
        match code.and_then(|code| prepare::direct_use(code, &self.counts, instances_max)) {
            Ok(pinned) => self.run(pinned, step, request, cancellation).await,
            Err(error) => ContainedExecution::refused(&cancellation, error),
        }
    }
}

impl ExecutionBackend for FakeBackend {
    fn invoke(&self, artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        let ledger = Arc::new(latent_core::BudgetLedger::new(request.budget));
        let cancellation = ExecutionCancellation::new(Arc::default(), None, ledger);
        let contained: Pin<Box<dyn Future<Output = _> + Send + '_>> =
            self.invoke_contained(artifact, request, cancellation);
        Box::pin(async move { contained.await.report })
    }

    fn invoke_contained(
        &self,
        _artifact: ComponentArtifact,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        let step = self.step_of(&request);
        run::called(step.as_ref());
        Box::pin(self.run_direct(step, request, cancellation))
    }

    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        prepare::key(digest)
    }

    /// Asks the repository first and goes through the script then, so that a gate holds code that was found.
    fn prepare_ready_from_repository(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> BoxFuture<'_, Result<PreparedReadiness, PlatformError>> {
        let (script, imports) = self.preparation();
        prepare::called(&script);
        Box::pin(async move {
            let _preparing = self.counts.hold(Kind::Preparation);
            prepare::find(&repository, key)?;
            let code = prepare::scripted(script, imports, &self.counts).await?;
            Ok(prepare::readiness(code, &self.counts))
        })
    }

    fn materialize_ready(&self, ready: PreparedReadiness) -> Result<PreparedActivation, PlatformError> {
        let (script, instances_max) = {
            let script = self.script();
            (script.materialization.clone(), script.instances_max)
        };
        prepare::materialize(ready, script, &self.counts, instances_max)
    }

    fn prepare_for_use(&self, artifact: ComponentArtifact) -> BoxFuture<'_, Result<PreparedActivation, PlatformError>> {
        drop(artifact);
        let (script, imports) = self.preparation();
        prepare::called(&script);
        Box::pin(async move {
            let _preparing = self.counts.hold(Kind::Preparation);
            let code = prepare::scripted(script, imports, &self.counts).await?;
            let instances_max = self.script().instances_max;
            prepare::direct_use(code, &self.counts, instances_max).map(PreparedActivation::new)
        })
    }

    fn invoke_prepared_contained(
        &self,
        prepared: PreparedActivation,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        let step = self.step_of(&request);
        run::called(step.as_ref());
        Box::pin(self.run(prepared.into_use(), step, request, cancellation))
    }

    fn resources(&self) -> RuntimeResourceSnapshot {
        self.counts.snapshot()
    }
}
