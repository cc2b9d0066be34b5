//! A runner with everything around it that a test wants to see or to turn.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use latent_activation::ActivationEnvelope;
use latent_core::principal::PrincipalKind;
use latent_core::{
    ActivationId, ActivationOutcome, CellClass, FunctionTarget, ManualWallClock, NodeId, Payload, PlatformError,
    PlatformErrorCode, Principal, ResourceBudget, ServiceName, TenantId, TerminalState, WallClock,
};
use latent_executor::{ComponentArtifact, ExecutionBackend};
use latent_node::{ActivationReport, ActivationRunnerSnapshot, Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{CellLease, CellPool, CellPoolSnapshot, CellRequest, FixedCellPool, FixedCellPoolConfig};

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, event: impl Into<String>) {
        self.0.lock().unwrap().push(event.into());
    }

    pub fn events(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Logs unless disarmed in time.
pub struct LogOnDrop(Log, Option<&'static str>);

impl LogOnDrop {
    pub fn new(log: &Log, event: &'static str) -> Self {
        Self(log.clone(), Some(event))
    }

    pub fn disarm(mut self) {
        self.1 = None;
    }
}

impl Drop for LogOnDrop {
    fn drop(&mut self) {
        self.1.into_iter().for_each(|event| self.0.add(event));
    }
}

/// Something to do in the middle of a pool's operation.
pub type Hook = Box<dyn Fn(Arc<Phase0ActivationRunner>) -> BoxFuture<'static, ()> + Send + Sync>;

pub fn hook<F: Future<Output = ()> + Send + 'static>(
    step: impl Fn(Arc<Phase0ActivationRunner>) -> F + Send + Sync + 'static,
) -> Hook {
    Box::new(move |runner| Box::pin(step(runner)))
}

/// What a test changes about the pool.
#[derive(Default)]
pub struct Hooks {
    pub before_acquire: Option<Hook>,
    pub after_grant: Option<Hook>,
    pub before_disposition: Option<Hook>,
    pub refuse_dispositions: Option<PlatformError>,
    pub refuse_withdrawals: bool,
}

/// A pool that logs each operation and does what its hooks say.
pub struct Watched {
    pub inner: Arc<dyn CellPool>,
    pub hooks: Hooks,
    pub log: Log,
    pub runner: OnceLock<Weak<Phase0ActivationRunner>>,
}

impl Watched {
    async fn run(&self, step: Option<&Hook>) {
        if let Some(step) = step {
            let runner = self.runner.get().and_then(Weak::upgrade).expect("the runner outlives its runs");
            step(runner).await;
        }
    }

    fn refusal(&self) -> Result<(), PlatformError> {
        self.hooks.refuse_dispositions.clone().map_or(Ok(()), Err)
    }
}

impl CellPool for Watched {
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        Box::pin(async move {
            self.log.add("acquire");
            let unfinished = LogOnDrop::new(&self.log, "acquisition dropped");
            self.run(self.hooks.before_acquire.as_ref()).await;
            let answer = self.inner.acquire(request).await;
            self.run(self.hooks.after_grant.as_ref()).await;
            unfinished.disarm();
            self.log.add(if answer.is_ok() { "granted" } else { "refused" });
            answer
        })
    }

    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        Box::pin(async move {
            self.log.add("release");
            self.run(self.hooks.before_disposition.as_ref()).await;
            self.refusal()?;
            self.inner.release(lease).await
        })
    }

    fn capacity(&self, class: CellClass) -> usize {
        self.inner.capacity(class)
    }

    fn available(&self, class: CellClass) -> usize {
        self.inner.available(class)
    }

    fn cancel_waiting<'a>(
        &'a self,
        tenant: &'a TenantId,
        activation_id: &'a ActivationId,
    ) -> BoxFuture<'a, Result<bool, PlatformError>> {
        Box::pin(async move {
            self.log.add("cancel waiting");
            if self.hooks.refuse_withdrawals {
                return Err(PlatformError::new(PlatformErrorCode::Unavailable, "not offered"));
            }
            self.inner.cancel_waiting(tenant, activation_id).await
        })
    }

    fn quarantine<'a>(&'a self, lease: CellLease, reason: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        Box::pin(async move {
            self.log.add(format!("quarantine: {reason}"));
            self.run(self.hooks.before_disposition.as_ref()).await;
            self.refusal()?;
            self.inner.quarantine(lease, reason).await
        })
    }

    fn observations(&self, class: CellClass) -> CellPoolSnapshot {
        self.inner.observations(class)
    }
}

/// A runner over a watched fixed pool.
pub struct Bench {
    pub runner: Arc<Phase0ActivationRunner>,
    pub cells: Arc<FixedCellPool>,
    pub clock: Arc<ManualWallClock>,
    pub log: Log,
}

/// How to build a bench. The pool has `cells` cells and as many places in its queue as `queue`.
pub struct Setup {
    pub cells: usize,
    pub queue: usize,
    pub registrations_max: usize,
    pub hooks: Hooks,
    pub log: Log,
}

