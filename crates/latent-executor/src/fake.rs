//! A backend without an engine: scripted per function, with gates that tests open. It honours the port's contract,
//! so that whatever is proved over it holds over a real backend.

mod repository;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Instant;

use futures_util::future::BoxFuture;
use latent_core::{ExecutionOutcome, PlatformError, PlatformErrorCode, StopCause};

use crate::backend::{ContainedExecution, ExecutionBackend, ExecutionCleanup, ExecutionReport, ExecutionRequest};
use crate::cancellation::ExecutionCancellation;
use crate::resources::RuntimeResourceSnapshot;

pub use repository::FakeRepository;

/// A door that stays open once opened. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<GateState>>);

#[derive(Debug, Default)]
struct GateState {
    open: bool,
    waiting: Vec<Waker>,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn closed() -> Self {
        Self::default()
    }

    /// Opens the gate for everyone, for good.
    pub fn open(&self) {
        let waiting = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.open = true;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Blocks this thread until the gate is open: for fakes of what blocks anyway.
    pub fn wait(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.open {
            drop(state);
            std::thread::yield_now();
            state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the gate is open.
    pub fn passed(&self) -> impl Future<Output = ()> + Send + use<> {
        let gate = self.clone();
        poll_fn(move |cx| {
            let mut state = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.open {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
    }
}

/// What a scripted function does.
#[derive(Debug, Clone)]
pub enum FakeStep {
    /// Answers with the request's own payload.
    Echo,
    /// Answers with this outcome and a proof.
    End(ExecutionOutcome),
    /// Answers with this outcome and no proof.
    EndUnproven(ExecutionOutcome),
    /// Runs until the cancellation stops it.
    Spin,
    /// Panics inside the backend.
    Panic,
    /// Opens `entered`, waits until `leave` is open whatever the cancellation says, then goes on with `then`.
    Gated {
        /// Opened on entry.
        entered: Gate,
        /// Waited for.
        leave: Gate,
        /// What follows.
        then: Box<FakeStep>,
    },
}

/// The scripted backend. Functions without a script are unknown to it.
#[derive(Debug, Default)]
pub struct FakeBackend {
    steps: Mutex<HashMap<Box<str>, FakeStep>>,
    running: AtomicU64,
}

impl FakeBackend {
    /// A backend that knows no function.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Scripts `function`.
    #[must_use]
    pub fn with(self, function: &str, step: FakeStep) -> Self {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).insert(function.into(), step);
        self
    }

    async fn run(&self, request: ExecutionRequest, cancellation: ExecutionCancellation) -> ContainedExecution {
        let _running = Running::enter(&self.running);
        let script = self.steps.lock().unwrap_or_else(PoisonError::into_inner).get(&request.target.function).cloned();
        let Some(mut step) = script else {
            return proven(&cancellation, ExecutionOutcome::Failed(unknown(&request)));
        };
        loop {
            match step {
                FakeStep::Echo => return proven(&cancellation, ExecutionOutcome::Returned(request.payload)),
                FakeStep::End(outcome) => return proven(&cancellation, outcome),
                FakeStep::EndUnproven(outcome) => {
                    let cleanup = ExecutionCleanup::Unproven { reason: "scripted" };
                    return ContainedExecution { cleanup, ..proven(&cancellation, outcome) };
                }
                FakeStep::Spin => return proven(&cancellation, spin(&cancellation).await),
                FakeStep::Panic => panic!("scripted panic"),
                FakeStep::Gated { entered, leave, then } => {
                    entered.open();
                    leave.passed().await;
                    step = *then;
                }
            }
        }
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
        match cancellation.checkpoint(now) {
            Some(StopCause::Cancelled) => Poll::Ready(ExecutionOutcome::Cancelled),
            Some(StopCause::DeadlineExceeded) => Poll::Ready(ExecutionOutcome::DeadlineExceeded),
            Some(StopCause::TransportStopped) => Poll::Ready(ExecutionOutcome::TransportStopped),
            None => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}

struct Running<'a>(&'a AtomicU64);

impl<'a> Running<'a> {
    fn enter(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ExecutionBackend for FakeBackend {
    fn invoke(&self, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        let ledger = Arc::new(latent_core::BudgetLedger::new(request.budget));
        let cancellation = ExecutionCancellation::new(Arc::default(), None, ledger);
        let contained: Pin<Box<dyn Future<Output = _> + Send + '_>> = self.invoke_contained(request, cancellation);
        Box::pin(async move { contained.await.report })
    }

    fn invoke_contained(
        &self,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        Box::pin(self.run(request, cancellation))
    }

    fn resources(&self) -> RuntimeResourceSnapshot {
        RuntimeResourceSnapshot { running_invocations: self.running.load(Ordering::Relaxed), ..Default::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{self, Call, Subject};
    use latent_core::BudgetConsumption;

    #[tokio::test]
    async fn the_fake_passes_the_contract() {
        let declared = latent_core::Payload::json("\"no\"");
        let backend = FakeBackend::new()
            .with("echo", FakeStep::Echo)
            .with("declared", FakeStep::End(ExecutionOutcome::DeclaredError(declared)))
            .with("trap", FakeStep::End(ExecutionOutcome::Trapped { category: "unreachable" }))
            .with("spin", FakeStep::Spin);
        let artifact = crate::ComponentArtifact::new(&b"fake"[..]);
        let subject = Subject::new(Arc::new(backend), artifact, |call| match call {
            Call::Echo => ("echo", "[\"hi\"]"),
            Call::Declared => ("declared", "[]"),
            Call::Trap => ("trap", "[]"),
            Call::Spin => ("spin", "[]"),
            Call::Unknown => ("nowhere", "[]"),
        });
        suite::run(&subject).await;
    }

    #[tokio::test]
    async fn a_backend_with_only_the_legacy_entry_proves_nothing() {
        struct Legacy;
        impl ExecutionBackend for Legacy {
            fn invoke(&self, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
                let outcome = ExecutionOutcome::Returned(request.payload);
                Box::pin(std::future::ready(ExecutionReport { outcome, consumption: BudgetConsumption::default() }))
            }
        }
        let request = suite::request(&crate::ComponentArtifact::new(&b"x"[..]), "f", "[]");
        let cancellation = suite::cancellation(&request, None);
        let contained = Legacy.invoke_contained(request, cancellation).await;
        assert!(matches!(contained.cleanup, ExecutionCleanup::Unproven { .. }));
        assert!(matches!(contained.report.outcome, ExecutionOutcome::Returned(_)));
    }
}
