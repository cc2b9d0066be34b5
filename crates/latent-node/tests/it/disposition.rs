//! What becomes of the cell, and what its failure does to the outcome.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use latent_activation::CancelDisposition;
use latent_core::{
    BudgetConsumption, ErrorDetail, ExecutionOutcome, Payload, PlatformError, PlatformErrorCode, TerminalState,
};
use latent_executor::fake::{FakeBackend, FakeStep};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionCleanup, ExecutionReport,
    ExecutionRequest,
};

use crate::support::{Hooks, Setup, activation, cancelled, error, hook, tenant};

const USED: BudgetConsumption = BudgetConsumption {
    fuel: 11,
    peak_memory_bytes: 22,
    wall_time: Duration::from_micros(33),
    log_bytes: 44,
    outbound_requests: 55,
};

fn charge(cancellation: &ExecutionCancellation) {
    let ledger = cancellation.budget_accounting();
    ledger.observe_fuel(USED.fuel);
    ledger.observe_memory(USED.peak_memory_bytes);
    ledger.observe_wall_time(USED.wall_time);
    assert!(ledger.try_charge_log(USED.log_bytes));
    (0..USED.outbound_requests).for_each(|_| ledger.count_outbound_request());
}

/// Charges the ledger, then ends as told, reporting nothing of it.
#[derive(Clone)]
enum Charging {
    Panics,
    Ends(ExecutionOutcome, ExecutionCleanup),
}

impl ExecutionBackend for Charging {
    fn invoke(&self, _artifact: ComponentArtifact, _request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        unreachable!("the runner uses the contained entry")
    }

    fn invoke_contained(
        &self,
        _artifact: ComponentArtifact,
        _request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        charge(&cancellation);
        match self.clone() {
            Self::Panics => panic!("scripted panic before there is a future"),
            Self::Ends(outcome, cleanup) => {
                let report = ExecutionReport { outcome, consumption: BudgetConsumption::default() };
                Box::pin(std::future::ready(ContainedExecution { report, cleanup }))
            }
        }
    }
}

fn returned() -> ExecutionOutcome {
    ExecutionOutcome::Returned(Payload::json("1"))
}

const UNPROVEN: ExecutionCleanup = ExecutionCleanup::Unproven { reason: "store still alive" };

#[tokio::test]
async fn proved_cleanup_releases_and_missing_proof_quarantines_with_its_reason() {
    let bench = Setup::default().over(Charging::Ends(returned(), ExecutionCleanup::Reusable));
    assert_eq!(bench.run("a", "f").await.consumption, USED);
    bench.assert_settled(0);
    assert_eq!(bench.runner.snapshot().releases, 1);

    let bench = Setup::default().over(Charging::Ends(returned(), UNPROVEN));
    let report = bench.run("a", "f").await;
    assert_eq!(report.outcome.terminal_state(), TerminalState::Completed, "the result itself stands");
    assert_eq!(bench.log.events(), ["acquire", "granted", "quarantine: store still alive"]);
    assert_eq!(bench.runner.snapshot().quarantines, 1);
    bench.assert_settled(1);
}

#[tokio::test]
async fn a_proof_refused_without_a_reason_still_quarantines() {
    let cleanup = ExecutionCleanup::Unproven { reason: " " };
    let bench = Setup::default().over(Charging::Ends(returned(), cleanup));
    let report = bench.run("a", "f").await;
    assert_eq!(report.outcome.terminal_state(), TerminalState::Completed);
    assert_eq!(bench.runner.snapshot().failed_dispositions, 0);
    bench.assert_settled(1);
}

#[tokio::test]
async fn a_legacy_backend_costs_a_cell_for_each_call() {
    struct Legacy;
    impl ExecutionBackend for Legacy {
        fn invoke(&self, _artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
            let outcome = ExecutionOutcome::Returned(request.payload);
            Box::pin(std::future::ready(ExecutionReport { outcome, consumption: USED }))
        }
    }
    let bench = Setup { cells: 2, ..Setup::default() }.over(Legacy);
    let report = bench.run("a", "f").await;
    assert_eq!((report.outcome.terminal_state(), report.consumption), (TerminalState::Completed, USED));
    bench.assert_settled(1);
    bench.run("b", "f").await;
    bench.assert_settled(2);
    let report = bench.run("c", "f").await;
    let (state, error) = error(&report);
    assert_eq!(state, TerminalState::DependencyFailed);
    assert!(error.has_detail("cell-pool.all-quarantined") && error.is_retryable());
}

fn refusing() -> Hooks {
    let refusal = PlatformError::new(PlatformErrorCode::NotFound, "prose of the pool")
        .with_detail(ErrorDetail::new("cell-pool.double-release"));
    Hooks { refuse_dispositions: Some(refusal), ..Hooks::default() }
}

