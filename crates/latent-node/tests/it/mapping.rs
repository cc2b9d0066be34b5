//! What each execution result becomes on its way through the runner, and how large it may be.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use latent_core::error::{DETAILS_MAX, FIELDS_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
use latent_core::{
    CellClass, CellId, ErrorDetail, ExecutionOutcome, NodeId, PlatformError, PlatformErrorCode, ResourceBudget,
    SystemWallClock, TerminalState,
};
use latent_executor::fake::{FakeBackend, FakeStep};
use latent_node::{Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{CellLease, CellLeaseIdentity, CellLeaseLifecycle, CellPool, CellRequest};

use crate::support::{Setup, artifact, envelope, error, poll};

#[tokio::test]
async fn each_result_has_its_state_code_and_detail_and_its_cell_is_released() {
    use PlatformErrorCode as Code;
    use TerminalState as State;
    for (outcome, state, code, kind) in [
        (
            ExecutionOutcome::Trapped { category: "unreachable" },
            State::GuestTrap,
            Code::GuestTrap,
            "activation.guest-trap",
        ),
        (
            ExecutionOutcome::FuelExhausted,
            State::ResourceExhausted,
            Code::ResourceExhausted,
            "activation.fuel-exhausted",
        ),
        (
            ExecutionOutcome::MemoryExhausted,
            State::ResourceExhausted,
            Code::ResourceExhausted,
            "activation.memory-exhausted",
        ),
        (
            ExecutionOutcome::LimitExceeded { kind: "activation.table-exhausted", limit: 9 },
            State::ResourceExhausted,
            Code::ResourceExhausted,
            "activation.table-exhausted",
        ),
        (ExecutionOutcome::Cancelled, State::Cancelled, Code::Cancelled, "activation.cancelled"),
        (ExecutionOutcome::TransportStopped, State::Cancelled, Code::Cancelled, "activation.transport-stopped"),
        (
            ExecutionOutcome::DeadlineExceeded,
            State::DeadlineExceeded,
            Code::DeadlineExceeded,
            "activation.deadline-exceeded",
        ),
    ] {
        let bench = Setup::default().over(FakeBackend::new().with("f", FakeStep::End(outcome)));
        let report = bench.run("a", "f").await;
        let (actual, error) = error(&report);
        assert_eq!((actual, error.code(), error.details()[0].kind()), (state, code, kind));
        assert_eq!(report.consumption.fuel, 1, "{kind}: consumption kept");
        bench.assert_settled(0);
    }
}

#[tokio::test]
async fn platform_failures_take_their_state_from_their_code() {
    for code in PlatformErrorCode::ALL {
        let failed = FakeStep::End(ExecutionOutcome::Failed(PlatformError::new(*code, "reason")));
        let bench = Setup::default().over(FakeBackend::new().with("f", failed));
        let report = bench.run("a", "f").await;
        assert_eq!((error(&report).0, error(&report).1.code()), (code.terminal_state(), *code));
    }
}

#[tokio::test]
async fn huge_diagnostics_of_a_backend_are_cut_to_their_bounds() {
    let huge = "é".repeat(100_000);
    let detail = (0..100).fold(ErrorDetail::new(&huge), |detail, _| detail.with(&huge, &huge));
    let failed =
        (0..100).fold(PlatformError::new(PlatformErrorCode::Internal, &huge), |e, _| e.with_detail(detail.clone()));
    let backend = FakeBackend::new().with("f", FakeStep::End(ExecutionOutcome::Failed(failed)));
    let report = Setup::default().over(backend).run("a", "f").await;
    assert_bounded(error(&report).1);
}

fn assert_bounded(error: &PlatformError) {
    assert!(error.message().len() <= MESSAGE_BYTES_MAX);
    assert!(error.details().len() <= DETAILS_MAX);
    for detail in error.details() {
        assert!(detail.kind().len() <= NAME_BYTES_MAX && detail.fields().len() <= FIELDS_MAX);
        assert!(detail.fields().all(|(name, value)| name.len() <= NAME_BYTES_MAX && value.len() <= VALUE_BYTES_MAX));
    }
}

/// A pool from outside with one endless cell: it names it as it likes, grants its own budget, and may refuse returns.
pub struct Outside {
    pub cell: CellId,
    pub granted: ResourceBudget,
    pub refuses: bool,
    pub on_abandoned: Arc<dyn Fn() + Send + Sync>,
    pub live: Mutex<Option<Arc<dyn CellLeaseLifecycle>>>,
}

impl Outside {
    pub fn new(cell: &str) -> Self {
        Self {
            cell: CellId::new(cell),
            granted: ResourceBudget::default(),
            refuses: false,
            on_abandoned: Arc::new(|| ()),
            live: Mutex::new(None),
        }
    }
}

struct Told(Arc<dyn Fn() + Send + Sync>);

impl CellLeaseLifecycle for Told {
    fn on_abandoned(&self) {
        (self.0)();
    }
}

impl CellPool for Outside {
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        let lifecycle: Arc<dyn CellLeaseLifecycle> = Arc::new(Told(self.on_abandoned.clone()));
        *self.live.lock().unwrap() = Some(lifecycle.clone());
        let identity = CellLeaseIdentity {
            activation_id: request.activation_id,
            tenant: request.tenant,
            cell: self.cell.clone(),
            node: NodeId::new("outside").unwrap(),
            class: request.class,
            generation: 1,
            budget: self.granted,
            expires_at: request.expires_at,
        };
        Box::pin(std::future::ready(Ok(CellLease::new(identity, lifecycle))))
    }

    fn release(&self, mut lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        let live = self.live.lock().unwrap().take();
        let known = live.is_some_and(|lifecycle| lease.disarm_lifecycle(&lifecycle));
        let answer = if known && !self.refuses {
            Ok(())
        } else {
            Err(PlatformError::new(PlatformErrorCode::Internal, "x".repeat(10_000)))
        };
        Box::pin(std::future::ready(answer))
    }

    fn capacity(&self, _class: CellClass) -> usize {
        1
    }

    fn available(&self, _class: CellClass) -> usize {
        usize::from(self.live.lock().unwrap().is_none())
    }
}

