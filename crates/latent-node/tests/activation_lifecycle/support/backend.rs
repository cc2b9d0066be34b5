//! The fake backend with a record of what it was asked, and with the few behaviours that it has no script for.

use std::any::Any;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use latent_core::{BudgetLedger, ExecutionOutcome, PlatformError, Sha256Digest, StopCause};
use latent_executor::fake::{FakeBackend, FakeStep};
use latent_executor::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCancellation, ExecutionCleanup, ExecutionReport,
    ExecutionRequest, OwnedRepository, PreparationKey, PreparedActivation, PreparedReadiness, RuntimeResourceSnapshot,
};
use tokio::time::Instant;

use super::Bomb;

/// Which destructors panic.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bombs {
    /// The future of a preparation, once it has answered.
    pub preparation: bool,
    /// The pin of a readiness.
    pub readiness: bool,
    /// The future of a run, once it has answered.
    pub run: bool,
}

type Hook = Box<dyn Fn() + Send + Sync>;

pub struct ScriptedBackend {
    pub fake: FakeBackend,
    bombs: Mutex<Bombs>,
    /// How long `acknowledge` takes from a stop to its proof.
    acknowledge_after: Mutex<Duration>,
    /// Called in the middle of each materialization.
    on_materialize: Mutex<Option<Hook>>,
    /// Called by `look` after each look that saw no stop.
    on_look: Mutex<Option<Hook>>,
    seen: Mutex<Vec<(ExecutionRequest, Sha256Digest, Arc<BudgetLedger>)>>,
    /// Keys that code was prepared for, oldest first, by the address of the code.
    prepared: Mutex<Vec<(usize, Sha256Digest)>>,
}

impl ScriptedBackend {
    /// `f` does `step`.
    pub fn new(step: FakeStep) -> Self {
        Self {
            fake: FakeBackend::new().with("f", step).with("echo", FakeStep::Echo),
            bombs: Mutex::default(),
            acknowledge_after: Mutex::default(),
            on_materialize: Mutex::default(),
            on_look: Mutex::default(),
            seen: Mutex::default(),
            prepared: Mutex::default(),
        }
    }

    pub fn set_bombs(&self, bombs: Bombs) {
        *self.bombs.lock().unwrap() = bombs;
    }

    pub fn set_acknowledge_after(&self, time: Duration) {
        *self.acknowledge_after.lock().unwrap() = time;
    }

    pub fn set_on_materialize(&self, hook: impl Fn() + Send + Sync + 'static) {
        *self.on_materialize.lock().unwrap() = Some(Box::new(hook));
    }

    pub fn set_on_look(&self, hook: impl Fn() + Send + Sync + 'static) {
        *self.on_look.lock().unwrap() = Some(Box::new(hook));
    }

    /// The requests that were to be run, oldest first.
    pub fn requests(&self) -> Vec<ExecutionRequest> {
        self.seen.lock().unwrap().iter().map(|(request, ..)| request.clone()).collect()
    }

    /// The components on which they ran.
    pub fn releases(&self) -> Vec<Sha256Digest> {
        self.seen.lock().unwrap().iter().map(|(_, release, _)| *release).collect()
    }

    /// The accounts that they charged.
    pub fn ledgers(&self) -> Vec<Arc<BudgetLedger>> {
        self.seen.lock().unwrap().iter().map(|(.., ledger)| Arc::clone(ledger)).collect()
    }

    /// Looks for a stop whenever it is polled, and leaves it to its owner to be polled.
    async fn look(&self, prepared: PreparedActivation, cancellation: ExecutionCancellation) -> ContainedExecution {
        poll_fn(|_cx| {
            if cancellation.checkpoint(Instant::now().into_std()).is_some() {
                return Poll::Ready(());
            }
            if let Some(hook) = &*self.on_look.lock().unwrap() {
                hook();
            }
            Poll::Pending
        })
        .await;
        drop(prepared);
        ContainedExecution::ended_early(&cancellation, ExecutionOutcome::Cancelled)
    }

    fn release_of(&self, prepared: &PreparedActivation) -> Sha256Digest {
        let code = Arc::as_ptr(prepared.prepared_use().code()).addr();
        let known = self.prepared.lock().unwrap();
        known.iter().rev().find(|(address, _)| *address == code).expect("it was prepared here").1
    }
}

impl ExecutionBackend for ScriptedBackend {
    fn invoke(&self, artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        self.fake.invoke(artifact, request)
    }

