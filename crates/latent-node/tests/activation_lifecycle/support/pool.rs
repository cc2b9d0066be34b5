//! The fixed pool behind a script for its dispositions and its attempts, with a probe that is called in the middle of
//! every change.

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};

use futures_util::future::BoxFuture;
use latent_core::{ActivationId, CellClass, PlatformError, TenantId};
use latent_executor::fake::Gate;
use latent_scheduler::fair::NonqueueingCellPool;
use latent_scheduler::{CellLease, CellPool, CellPoolSnapshot, CellRequest, FixedCellPool};

use super::Bomb;

/// What each release and quarantine does.
#[derive(Clone, Default)]
pub enum PoolStep {
    #[default]
    Work,
    /// Opens the first gate, waits until the second is open, then works.
    Gated(Gate, Gate),
    /// The same, and panics instead of working.
    GatedPanic(Gate, Gate),
    /// Pends once and wakes its task, then works.
    YieldOnce,
    Fail(PlatformError),
    PanicOnCall,
    PanicOnPoll,
    /// Never answers; holds the lease.
    Hang,
    /// Never answers; holds the lease; panics when it is dropped.
    PanicOnDrop,
    /// Works, and panics in the destructor of its future afterwards.
    PanicWhenDone,
}

type Probe = Box<dyn Fn(&'static str) + Send + Sync>;

pub struct ScriptedPool {
    pub cells: Arc<FixedCellPool>,
    step: Mutex<PoolStep>,
    panic_in_try_acquire: AtomicBool,
    probe: Arc<Mutex<Option<Probe>>>,
    operations: Mutex<Vec<&'static str>>,
}

impl ScriptedPool {
    pub fn new(cells: FixedCellPool) -> Self {
        Self {
            cells: Arc::new(cells),
            step: Mutex::default(),
            panic_in_try_acquire: AtomicBool::new(false),
            probe: Arc::default(),
            operations: Mutex::default(),
        }
    }

    pub fn set(&self, step: PoolStep) {
        *self.step.lock().unwrap() = step;
    }

    /// Makes each later attempt panic, or work again.
    pub fn set_panic_in_try_acquire(&self, panic: bool) {
        self.panic_in_try_acquire.store(panic, Ordering::SeqCst);
    }

    /// Calls `probe` with `attempt`, `release`, `quarantine`, and with `change` after each change of the cells.
    pub fn set_probe(&self, probe: impl Fn(&'static str) + Send + Sync + 'static) {
        *self.probe.lock().unwrap() = Some(Box::new(probe));
    }

    /// The operations so far but for the attempts.
    pub fn operations(&self) -> Vec<&'static str> {
        self.operations.lock().unwrap().clone()
    }

    /// Begins the list of operations anew.
    pub fn forget_operations(&self) {
        self.operations.lock().unwrap().clear();
    }

    fn begin(&self, operation: &'static str) -> PoolStep {
        self.operations.lock().unwrap().push(operation);
        call(&self.probe, operation);
        let step = self.step.lock().unwrap().clone();
        assert!(!matches!(step, PoolStep::PanicOnCall), "scripted panic");
        step
    }
}

fn call(probe: &Mutex<Option<Probe>>, operation: &'static str) {
    if let Some(probe) = &*probe.lock().unwrap() {
        probe(operation);
    }
}

/// What precedes the work. The bomb goes off when the future is dropped.
async fn before(step: PoolStep) -> Result<Option<Bomb>, PlatformError> {
    match step {
        PoolStep::Work => {}
        PoolStep::Gated(entered, leave) => {
            entered.open();
            leave.passed().await;
        }
        PoolStep::GatedPanic(entered, leave) => {
            entered.open();
            leave.passed().await;
            panic!("scripted panic");
        }
        PoolStep::YieldOnce => {
            let mut polled = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut polled, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
        PoolStep::Fail(error) => return Err(error),
        PoolStep::PanicOnCall | PoolStep::PanicOnPoll => panic!("scripted panic"),
        PoolStep::Hang => pending().await,
        PoolStep::PanicOnDrop => {
            let _bomb = Bomb;
            pending::<()>().await;
        }
        PoolStep::PanicWhenDone => return Ok(Some(Bomb)),
    }
    Ok(None)
}

/// A future that keeps its bomb until it is dropped itself.
async fn work<'a>(
    step: PoolStep,
    lease: CellLease,
    work: impl FnOnce(CellLease) -> BoxFuture<'a, Result<(), PlatformError>>,
    left: &mut Option<Bomb>,
) -> Result<(), PlatformError> {
    *left = before(step).await?;
    work(lease).await
}

/// Drives `inner` and drops `left` only with itself.
struct Lasting<'a> {
    inner: BoxFuture<'a, (Result<(), PlatformError>, Option<Bomb>)>,
    left: Option<Bomb>,
}

impl Future for Lasting<'_> {
    type Output = Result<(), PlatformError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let Poll::Ready((answer, left)) = self.inner.as_mut().poll(cx) else { return Poll::Pending };
        self.left = left;
        Poll::Ready(answer)
    }
}

fn lasting<'a>(
    step: PoolStep,
    lease: CellLease,
    end: impl FnOnce(CellLease) -> BoxFuture<'a, Result<(), PlatformError>> + Send + 'a,
) -> BoxFuture<'a, Result<(), PlatformError>> {
    let inner = Box::pin(async move {
        let mut left = None;
        let answer = work(step, lease, end, &mut left).await;
        (answer, left)
    });
    Box::pin(Lasting { inner, left: None })
}

impl CellPool for ScriptedPool {
    fn acquire(&self, request: CellRequest) -> BoxFuture<'_, Result<CellLease, PlatformError>> {
        self.cells.acquire(request)
    }

    fn release(&self, lease: CellLease) -> BoxFuture<'_, Result<(), PlatformError>> {
        let step = self.begin("release");
        lasting(step, lease, |lease| self.cells.release(lease))
    }

    fn capacity(&self, class: CellClass) -> usize {
        self.cells.capacity(class)
    }

    fn available(&self, class: CellClass) -> usize {
        self.cells.available(class)
    }

    fn cancel_waiting<'a>(
        &'a self,
        tenant: &'a TenantId,
        activation_id: &'a ActivationId,
    ) -> BoxFuture<'a, Result<bool, PlatformError>> {
        self.cells.cancel_waiting(tenant, activation_id)
    }

    fn quarantine<'a>(&'a self, lease: CellLease, reason: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        let step = self.begin("quarantine");
        lasting(step, lease, move |lease| self.cells.quarantine(lease, reason))
    }

    fn observations(&self, class: CellClass) -> CellPoolSnapshot {
        self.cells.observations(class)
    }
}

impl NonqueueingCellPool for ScriptedPool {
    fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError> {
        call(&self.probe, "attempt");
        assert!(!self.panic_in_try_acquire.load(Ordering::SeqCst), "scripted panic");
        self.cells.try_acquire(request)
    }

    fn listen(&self, listener: Waker) -> Result<(), PlatformError> {
        let probed = Probed { listener, probe: Arc::clone(&self.probe) };
        self.cells.listen(Waker::from(Arc::new(probed)))
    }
}

/// The scheduler's listener, after the probe.
struct Probed {
    listener: Waker,
    probe: Arc<Mutex<Option<Probe>>>,
}

impl Wake for Probed {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        call(&self.probe, "change");
        self.listener.wake_by_ref();
    }
}