#[tokio::test]
async fn a_failed_disposition_overrides_the_outcome_and_keeps_the_consumption() {
    let trap = ExecutionOutcome::Trapped { category: "unreachable" };
    for outcome in [returned(), trap, ExecutionOutcome::FuelExhausted, ExecutionOutcome::Cancelled] {
        for (cleanup, kind) in [
            (ExecutionCleanup::Reusable, "cell-disposition.release-failed"),
            (UNPROVEN, "cell-disposition.quarantine-failed"),
        ] {
            let bench = Setup::hooked(refusing()).over(Charging::Ends(outcome.clone(), cleanup));
            let report = bench.run("a", "f").await;
            let (state, error) = error(&report);
            assert_eq!((state, error.code()), (TerminalState::PlatformFailed, PlatformErrorCode::Internal));
            let [detail] = error.details() else { panic!("one detail expected: {error:?}") };
            assert_eq!(detail.kind(), kind);
            assert_eq!(detail.field("cause_code"), Some("not-found"));
            assert_eq!(detail.field("cause_kind"), Some("cell-pool.double-release"));
            assert_eq!(detail.field("cell"), report.cell.as_ref().map(latent_core::CellId::as_str));
            assert!(!format!("{error:?}").contains("prose"));
            assert_eq!(report.consumption, USED);
            let counts = bench.runner.snapshot();
            assert_eq!((counts.releases, counts.quarantines, counts.failed_dispositions), (0, 0, 1));
            // The refused lease was dropped, and a dropped lease is a quarantined cell.
            bench.assert_settled(1);
        }
    }
}

#[tokio::test]
async fn a_failed_disposition_beats_an_accepted_cancel_at_the_boundary_too() {
    let cancel = hook(|runner| {
        assert_eq!(runner.cancel(&tenant("t"), &activation("a"), ""), CancelDisposition::Accepted);
        std::future::ready(())
    });
    let bench = Setup::hooked(Hooks { after_grant: Some(cancel), ..refusing() }).over(Charging::Panics);
    let report = bench.run("a", "f").await;
    assert!(error(&report).1.has_detail("cell-disposition.release-failed"), "{report:?}");
    bench.assert_settled(1);
}

#[tokio::test]
async fn a_pool_that_panics_while_it_takes_a_cell_back_is_a_failed_disposition() {
    let hooks = Hooks { before_disposition: Some(hook(|_| async { panic!("scripted panic") })), ..Hooks::default() };
    let bench = Setup::hooked(hooks).over(Charging::Ends(returned(), ExecutionCleanup::Reusable));
    let report = bench.run("a", "f").await;
    let detail = &error(&report).1.details()[0];
    assert_eq!(detail.kind(), "cell-disposition.release-failed");
    assert_eq!(detail.field("cause_kind"), Some("activation.pool-panic"));
    assert_eq!(report.consumption, USED);
    bench.assert_settled(1);
}

#[tokio::test]
async fn a_backend_panic_costs_one_cell_and_one_platform_failed_record() {
    let fake = FakeBackend::new().with("f", FakeStep::Panic);
    let backends: [(Arc<dyn ExecutionBackend>, _); 2] =
        [(Arc::new(Charging::Panics), USED), (Arc::new(fake), BudgetConsumption::default())];
    for (backend, used) in backends {
        let bench = Setup { cells: 2, ..Setup::default() }.over(Shared(backend));
        let report = bench.run("a", "f").await;
        let (state, error) = error(&report);
        assert_eq!((state, error.code()), (TerminalState::PlatformFailed, PlatformErrorCode::Internal));
        assert_eq!(error.details()[0].kind(), "activation.backend-panic");
        assert!(!format!("{error:?}").contains("scripted"), "the panic's words stay inside");
        assert_eq!(report.consumption, used);
        assert_eq!(bench.runner.snapshot().quarantines, 1);
        bench.assert_settled(1);
    }
}

#[tokio::test]
async fn a_cancel_that_was_accepted_before_a_backend_panic_is_still_what_is_published() {
    struct LegacyPanics;
    impl ExecutionBackend for LegacyPanics {
        fn invoke(&self, _artifact: ComponentArtifact, _request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
            panic!("scripted panic")
        }
    }
    let gate = latent_executor::fake::Gate::closed();
    let entered = latent_executor::fake::Gate::closed();
    let step = FakeStep::Gated { entered: entered.clone(), leave: gate.clone(), then: Box::new(FakeStep::Panic) };
    let bench = Setup::default().over(FakeBackend::new().with("f", step));
    let run = bench.spawn(crate::support::envelope("a", "f"));
    entered.passed().await;
    assert_eq!(bench.cancel("a"), CancelDisposition::Accepted);
    gate.open();
    assert_eq!(run.await.unwrap().outcome, cancelled());
    bench.assert_settled(1);

    let bench = Setup::default().over(LegacyPanics);
    assert!(error(&bench.run("a", "f").await).1.has_detail("activation.backend-panic"), "the legacy entry too");
}

/// Lends a shared backend.
struct Shared(Arc<dyn ExecutionBackend>);

impl ExecutionBackend for Shared {
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
}
