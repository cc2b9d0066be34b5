//! An admission, a scheduler and their pools, with everything allowed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use latent_core::{
    ActivationId, AdmissionPolicy, BudgetCeilings, CellClass, Principal, PrincipalKind, ServiceName, StopLatch,
    TenantId, Threading,
};
use latent_scheduler::admission::{
    Admission, AdmissionConfig, AdmissionPermit, AdmissionRequest, ClassOffer, ClockSample, Conditions, QueueClass,
    Quota, QuotaLedger,
};
use latent_scheduler::fair::{
    Assignment, ClassQueue, LocalScheduler, LocalSchedulerConfig, NonqueueingCellPool, Unassigned,
};
use latent_scheduler::{CellPool, FixedCellPool};

use crate::support::{CLASS, pool};

pub type Assigning<'a> = Pin<Box<dyn Future<Output = Result<Assignment, Unassigned>> + Send + 'a>>;

/// One class of cells with all that leads to it.
pub struct House {
    pub admission: Admission,
    pub pool: Arc<FixedCellPool>,
    pub scheduler: LocalScheduler,
}

/// What an activation of the tests asks for.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub tenant: &'a str,
    pub id: &'a str,
    pub priority: u8,
    pub wall_limit: Duration,
}

pub fn ask<'a>(tenant: &'a str, id: &'a str) -> Ask<'a> {
    Ask { tenant, id, priority: 0, wall_limit: Duration::from_hours(1) }
}

pub fn offer(class: CellClass, cells: usize) -> ClassOffer {
    ClassOffer {
        class,
        cells: cells as u64,
        memory_bytes: 64 << 20,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    }
}

pub fn queue(pool: Arc<dyn NonqueueingCellPool>, class: CellClass, queue_capacity: usize) -> ClassQueue {
    ClassQueue { class, pool, queue_capacity, tenant_cells_max: None }
}

pub fn admission(offers: Vec<ClassOffer>) -> Admission {
    let mut config = AdmissionConfig::open(offers, 10_000);
    config.ceilings.wall_limit = Duration::from_hours(24);
    Admission::new(Arc::new(QuotaLedger::new()), config).unwrap()
}

pub fn house(cells: usize, queue_capacity: usize) -> House {
    let pool = Arc::new(pool(cells, 0));
    let queues = [queue(pool.clone(), CLASS, queue_capacity)];
    let scheduler = LocalScheduler::new(LocalSchedulerConfig::default(), queues).unwrap();
    House { admission: admission(vec![offer(CLASS, cells)]), pool, scheduler }
}

#[expect(clippy::disallowed_methods, reason = "the shell of the tests reads the clock that their timers use")]
pub fn clock() -> ClockSample {
    ClockSample { monotonic: tokio::time::Instant::now().into_std(), wall: SystemTime::now() }
}

/// Admits an activation.
pub fn admit(admission: &Admission, ask: Ask<'_>) -> AdmissionPermit {
    let tenant = TenantId::new(ask.tenant).unwrap();
    let subject = ServiceName::new("caller").unwrap();
    let request = AdmissionRequest {
        activation_id: &ActivationId::new(ask.id).unwrap(),
        tenant: &tenant,
        principal: &Principal { tenant: tenant.clone(), subject, kind: PrincipalKind::User },
        policy: Some(&AdmissionPolicy::default()),
        budget: BudgetCeilings::default(),
        payload_bytes: 0,
        priority: ask.priority,
        queue_class: QueueClass::Standard,
        deadline: None,
        transport: None,
    };
    let request =
        AdmissionRequest { budget: BudgetCeilings { wall_limit: Some(ask.wall_limit), ..request.budget }, ..request };
    let conditions = Conditions { clock: clock(), pressure: None, observed_delay: [Duration::ZERO; 5] };
    admission.admit(&request, &conditions).unwrap()
}

impl House {
    pub fn admit(&self, ask: Ask<'_>) -> AdmissionPermit {
        admit(&self.admission, ask)
    }

    /// An assignment that has not been polled.
    pub fn assign<'a>(&'a self, ask: Ask<'_>, latch: &'a StopLatch) -> Assigning<'a> {
        Box::pin(self.scheduler.assign(self.admit(ask), latch))
    }

    /// An assignment that is there at the first poll.
    #[track_caller]
    pub fn assigned(&self, ask: Ask<'_>) -> Assignment {
        let latch = StopLatch::new();
        ready(&mut self.assign(ask, &latch)).unwrap()
    }

    /// Counts all books out and asserts cells that are idle, quarantined, entries that wait, and live quota.
    #[track_caller]
    pub fn assert_counts(&self, [available, quarantined, queued, live]: [usize; 4]) {
        self.scheduler.audit().unwrap();
        let cells = self.pool.audit().unwrap();
        let usage = self.admission.ledger().audit().unwrap();
        let queue = self.scheduler.snapshot(CLASS).unwrap();
        assert_eq!([cells.available, cells.quarantined, queue.queued], [available, quarantined, queued]);
        assert_eq!(usage.live(), live as u64);
    }

    /// Asserts that nothing is left of anything but cells.
    #[track_caller]
    pub fn assert_idle(&self) {
        self.assert_counts([self.pool.capacity(CLASS), 0, 0, 0]);
    }
}

/// Polls once with a waker that does nothing.
pub fn poll<T>(future: &mut Pin<Box<dyn Future<Output = T> + Send + '_>>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls once and expects an answer.
#[track_caller]
pub fn ready<T>(future: &mut Pin<Box<dyn Future<Output = T> + Send + '_>>) -> T {
    match poll(future) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the future is not ready"),
    }
}

/// Polls once and expects to wait.
#[track_caller]
pub fn waits<T>(future: &mut Pin<Box<dyn Future<Output = T> + Send + '_>>) {
    assert!(poll(future).is_pending(), "the future is ready where it should wait");
}
