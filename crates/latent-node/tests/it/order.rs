//! The twelve steps, as a recording pool and backend see them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use latent_core::{BudgetConsumption, ExecutionOutcome, ResourceBudget, RevisionPolicy, TerminalState, WallClock};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionCleanup, ExecutionReport,
    ExecutionRequest,
};

use crate::support::{Hooks, Log, Setup, artifact, envelope, hook};

type Asked = (ComponentArtifact, ExecutionRequest, ExecutionCancellation);

/// Keeps what it was asked and echoes.
struct Recording {
    log: Log,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ExecutionBackend for Recording {
    fn invoke(&self, _artifact: ComponentArtifact, _request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        unreachable!("the runner uses the contained entry")
    }

    fn invoke_contained(
        &self,
        artifact: ComponentArtifact,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        Box::pin(async move {
            self.log.add("invoke");
            let outcome = ExecutionOutcome::Returned(request.payload.clone());
            self.asked.lock().unwrap().push((artifact, request, cancellation));
            self.log.add("proof");
            let report = ExecutionReport { outcome, consumption: BudgetConsumption::default() };
            ContainedExecution { report, cleanup: ExecutionCleanup::Reusable }
        })
    }
}

#[tokio::test]
async fn the_steps_follow_in_order_and_the_registration_spans_them_all() {
    let log = Log::default();
    let registered = |at: &'static str| {
        let log = log.clone();
        Some(hook(move |runner| {
            log.add(format!("{at} with {} registered", runner.snapshot().registrations));
            std::future::ready(())
        }))
    };
    let hooks = Hooks {
        before_acquire: registered("acquiring"),
        after_grant: registered("granting"),
        before_disposition: registered("disposing"),
        ..Hooks::default()
    };
    let asked = Arc::default();
    let backend = Recording { log: log.clone(), asked: Arc::clone(&asked) };
    let bench = Setup { hooks, log: log.clone(), ..Setup::default() }.over(backend);
    let report = bench.run("a", "echo").await;
    assert_eq!(report.outcome.terminal_state(), TerminalState::Completed);
    let steps = [
        "acquire",
        "acquiring with 1 registered",
        "granting with 1 registered",
        "granted",
        "invoke",
        "proof",
        "release",
        "disposing with 1 registered",
    ];
    assert_eq!(log.events(), steps);
    assert_eq!(asked.lock().unwrap().len(), 1, "one contained invocation");
    bench.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_request_is_built_from_the_lease_and_the_earlier_deadline() {
    let log = Log::default();
    let asked = Arc::default();
    let bench = Setup::default().over(Recording { log, asked: Arc::clone(&asked) });
    let (near, far) = (bench.clock.now() + Duration::from_secs(3), bench.clock.now() + Duration::from_secs(9));
    let mut envelope = envelope("a", "echo");
    envelope.deadline = Some(far);
    envelope.budget = ResourceBudget { fuel: 7, memory_bytes: 8, log_bytes: 9, deadline: Some(near) };
    envelope.trace_parent = Some("trace".into());
    envelope.metadata =
        vec![("guest.color".into(), "red".into()), ("latent.auth.x".into(), "no".into()), ("x".into(), "no".into())];
    let budget = envelope.budget;
    let started = tokio::time::Instant::now();
    let report = bench.runner.run(envelope, artifact()).await;
    let asked = asked.lock().unwrap();
    let [(code, request, cancellation)] = &asked[..] else { panic!("one invocation expected") };
    assert_eq!(Some(&request.cell), report.cell.as_ref());
    assert_eq!(request.budget, budget);
    assert_eq!(*cancellation.budget_accounting().granted(), budget);
    assert_eq!(cancellation.deadline(), Some((started + Duration::from_secs(3)).into_std()));
    assert_eq!(request.context.deadline, Some(near));
    assert_eq!(request.context.trace_parent.as_deref(), Some("trace"));
    assert_eq!(request.context.metadata, [("guest.color".into(), "red".into())], "only what a guest may read");
    assert_eq!(code.digest(), artifact().digest());
    assert_eq!(*request.policy, RevisionPolicy::default(), "nothing is restricted");
    assert_eq!(report.queue_wait, Duration::ZERO);
}
