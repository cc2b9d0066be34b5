//! The hand-over of a result: what is visible then decides, what comes later does not.

use std::sync::Arc;
use std::time::Duration;

use latent_activation::{CancelDisposition, from_execution};
use latent_core::{
    ActivationOutcome, ErrorDetail, ExecutionOutcome, Payload, PlatformError, PlatformErrorCode, SystemWallClock,
    TerminalState, WallClock as _,
};
use latent_executor::fake::{FakeBackend, FakeStep, Gate};

use crate::support::{Bench, Hooks, Log, Setup, artifact, cancelled, deadline_exceeded, envelope, hook, watch};

fn outcomes() -> Vec<ExecutionOutcome> {
    let generic = PlatformError::new(PlatformErrorCode::Internal, "generic").with_detail(ErrorDetail::new("x"));
    vec![
        ExecutionOutcome::Returned(Payload::json("1")),
        ExecutionOutcome::DeclaredError(Payload::json("2")),
        ExecutionOutcome::Trapped { category: "unreachable" },
        ExecutionOutcome::FuelExhausted,
        ExecutionOutcome::MemoryExhausted,
        ExecutionOutcome::LimitExceeded { kind: "activation.table-exhausted", limit: 1 },
        ExecutionOutcome::TransportStopped,
        ExecutionOutcome::DeadlineExceeded,
        ExecutionOutcome::Failed(generic),
    ]
}

/// A guest that has its result but is kept inside the backend until the gate opens.
fn kept(outcome: ExecutionOutcome) -> (Bench, Gate, Gate) {
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let then = Box::new(FakeStep::End(outcome));
    let step = FakeStep::Gated { entered: entered.clone(), leave: leave.clone(), then };
    (Setup::default().over(FakeBackend::new().with("f", step)), entered, leave)
}

#[tokio::test(start_paused = true)]
async fn a_cancel_visible_at_the_hand_over_beats_every_outcome_and_the_deadline() {
    for outcome in outcomes() {
        for late in [false, true] {
            let (bench, entered, leave) = kept(outcome.clone());
            let run = bench.spawn(bench.due("a", "f", Duration::from_secs(1)));
            entered.passed().await;
            assert_eq!(bench.runner.snapshot().running_invocations, 1);
            assert_eq!(bench.cancel("a"), CancelDisposition::Accepted);
            if late {
                bench.pass(Duration::from_secs(2)).await;
            }
            leave.open();
            let report = run.await.unwrap();
            assert_eq!(report.outcome, cancelled(), "{outcome:?}");
            assert_eq!(report.consumption.fuel, 1, "consumption is kept");
            assert_eq!(bench.runner.snapshot().releases, 1);
            bench.assert_settled(0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_elapsed_at_the_hand_over_beats_every_outcome() {
    for outcome in outcomes() {
        let (bench, entered, leave) = kept(outcome.clone());
        let run = bench.spawn(bench.due("a", "f", Duration::from_secs(1)));
        entered.passed().await;
        bench.pass(Duration::from_secs(2)).await;
        leave.open();
        let report = run.await.unwrap();
        assert_eq!(report.outcome, deadline_exceeded(), "{outcome:?}");
        assert_eq!(report.consumption.fuel, 1);
        bench.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn with_neither_visible_the_outcome_is_accepted() {
    for outcome in outcomes() {
        let (bench, entered, leave) = kept(outcome.clone());
        let run = bench.spawn(bench.due("a", "f", Duration::from_secs(1)));
        entered.passed().await;
        leave.open();
        assert_eq!(run.await.unwrap().outcome, from_execution(outcome));
        bench.assert_settled(0);
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_hand_over_a_cancel_is_accepted_without_rewriting_and_then_not_found() {
    for outcome in outcomes() {
        let (entered, leave) = (Gate::closed(), Gate::closed());
        let gates = (entered.clone(), leave.clone());
        let wait = hook(move |_| {
            gates.0.open();
            gates.1.passed()
        });
        let hooks = Hooks { before_disposition: Some(wait), ..Hooks::default() };
        let bench = Setup::hooked(hooks).over(FakeBackend::new().with("f", FakeStep::End(outcome.clone())));
        let run = bench.spawn(bench.due("a", "f", Duration::from_secs(1)));
        entered.passed().await;
        assert_eq!(bench.cancel("a"), CancelDisposition::Accepted, "registered until the disposition is over");
        bench.pass(Duration::from_secs(2)).await;
        leave.open();
        assert_eq!(run.await.unwrap().outcome, from_execution(outcome), "neither cancel nor deadline rewrites");
        assert_eq!(bench.cancel("a"), CancelDisposition::NotFound);
        bench.assert_settled(0);
    }
}

#[tokio::test]
async fn a_cancel_stops_a_running_guest() {
    let bench = Setup::default().over(FakeBackend::new().with("spin", FakeStep::Spin));
    let run = bench.spawn(envelope("a", "spin"));
    while bench.runner.snapshot().running_invocations == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.cancel("a"), CancelDisposition::Accepted);
    assert_eq!(bench.cancel("a"), CancelDisposition::Accepted, "again");
    assert_eq!(run.await.unwrap().outcome, cancelled());
    bench.assert_settled(0);
}

#[tokio::test]
async fn a_deadline_stops_a_running_guest_and_never_early() {
    let bench = Setup::default().over(FakeBackend::new());
    let backend = FakeBackend::new().with("spin", FakeStep::Spin);
    let clock = Arc::new(SystemWallClock);
    let runner = watch(bench.cells.clone(), Hooks::default(), &Log::default(), backend, clock.clone(), 1);
    let mut spin = envelope("a", "spin");
    let started = tokio::time::Instant::now();
    spin.budget.deadline = Some(clock.now() + Duration::from_millis(20));
    let report = runner.run(spin, artifact()).await;
    assert_eq!(report.outcome, deadline_exceeded());
    assert!(started.elapsed() >= Duration::from_millis(20));
    bench.assert_settled(0);
}

#[tokio::test]
async fn success_is_completed_and_carries_the_output() {
    let bench = Setup::default().over(FakeBackend::new().with("echo", FakeStep::Echo));
    let report = bench.run("a", "echo").await;
    assert_eq!(report.outcome.terminal_state(), TerminalState::Completed);
    assert_eq!(report.outcome, ActivationOutcome::Succeeded { output: Payload::json("[\"hi\"]") });
}
