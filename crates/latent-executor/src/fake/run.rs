//! One scripted run, from its first step to its end.

use std::future::{pending, poll_fn};
use std::task::Poll;
use std::time::Instant;

use latent_core::{ExecutionOutcome, PlatformError, PlatformErrorCode};

use super::FakeStep;
use super::handler::stopped;
use super::pending::{panicking_when_dropped, yielding};
use crate::backend::{ContainedExecution, ExecutionCleanup, ExecutionReport, ExecutionRequest};
use crate::cancellation::ExecutionCancellation;

/// Panics as a script that does so at the call says.
pub(super) fn called(script: Option<&FakeStep>) {
    assert!(!matches!(script, Some(FakeStep::PanicOnCall)), "scripted panic");
}

/// Goes through the script of the requested function.
pub(super) async fn scripted(
    script: Option<FakeStep>,
    request: ExecutionRequest,
    cancellation: &ExecutionCancellation,
) -> ContainedExecution {
    let Some(mut step) = script else {
        return proven(cancellation, ExecutionOutcome::Failed(unknown(&request)));
    };
    loop {
        step = match step {
            FakeStep::Echo => return proven(cancellation, ExecutionOutcome::Returned(request.payload)),
            FakeStep::End(outcome) => return proven(cancellation, outcome),
            FakeStep::EndUnproven(outcome) => {
                let cleanup = ExecutionCleanup::Unproven { reason: "scripted" };
                return ContainedExecution { cleanup, ..proven(cancellation, outcome) };
            }
            FakeStep::Spin => return proven(cancellation, spin(cancellation).await),
            FakeStep::Hang => pending().await,
            FakeStep::Panic | FakeStep::PanicOnCall => panic!("scripted panic"),
            FakeStep::PanicOnDrop => panicking_when_dropped().await,
            FakeStep::Yield { polls, then } => {
                yielding(polls).await;
                *then
            }
            FakeStep::Use { fuel, memory_bytes, log_bytes, then } => {
                let ledger = cancellation.budget_accounting();
                ledger.observe_fuel(fuel);
                ledger.observe_memory(memory_bytes);
                let _accepted = ledger.try_charge_log(log_bytes);
                *then
            }
            FakeStep::Gated { entered, leave, then } => {
                entered.open();
                leave.passed().await;
                *then
            }
            FakeStep::Handle(handler) => return proven(cancellation, handler.run(&request, cancellation).await),
        };
    }
}

fn unknown(request: &ExecutionRequest) -> PlatformError {
    PlatformError::new(PlatformErrorCode::IncompatibleContract, format_args!("no function {}", request.target))
}

fn proven(cancellation: &ExecutionCancellation, outcome: ExecutionOutcome) -> ContainedExecution {
    let ledger = cancellation.budget_accounting();
    ledger.observe_fuel(1);
    let report = ExecutionReport { outcome, consumption: ledger.consumption() };
    ContainedExecution { report, cleanup: ExecutionCleanup::Reusable }
}

/// Yields at each poll, like a guest that is interrupted at every tick.
async fn spin(cancellation: &ExecutionCancellation) -> ExecutionOutcome {
    poll_fn(|cx| {
        cancellation.probe().register(cx.waker());
        #[expect(clippy::disallowed_methods, reason = "a running guest reads the monotonic clock itself")]
        let now = Instant::now();
        if let Some(cause) = cancellation.checkpoint(now) {
            return Poll::Ready(stopped(cause));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
