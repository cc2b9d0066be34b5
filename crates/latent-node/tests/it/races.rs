//! Many runs at once, on real threads.

use std::time::Duration;

use latent_activation::CancelDisposition;
use latent_core::{ExecutionOutcome, TerminalState};
use latent_executor::fake::{FakeBackend, FakeStep, Gate};

use crate::support::{Setup, artifact, cancelled, envelope, error};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_racing_runs_share_four_cells_and_all_complete() {
    let bench = Setup { cells: 4, ..Setup::default() }.over(FakeBackend::new().with("echo", FakeStep::Echo));
    for round in 0..20 {
        let runs: Vec<_> = (0..64).map(|n| bench.spawn(envelope(&format!("{round}-{n}"), "echo"))).collect();
        for run in runs {
            assert_eq!(run.await.unwrap().outcome.terminal_state(), TerminalState::Completed);
        }
        bench.assert_settled(0);
    }
    assert_eq!(bench.runner.snapshot().releases, 20 * 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixty_four_racing_runs_at_one_place_too_few_exactly_one_is_refused() {
    let leave = Gate::closed();
    let hold = FakeStep::Gated { entered: Gate::closed(), leave: leave.clone(), then: Box::new(FakeStep::Echo) };
    let setup = Setup { cells: 64, registrations_max: 63, ..Setup::default() };
    let bench = setup.over(FakeBackend::new().with("hold", hold));
    let runs: Vec<_> = (0..64).map(|n| bench.spawn(envelope(&format!("{n}"), "hold"))).collect();
    let refused = async {
        while !runs.iter().any(tokio::task::JoinHandle::is_finished) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), refused).await.expect("one run is refused");
    while bench.runner.snapshot().running_invocations < 63 {
        tokio::task::yield_now().await;
    }
    leave.open();
    let mut refusals = 0;
    for run in runs {
        let report = run.await.unwrap();
        if report.outcome.terminal_state() != TerminalState::Completed {
            assert!(error(&report).1.has_detail("activation.registrations-exhausted"));
            refusals += 1;
        }
    }
    assert_eq!(refusals, 1);
    bench.assert_settled(0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cancel_that_races_completion_agrees_with_the_outcome() {
    let trap = FakeStep::End(ExecutionOutcome::Trapped { category: "unreachable" });
    let bench =
        Setup { cells: 4, ..Setup::default() }.over(FakeBackend::new().with("echo", FakeStep::Echo).with("trap", trap));
    for round in 0..500 {
        let function = if round % 2 == 0 { "echo" } else { "trap" };
        let run = bench.spawn(envelope("a", function));
        let runner = bench.runner.clone();
        let cancel = tokio::spawn(async move {
            let (tenant, id) = (crate::support::tenant("t"), crate::support::activation("a"));
            (0..50).any(|_| runner.cancel(&tenant, &id, "race") == CancelDisposition::Accepted)
        });
        let (report, accepted) = (run.await.unwrap(), cancel.await.unwrap());
        assert!(accepted || report.outcome != cancelled(), "only an accepted cancel cancels");
        bench.assert_settled(0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn aborted_tasks_leave_an_exact_pool() {
    let bench = Setup { cells: 32, ..Setup::default() }.over(FakeBackend::new().with("spin", FakeStep::Spin));
    let runs: Vec<_> = (0..64).map(|n| bench.spawn(envelope(&format!("{n}"), "spin"))).collect();
    while bench.runner.snapshot().running_invocations == 0 {
        tokio::task::yield_now().await;
    }
    runs.iter().for_each(tokio::task::JoinHandle::abort);
    for run in runs {
        assert!(run.await.is_err_and(|error| error.is_cancelled()));
    }
    let quarantined = bench.observations().quarantined;
    assert!(quarantined >= 1, "a running guest that is dropped proves nothing");
    bench.assert_settled(quarantined);
}

#[test]
fn a_run_may_move_between_threads() {
    fn assert_send<T: Send>(_: &T) {}
    let bench = Setup::default().over(FakeBackend::new());
    assert_send(&bench.runner.run(envelope("a", "f"), artifact()));
}