impl Default for Setup {
    fn default() -> Self {
        Self { cells: 1, queue: 64, registrations_max: 64, hooks: Hooks::default(), log: Log::default() }
    }
}

impl Setup {
    pub fn hooked(hooks: Hooks) -> Self {
        Self { hooks, ..Self::default() }
    }

    pub fn over(self, backend: impl ExecutionBackend + 'static) -> Bench {
        let clock = Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)));
        let config = FixedCellPoolConfig {
            node: NodeId::new("node").unwrap(),
            class: CellClass::Standard,
            capacity: self.cells,
            queue_capacity: self.queue,
        };
        let cells = Arc::new(FixedCellPool::new(config, clock.clone()).unwrap());
        let log = self.log;
        let runner = watch(cells.clone(), self.hooks, &log, backend, clock.clone(), self.registrations_max);
        Bench { runner, cells, clock, log }
    }
}

/// A runner over `inner`, watched.
pub fn watch(
    inner: Arc<dyn CellPool>,
    hooks: Hooks,
    log: &Log,
    backend: impl ExecutionBackend + 'static,
    clock: Arc<dyn WallClock>,
    registrations_max: usize,
) -> Arc<Phase0ActivationRunner> {
    let pool = Arc::new(Watched { inner, hooks, log: log.clone(), runner: OnceLock::new() });
    let config = Phase0ActivationRunnerConfig { registrations_max, class: CellClass::Standard };
    let runner = Arc::new(Phase0ActivationRunner::new(pool.clone(), Arc::new(backend), clock, config));
    assert!(pool.runner.set(Arc::downgrade(&runner)).is_ok());
    runner
}

impl Bench {
    /// Runs `function` as activation `id` of tenant `t` without a deadline.
    pub async fn run(&self, id: &str, function: &str) -> ActivationReport {
        self.runner.run(envelope(id, function), artifact()).await
    }

    /// The same in a task of its own.
    pub fn spawn(&self, envelope: ActivationEnvelope) -> tokio::task::JoinHandle<ActivationReport> {
        let runner = self.runner.clone();
        tokio::spawn(async move { runner.run(envelope, artifact()).await })
    }

    /// An envelope with a deadline in `left`.
    pub fn due(&self, id: &str, function: &str, left: Duration) -> ActivationEnvelope {
        ActivationEnvelope { deadline: Some(self.clock.now() + left), ..envelope(id, function) }
    }

    pub fn cancel(&self, id: &str) -> latent_activation::CancelDisposition {
        self.runner.cancel(&tenant("t"), &activation(id), "test")
    }

    /// Lets wall time and the runtime's paused time pass together.
    pub async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        tokio::time::advance(time).await;
    }

    pub fn observations(&self) -> CellPoolSnapshot {
        self.cells.observations(CellClass::Standard)
    }

    /// Nothing is under way, the pool is exact and `quarantined` cells are out of reuse.
    #[track_caller]
    pub fn assert_settled(&self, quarantined: usize) {
        let ActivationRunnerSnapshot { registrations, waiting, running_invocations, .. } = self.runner.snapshot();
        assert_eq!((registrations, waiting, running_invocations), (0, 0, 0));
        let cells = self.cells.audit().unwrap();
        assert_eq!((cells.active_leases, cells.queue_depth, cells.quarantined), (0, 0, quarantined));
        assert_eq!(cells.available + cells.quarantined, cells.capacity);
    }
}

pub fn tenant(text: &str) -> TenantId {
    TenantId::new(text).unwrap()
}

pub fn activation(text: &str) -> ActivationId {
    ActivationId::new(text).unwrap()
}

pub fn artifact() -> ComponentArtifact {
    ComponentArtifact::new(&b"component"[..])
}

pub fn envelope(id: &str, function: &str) -> ActivationEnvelope {
    ActivationEnvelope {
        activation_id: activation(id),
        principal: Principal {
            tenant: tenant("t"),
            subject: ServiceName::new("caller").unwrap(),
            kind: PrincipalKind::User,
        },
        target: FunctionTarget { contract: "test:it/api".into(), function: function.into() },
        payload: Payload::json("[\"hi\"]"),
        budget: ResourceBudget::default(),
        deadline: None,
        trace_parent: None,
        metadata: Vec::new(),
    }
}

#[track_caller]
pub fn error(report: &ActivationReport) -> (TerminalState, &PlatformError) {
    match &report.outcome {
        ActivationOutcome::Failed { terminal_state, error } => (*terminal_state, error),
        other => panic!("expected a failure, got {other:?}"),
    }
}

pub fn cancelled() -> ActivationOutcome {
    ActivationOutcome::Failed { terminal_state: TerminalState::Cancelled, error: PlatformError::cancelled() }
}

pub fn deadline_exceeded() -> ActivationOutcome {
    let error = PlatformError::deadline_exceeded();
    ActivationOutcome::Failed { terminal_state: TerminalState::DeadlineExceeded, error }
}

pub fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Is ready at the poll after `times` others.
pub async fn yields(times: usize) {
    let mut left = times;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
