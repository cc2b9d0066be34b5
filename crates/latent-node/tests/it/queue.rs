//! The wait for a cell: cancel before deadline before grant, and nobody left behind in the queue.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use latent_activation::{ActivationEnvelope, CancelDisposition};
use latent_core::{
    ActivationOutcome, ErrorDetail, ExecutionOutcome, PlatformError, PlatformErrorCode, TerminalState, WallClock,
};
use latent_executor::fake::{FakeBackend, FakeStep, Gate};
use latent_node::Phase0ActivationRunner;
use latent_scheduler::CellPool as _;
use tokio::time::Instant;

use crate::support::{
    Bench, Hooks, Log, Setup, activation, artifact, cancelled, deadline_exceeded, envelope, error, hook, poll, tenant,
    watch,
};

const SECOND: Duration = Duration::from_secs(1);

fn echo() -> FakeBackend {
    FakeBackend::new().with("echo", FakeStep::Echo)
}

/// A bench whose only cell is held until the gate opens.
async fn occupied(hooks: Hooks) -> (Bench, Gate, tokio::task::JoinHandle<latent_node::ActivationReport>) {
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let hold = FakeStep::Gated { entered: entered.clone(), leave: leave.clone(), then: Box::new(FakeStep::Echo) };
    let bench = Setup::hooked(hooks).over(echo().with("hold", hold));
    let holder = bench.spawn(envelope("holder", "hold"));
    entered.passed().await;
    (bench, leave, holder)
}

const WITHDRAWN: [&str; 5] = ["acquire", "granted", "acquire", "acquisition dropped", "cancel waiting"];

#[tokio::test]
async fn a_cancel_ends_the_wait_and_the_acquisition_is_dropped_before_the_pool_is_asked() {
    let (bench, leave, holder) = occupied(Hooks::default()).await;
    let mut queued = Box::pin(bench.run("queued", "echo"));
    assert!(poll(&mut queued).is_pending());
    assert_eq!((bench.observations().queue_depth, bench.runner.snapshot().waiting), (1, 1));
    assert_eq!(bench.cancel("queued"), CancelDisposition::Accepted);
    let report = queued.await;
    assert_eq!((report.outcome, report.cell), (cancelled(), None));
    assert_eq!(bench.log.events(), WITHDRAWN);
    leave.open();
    holder.await.unwrap();
    bench.assert_settled(0);
}

