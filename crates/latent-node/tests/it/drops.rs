//! A run dropped at its n-th poll, for every n.

use std::time::Duration;

use futures_util::future::BoxFuture;
use latent_core::{BudgetConsumption, ExecutionOutcome, TerminalState};
use latent_executor::fake::{FakeBackend, FakeStep, Gate};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionCleanup, ExecutionReport,
    ExecutionRequest,
};

use crate::support::{Hooks, Setup, artifact, envelope, hook, poll, yields};

/// Takes three polls more than it needs, and proves its cleanup or not.
struct Slow(ExecutionCleanup);

impl ExecutionBackend for Slow {
    fn invoke(&self, _artifact: ComponentArtifact, _request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        unreachable!("the runner uses the contained entry")
    }

    fn invoke_contained(
        &self,
        _artifact: ComponentArtifact,
        request: ExecutionRequest,
        _cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        Box::pin(async move {
            yields(3).await;
            let outcome = ExecutionOutcome::Returned(request.payload);
            let report = ExecutionReport { outcome, consumption: BudgetConsumption::default() };
            ContainedExecution { report, cleanup: self.0 }
        })
    }
}

fn slow_pool() -> Hooks {
    Hooks {
        before_acquire: Some(hook(|_| yields(2))),
        after_grant: Some(hook(|_| yields(2))),
        before_disposition: Some(hook(|_| yields(2))),
        ..Hooks::default()
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_poll_a_run_leaves_nothing_and_its_lease_ends_once() {
    for cleanup in [ExecutionCleanup::Reusable, ExecutionCleanup::Unproven { reason: "scripted" }] {
        for cancel_at in [None, Some(1), Some(3), Some(6), Some(9)] {
            let finished_at = (0..100).find(|n| {
                let bench = Setup::hooked(slow_pool()).over(Slow(cleanup));
                let due = bench.due("a", "f", Duration::from_mins(1));
                let mut run = Box::pin(bench.runner.run(due, artifact()));
                let finished = (0..*n).any(|polled| {
                    if cancel_at == Some(polled) {
                        let _disposition = bench.cancel("a");
                    }
                    poll(&mut run).is_ready()
                });
                let leased = bench.observations().active_leases;
                drop(run);
                let quarantined = bench.observations().quarantined;
                assert!(quarantined <= 1 && quarantined >= leased, "{n}: a live lease that is dropped is quarantined");
                bench.assert_settled(quarantined);
                finished
            });
            assert!(finished_at.is_some_and(|n| n > 1), "the polls were enumerated to the end");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_while_queued_a_run_is_skipped_and_the_next_gets_the_cell() {
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let hold = FakeStep::Gated { entered: entered.clone(), leave: leave.clone(), then: Box::new(FakeStep::Echo) };
    let bench = Setup::default().over(FakeBackend::new().with("hold", hold).with("echo", FakeStep::Echo));
    let holder = bench.spawn(envelope("holder", "hold"));
    entered.passed().await;
    let mut dropped = Box::pin(bench.runner.run(bench.due("dropped", "echo", Duration::from_mins(1)), artifact()));
    let mut next = Box::pin(bench.run("next", "echo"));
    assert!(poll(&mut dropped).is_pending() && poll(&mut next).is_pending());
    assert_eq!(bench.runner.snapshot().waiting, 2);
    drop(dropped);
    assert_eq!((bench.runner.snapshot().waiting, bench.observations().queue_depth), (1, 1));
    leave.open();
    holder.await.unwrap();
    assert_eq!(next.await.outcome.terminal_state(), TerminalState::Completed);
    bench.assert_settled(0);
}

#[tokio::test]
async fn a_run_that_is_never_polled_takes_nothing() {
    let bench = Setup::default().over(FakeBackend::new());
    drop(bench.run("a", "f"));
    bench.assert_settled(0);
    assert!(bench.log.events().is_empty());
}