    fn preparation_key(&self, digest: Sha256Digest) -> PreparationKey {
        self.fake.preparation_key(digest)
    }

    fn prepare_ready_from_repository(
        &self,
        repository: OwnedRepository,
        key: PreparationKey,
    ) -> BoxFuture<'_, Result<PreparedReadiness, PlatformError>> {
        let bombs = *self.bombs.lock().unwrap();
        let preparing = self.fake.prepare_ready_from_repository(repository, key);
        let noted = Box::pin(async move {
            let ready = preparing.await?;
            self.prepared.lock().unwrap().push((Arc::as_ptr(ready.code()).addr(), key.digest()));
            let code = Arc::clone(ready.code());
            let bomb = bombs.readiness.then(|| Bomb);
            let pin: Box<dyn Any + Send> = Box::new((ready, bomb));
            Ok(PreparedReadiness::new(code, pin))
        });
        lasting(noted, bombs.preparation)
    }

    fn materialize_ready(&self, ready: PreparedReadiness) -> Result<PreparedActivation, PlatformError> {
        if let Some(hook) = &*self.on_materialize.lock().unwrap() {
            hook();
        }
        self.fake.materialize_ready(ready)
    }

    fn invoke_prepared_contained(
        &self,
        prepared: PreparedActivation,
        request: ExecutionRequest,
        cancellation: ExecutionCancellation,
    ) -> BoxFuture<'_, ContainedExecution> {
        let release = self.release_of(&prepared);
        let ledger = Arc::clone(cancellation.budget_accounting());
        self.seen.lock().unwrap().push((request.clone(), release, ledger));
        let bomb = self.bombs.lock().unwrap().run;
        let after = *self.acknowledge_after.lock().unwrap();
        match &*request.target.function {
            "acknowledge" => lasting(Box::pin(acknowledge(prepared, cancellation, after)), bomb),
            "look" => lasting(Box::pin(self.look(prepared, cancellation)), bomb),
            "sleep" => lasting(Box::pin(sleep(prepared, request, cancellation)), bomb),
            _ => lasting(self.fake.invoke_prepared_contained(prepared, request, cancellation), bomb),
        }
    }

    fn resources(&self) -> RuntimeResourceSnapshot {
        self.fake.resources()
    }
}

/// Runs until it is stopped, and proves its cleanup `after` that.
async fn acknowledge(
    prepared: PreparedActivation,
    cancellation: ExecutionCancellation,
    after: Duration,
) -> ContainedExecution {
    let cause = poll_fn(|cx| {
        cancellation.probe().register(cx.waker());
        let seen = cancellation.checkpoint(Instant::now().into_std());
        seen.map_or(Poll::Pending, Poll::Ready)
    })
    .await;
    tokio::time::sleep(after).await;
    drop(prepared);
    let outcome = match cause {
        StopCause::Cancelled => ExecutionOutcome::Cancelled,
        StopCause::DeadlineExceeded => ExecutionOutcome::DeadlineExceeded,
        StopCause::TransportStopped => ExecutionOutcome::TransportStopped,
    };
    let report = ExecutionReport { outcome, consumption: cancellation.budget_accounting().consumption() };
    ContainedExecution { report, cleanup: ExecutionCleanup::Reusable }
}

/// Sleeps for as many milliseconds as the payload says, whatever the cancellation says.
async fn sleep(
    prepared: PreparedActivation,
    request: ExecutionRequest,
    cancellation: ExecutionCancellation,
) -> ContainedExecution {
    let millis = std::str::from_utf8(&request.payload.bytes).unwrap().parse().unwrap();
    tokio::time::sleep(Duration::from_millis(millis)).await;
    drop(prepared);
    ContainedExecution::ended_early(&cancellation, ExecutionOutcome::Returned(request.payload))
}

/// `inner`, with a destructor that panics if it is `armed` and `inner` has answered.
fn lasting<'a, T: Send + 'a>(inner: BoxFuture<'a, T>, armed: bool) -> BoxFuture<'a, T> {
    if armed { Box::pin(Lasting { inner, bomb: None }) } else { inner }
}

struct Lasting<'a, T> {
    inner: BoxFuture<'a, T>,
    bomb: Option<Bomb>,
}

impl<T> Future for Lasting<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Poll::Ready(answer) = self.inner.as_mut().poll(cx) else { return Poll::Pending };
        self.bomb = Some(Bomb);
        Poll::Ready(answer)
    }
}