#[tokio::test]
async fn a_cancel_wakes_the_task_that_waits() {
    let (bench, leave, holder) = occupied(Hooks::default()).await;
    let queued = bench.spawn(envelope("queued", "echo"));
    while bench.observations().queue_depth == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.cancel("queued"), CancelDisposition::Accepted);
    assert_eq!(queued.await.unwrap().outcome, cancelled());
    leave.open();
    holder.await.unwrap();
    bench.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_the_wait_and_the_acquisition_is_dropped_before_the_pool_is_asked() {
    let (bench, leave, holder) = occupied(Hooks::default()).await;
    // The wall stands still: only the runner's own monotonic deadline can end this wait.
    let report = bench.runner.run(bench.due("queued", "echo", SECOND), artifact()).await;
    assert_eq!((report.outcome, report.cell), (deadline_exceeded(), None));
    assert!(report.queue_wait >= SECOND);
    assert_eq!(bench.log.events(), WITHDRAWN);
    leave.open();
    holder.await.unwrap();
    bench.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn a_grant_ends_the_wait_and_the_guest_runs() {
    let (bench, leave, holder) = occupied(Hooks::default()).await;
    let queued = bench.spawn(bench.due("queued", "echo", SECOND));
    tokio::task::yield_now().await;
    leave.open();
    holder.await.unwrap();
    let report = queued.await.unwrap();
    assert_eq!(report.outcome.terminal_state(), TerminalState::Completed);
    bench.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn at_one_poll_cancel_beats_deadline_and_deadline_beats_grant() {
    for (cancel, expected) in [(true, cancelled()), (false, deadline_exceeded())] {
        let grant = Gate::closed();
        let gate = grant.clone();
        let hooks = Hooks { after_grant: Some(hook(move |_| gate.passed())), ..Hooks::default() };
        let bench = Setup::hooked(hooks).over(echo());
        let mut run = Box::pin(bench.runner.run(bench.due("a", "echo", SECOND), artifact()));
        assert!(poll(&mut run).is_pending());
        bench.pass(2 * SECOND).await;
        grant.open();
        if cancel {
            assert_eq!(bench.cancel("a"), CancelDisposition::Accepted);
        }
        assert_eq!(run.await.outcome, expected);
        assert_eq!(bench.log.events(), ["acquire", "acquisition dropped", "cancel waiting"]);
        // This pool had the lease in hand when its acquisition was dropped, so the lease counts as abandoned.
        bench.assert_settled(1);
    }
}

#[tokio::test]
async fn a_lease_received_at_the_boundary_is_released_and_the_guest_never_runs() {
    for (cancel, expected) in [(true, cancelled()), (false, deadline_exceeded())] {
        let hooks = Hooks {
            after_grant: Some(hook(move |runner| {
                if cancel {
                    assert_eq!(runner.cancel(&tenant("t"), &activation("a"), ""), CancelDisposition::Accepted);
                }
                // The deadline passes within the very poll that grants.
                let late = Instant::now() + Duration::from_millis(2);
                while Instant::now() < late {
                    std::hint::spin_loop();
                }
                std::future::ready(())
            })),
            ..Hooks::default()
        };
        let bench = Setup::hooked(hooks).over(FakeBackend::new().with("echo", FakeStep::Panic));
        let due = bench.due("a", "echo", Duration::from_millis(1));
        let report = bench.runner.run(due, artifact()).await;
        assert_eq!(report.outcome, expected);
        assert!(report.cell.is_some());
        assert_eq!(bench.log.events(), ["acquire", "granted", "release"]);
        assert_eq!(bench.runner.snapshot().releases, 1);
        bench.assert_settled(0);
    }
}

#[tokio::test]
async fn a_cell_promised_to_a_waiter_that_is_cancelled_goes_back_into_use() {
    let (bench, leave, holder) = occupied(Hooks::default()).await;
    let mut queued = Box::pin(bench.run("queued", "echo"));
    assert!(poll(&mut queued).is_pending());
    leave.open();
    holder.await.unwrap();
    assert_eq!(bench.observations().active_leases, 1, "the cell is promised to the waiter");
    assert_eq!(bench.cancel("queued"), CancelDisposition::Accepted);
    assert_eq!(queued.await.outcome, cancelled());
    bench.assert_settled(0);
}

/// A clock that turns time on, or cancels, when it is read: after the registration, before the pool is asked.
struct Meddling(Arc<OnceLock<Arc<Phase0ActivationRunner>>>);

const NOON: SystemTime = SystemTime::UNIX_EPOCH;

impl WallClock for Meddling {
    fn now(&self) -> SystemTime {
        if let Some(runner) = self.0.get() {
            assert_eq!(runner.cancel(&tenant("t"), &activation("a"), ""), CancelDisposition::Accepted);
        }
        NOON + SECOND
    }
}

#[tokio::test]
async fn before_acquisition_cancel_beats_deadline_and_the_pool_is_never_asked() {
    for (cancel, left, expected) in [
        (true, 2 * SECOND, cancelled()),
        (true, Duration::ZERO, cancelled()),
        (false, SECOND, deadline_exceeded()),
        (false, Duration::ZERO, deadline_exceeded()),
    ] {
        let (log, meddler) = (Log::default(), Arc::new(OnceLock::new()));
        let bench = Setup::default().over(echo());
        let clock = Arc::new(Meddling(meddler.clone()));
        let runner = watch(bench.cells.clone(), Hooks::default(), &log, echo(), clock, 64);
        if cancel {
            assert!(meddler.set(runner.clone()).is_ok());
        }
        let due = ActivationEnvelope { deadline: Some(NOON + left), ..envelope("a", "echo") };
        let report = runner.run(due, artifact()).await;
        assert_eq!((report.outcome, report.cell), (expected, None));
        assert!(log.events().is_empty(), "{:?}", log.events());
        assert_eq!(runner.snapshot().registrations, 0);
    }
}

#[tokio::test]
async fn a_deadline_beyond_every_clock_is_never_early() {
    let bench = Setup::default().over(echo());
    let never = SystemTime::UNIX_EPOCH + Duration::from_secs(i64::MAX.unsigned_abs());
    let due = ActivationEnvelope { deadline: Some(never), ..envelope("a", "echo") };
    assert_eq!(bench.runner.run(due, artifact()).await.outcome.terminal_state(), TerminalState::Completed);
}

#[tokio::test]
async fn a_pool_that_cannot_withdraw_waiters_changes_nothing_about_the_outcome() {
    let hooks = Hooks { refuse_withdrawals: true, ..Hooks::default() };
    let (bench, leave, holder) = occupied(hooks).await;
    let mut queued = Box::pin(bench.run("queued", "echo"));
    assert!(poll(&mut queued).is_pending());
    assert_eq!(bench.cancel("queued"), CancelDisposition::Accepted);
    assert_eq!(queued.await.outcome, cancelled());
    leave.open();
    holder.await.unwrap();
    bench.assert_settled(0);
}

#[tokio::test]
async fn a_full_queue_is_mapped_from_its_code() {
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let hold = FakeStep::Gated { entered: entered.clone(), leave: leave.clone(), then: Box::new(FakeStep::Echo) };
    let bench = Setup { queue: 0, ..Setup::default() }.over(echo().with("hold", hold));
    let holder = bench.spawn(envelope("holder", "hold"));
    entered.passed().await;
    let report = bench.run("next", "echo").await;
    let (state, error) = error(&report);
    assert_eq!((state, error.code()), (TerminalState::ResourceExhausted, PlatformErrorCode::ResourceExhausted));
    assert!(error.is_retryable() && error.has_detail("cell-pool.queue-full"));
    leave.open();
    holder.await.unwrap();
    bench.assert_settled(0);
}

#[tokio::test(start_paused = true)]
async fn cancel_and_deadline_look_the_same_at_every_stage() {
    // What the pool itself says about a waiter: cancelled by its operator, or expired by its own clock.
    let (bench, leave, holder) = occupied(Hooks::default()).await;
    let mut queued = Box::pin(bench.run("queued", "echo"));
    assert!(poll(&mut queued).is_pending());
    assert!(bench.cells.cancel_waiting(&tenant("t"), &activation("queued")).await.unwrap());
    assert_eq!(queued.await.outcome, cancelled());
    let due = bench.due("late", "echo", SECOND);
    let mut queued = Box::pin(bench.runner.run(due, artifact()));
    assert!(poll(&mut queued).is_pending());
    bench.clock.advance(2 * SECOND);
    assert_eq!(poll(&mut queued).map(|report| report.outcome), std::task::Poll::Ready(deadline_exceeded()));
    leave.open();
    holder.await.unwrap();
    bench.assert_settled(0);

    // What a backend says in words of its own.
    let own = |code| PlatformError::new(code, "own words").retryable().with_detail(ErrorDetail::new("own.kind"));
    for (step, expected) in [
        (FakeStep::End(ExecutionOutcome::Cancelled), cancelled()),
        (FakeStep::End(ExecutionOutcome::DeadlineExceeded), deadline_exceeded()),
        (FakeStep::End(ExecutionOutcome::Failed(own(PlatformErrorCode::Cancelled))), cancelled()),
        (FakeStep::End(ExecutionOutcome::Failed(own(PlatformErrorCode::DeadlineExceeded))), deadline_exceeded()),
    ] {
        let bench = Setup::default().over(FakeBackend::new().with("f", step));
        assert_eq!(bench.run("a", "f").await.outcome, expected);
    }
}

#[tokio::test]
async fn a_pool_that_panics_while_asked_fails_the_activation_alone() {
    let hooks = Hooks { before_acquire: Some(hook(|_| async { panic!("scripted panic") })), ..Hooks::default() };
    let bench = Setup::hooked(hooks).over(echo());
    let report = bench.run("a", "echo").await;
    let ActivationOutcome::Failed { terminal_state, error } = &report.outcome else { panic!("{report:?}") };
    assert_eq!(*terminal_state, TerminalState::PlatformFailed);
    assert!(error.has_detail("activation.pool-panic"));
    bench.assert_settled(0);
}
