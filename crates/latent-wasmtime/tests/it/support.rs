//! What the tests share: a backend, requests against fixtures, and the check that nothing is left.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use latent_core::{ActivationId, BudgetConsumption, ExecutionOutcome, PlatformError, ResourceBudget, TenantId};
use latent_executor::{
    BoundedLogSink, ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionCleanup,
    ExecutionRequest, LogRecord, suite,
};
use latent_guests::generated;
use latent_wasmtime::{AllocatorChoice, EngineSettings, PagemapScanChoice, WasmtimeBackend};

/// A request together with the component that it is for.
#[derive(Debug, Clone)]
pub struct Call {
    pub artifact: ComponentArtifact,
    pub request: ExecutionRequest,
}

impl Deref for Call {
    type Target = ExecutionRequest;

    fn deref(&self) -> &ExecutionRequest {
        &self.request
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut ExecutionRequest {
        &mut self.request
    }
}

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

/// A backend on the on-demand allocator.
pub fn on_demand() -> Bench {
    let mut settings = EngineSettings::for_cells(4);
    settings.allocator = AllocatorChoice::OnDemand;
    bench_with(settings)
}

/// A backend for each way in which memory is found and cleaned, with its name.
pub fn every_allocator(settings: &EngineSettings) -> [(&'static str, Bench); 3] {
    let mut blind = settings.clone();
    blind.pagemap_scan = PagemapScanChoice::Off;
    let mut on_demand = settings.clone();
    on_demand.allocator = AllocatorChoice::OnDemand;
    [
        ("the pool as this machine has it", bench_with(settings.clone())),
        ("the pool without the dirty-page scan", bench_with(blind)),
        ("the on-demand allocator", bench_with(on_demand)),
    ]
}

/// A component made from a contract, whose world is `fixture`, and a core module.
pub fn guest(wit: &str, module: &str) -> ComponentArtifact {
    let built = latent_guests::componentize(wit, "fixture", module);
    ComponentArtifact::new(built.unwrap_or_else(|reason| panic!("{reason}")))
}

/// A request for `contract#function` of `artifact`, with a standard budget.
pub fn request_of(artifact: &ComponentArtifact, target: &str, args: &str) -> Call {
    let request = ExecutionRequest { budget: ResourceBudget::default(), ..suite::request(target, args) };
    Call { artifact: artifact.clone(), request }
}

/// A request for `function` of a generated component.
pub fn generated_request(component: Vec<u8>, function: &str, args: &str) -> Call {
    request_of(&ComponentArtifact::new(component), &format!("{}#{function}", generated::CONTRACT), args)
}

/// The same request by another tenant.
pub fn by_tenant(mut request: Call, tenant: &str) -> Call {
    let context = Arc::make_mut(&mut request.context);
    context.principal.tenant = TenantId::new(tenant).expect("tests use plain names");
    context.activation_id = ActivationId::new(format!("{tenant}-activation")).expect("tests use plain names");
    request
}

/// A fixture's artifact.
pub fn artifact(fixture: &str) -> ComponentArtifact {
    ComponentArtifact::new(latent_guests::component(fixture))
}

/// A request for `function` of interface `interface` of `fixture`, with a standard budget of fuel.
pub fn request(fixture: &str, interface: &str, function: &str, args: &str) -> Call {
    request_of(&artifact(fixture), &format!("fixture:{fixture}/{interface}@0.1.0#{function}"), args)
}

impl Bench {
    /// Waits until no preparation is queued or under way, for at most half a minute.
    pub async fn until_quiet(&self) {
        let waited = tokio::time::timeout(Duration::from_secs(30), async {
            while self.backend.resources().preparations > 0 {
                tokio::task::yield_now().await;
            }
        });
        waited.await.expect("the workers finish");
    }

    /// Runs a request without a deadline and asserts proof and an idle backend.
    pub async fn run(&self, request: Call) -> ContainedExecution {
        self.run_within(request, None).await
    }

    /// Runs a request with a deadline and asserts proof and an idle backend.
    pub async fn run_within(&self, request: Call, deadline: Option<Duration>) -> ContainedExecution {
        let cancellation = suite::cancellation(&request, deadline);
        self.run_with(request, cancellation).await
    }

    /// Runs a request under `cancellation` and asserts proof and an idle backend.
    pub async fn run_with(&self, request: Call, cancellation: ExecutionCancellation) -> ContainedExecution {
        let contained = self.backend.invoke_contained(request.artifact, request.request, cancellation).await;
        assert_eq!(contained.cleanup, ExecutionCleanup::Reusable, "{:?}", contained.report);
        assert!(self.backend.resources().is_idle(), "{:?}", self.backend.resources());
        contained
    }

    /// A call by another tenant succeeds at once.
    pub async fn assert_healthy(&self) {
        let echo = by_tenant(request("echo", "echo", "echo-string", "[\"well\"]"), "neighbour");
        assert_eq!(returned(&self.run(echo).await), "\"well\"");
    }

    /// Runs a request, asserts that a healthy call follows, and answers with how the first one ended.
    pub async fn outcome(&self, request: Call) -> ExecutionOutcome {
        let outcome = self.run(request).await.report.outcome;
        self.assert_healthy().await;
        outcome
    }

    /// The JSON that a request returns.
    pub async fn json(&self, request: Call) -> String {
        returned(&self.run(request).await)
    }

    /// The error that a request fails with, before anything ran.
    pub async fn refusal(&self, request: Call) -> PlatformError {
        let contained = self.run(request).await;
        assert_eq!(contained.report.consumption, BudgetConsumption::default(), "a refused run uses nothing");
        self.assert_healthy().await;
        failure(&contained).clone()
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

/// The outcome of reaching a limit.
pub fn limit(kind: &'static str, limit: u64) -> ExecutionOutcome {
    ExecutionOutcome::LimitExceeded { kind, limit }
}

/// The error that a run failed with.
#[track_caller]
pub fn failure(contained: &ContainedExecution) -> &PlatformError {
    match &contained.report.outcome {
        ExecutionOutcome::Failed(error) => error,
        other => panic!("the run did not fail with an error: {other:?}"),
    }
}
