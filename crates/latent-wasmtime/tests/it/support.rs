//! What the tests share: a backend, requests against fixtures, and the check that nothing is left.

use std::sync::Arc;
use std::time::Duration;

use latent_core::{ExecutionOutcome, PlatformError, ResourceBudget};
use latent_executor::{
    BoundedLogSink, ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionCleanup,
    ExecutionRequest, LogRecord, suite,
};
use latent_wasmtime::{EngineSettings, WasmtimeBackend};

/// A backend with its log sink.
pub struct Bench {
    pub backend: Arc<WasmtimeBackend>,
    pub sink: Arc<BoundedLogSink>,
}

/// A backend with small defaults.
pub fn bench() -> Bench {
    bench_with(EngineSettings::for_cells(4))
}

/// A backend with these settings.
pub fn bench_with(settings: EngineSettings) -> Bench {
    let sink = Arc::new(BoundedLogSink::new(4 << 20));
    let backend = WasmtimeBackend::new(settings, sink.clone()).expect("this machine runs the engine");
    Bench { backend: Arc::new(backend), sink }
}

/// A fixture's artifact.
pub fn artifact(fixture: &str) -> ComponentArtifact {
    ComponentArtifact::new(latent_guests::component(fixture))
}

/// A request for `function` of interface `interface` of `fixture`, with a standard budget of fuel.
pub fn request(fixture: &str, interface: &str, function: &str, args: &str) -> ExecutionRequest {
    let target = format!("fixture:{fixture}/{interface}@0.1.0#{function}");
    let mut request = suite::request(&artifact(fixture), &target, args);
    request.budget = ResourceBudget::default();
    request
}

impl Bench {
    /// Runs a request without a deadline and asserts proof and an idle backend.
    pub async fn run(&self, request: ExecutionRequest) -> ContainedExecution {
        self.run_within(request, None).await
    }

    /// Runs a request with a deadline and asserts proof and an idle backend.
    pub async fn run_within(&self, request: ExecutionRequest, deadline: Option<Duration>) -> ContainedExecution {
        let cancellation = suite::cancellation(&request, deadline);
        self.run_with(request, cancellation).await
    }

    /// Runs a request under `cancellation` and asserts proof and an idle backend.
    pub async fn run_with(&self, request: ExecutionRequest, cancellation: ExecutionCancellation) -> ContainedExecution {
        let contained = self.backend.invoke_contained(request, cancellation).await;
        assert_eq!(contained.cleanup, ExecutionCleanup::Reusable, "{:?}", contained.report);
        assert!(self.backend.resources().is_idle(), "{:?}", self.backend.resources());
        contained
    }

    /// Every record that the suite's activation left.
    pub fn logs(&self, request: &ExecutionRequest) -> Vec<LogRecord> {
        self.sink.take(&request.context.principal.tenant, &request.context.activation_id)
    }
}

/// The JSON that a run returned.
#[track_caller]
pub fn returned(contained: &ContainedExecution) -> String {
    match &contained.report.outcome {
        ExecutionOutcome::Returned(payload) => String::from_utf8(payload.bytes.to_vec()).expect("JSON is UTF-8"),
        other => panic!("the guest did not return: {other:?}"),
    }
}

/// The error that a run failed with.
#[track_caller]
pub fn failure(contained: &ContainedExecution) -> &PlatformError {
    match &contained.report.outcome {
        ExecutionOutcome::Failed(error) => error,
        other => panic!("the run did not fail with an error: {other:?}"),
    }
}