fn over(pool: Outside, backend: FakeBackend) -> Phase0ActivationRunner {
    let config = Phase0ActivationRunnerConfig::default();
    Phase0ActivationRunner::new(Arc::new(pool), Arc::new(backend), Arc::new(SystemWallClock), config)
}

#[tokio::test]
async fn a_cell_id_of_ten_kilobytes_is_cut_in_reports_and_errors() {
    let long = "é".repeat(5_000);
    for refuses in [false, true] {
        let pool = Outside { refuses, ..Outside::new(&long) };
        let runner = over(pool, FakeBackend::new().with("f", FakeStep::Echo));
        let report = runner.run(envelope("a", "f"), artifact()).await;
        assert_eq!(report.cell.as_ref().map(|cell| cell.as_str().len()), Some(VALUE_BYTES_MAX));
        assert_eq!(report.outcome.terminal_state() == TerminalState::PlatformFailed, refuses);
        if refuses {
            let failure = error(&report).1;
            assert_bounded(failure);
            assert_eq!(failure.details()[0].field("cell"), report.cell.as_ref().map(CellId::as_str));
        }
    }
}

#[tokio::test]
async fn a_pool_without_quarantine_makes_an_unproved_cell_a_failed_disposition() {
    let unproven = FakeStep::EndUnproven(ExecutionOutcome::FuelExhausted);
    let runner = over(Outside::new("c"), FakeBackend::new().with("f", unproven));
    let report = runner.run(envelope("a", "f"), artifact()).await;
    let detail = &error(&report).1.details()[0];
    assert_eq!(detail.kind(), "cell-disposition.quarantine-failed");
    assert_eq!(detail.field("cause_kind"), Some("cell-pool.unsupported-operation"));
    assert_eq!(report.consumption.fuel, 1);
    assert_eq!(runner.snapshot().failed_dispositions, 1);
}

#[tokio::test]
async fn a_dropped_run_gives_up_its_cell_before_its_registration() {
    let seen = Arc::new(Mutex::new(None));
    let runner = Arc::new_cyclic(|runner: &std::sync::Weak<Phase0ActivationRunner>| {
        let (runner, seen) = (runner.clone(), seen.clone());
        let on_abandoned = Arc::new(move || {
            let counts = runner.upgrade().map(|runner| runner.snapshot());
            *seen.lock().unwrap() = counts;
        });
        let pool = Outside { on_abandoned, ..Outside::new("c") };
        over(pool, FakeBackend::new().with("spin", FakeStep::Spin))
    });
    let mut run = Box::pin(runner.run(envelope("a", "spin"), artifact()));
    assert!(poll(&mut run).is_pending());
    assert_eq!(runner.snapshot().running_invocations, 1);
    drop(run);
    let counts = seen.lock().unwrap().expect("the abandoned lease was reported");
    assert_eq!((counts.registrations, counts.running_invocations), (1, 0));
    assert_eq!(runner.snapshot().registrations, 0);
}
