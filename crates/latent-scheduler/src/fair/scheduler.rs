//! The scheduler of a node: one queue a class, and the way of an activation through it.
//!
//! Invariant: with an idle cell and nobody ahead, an activation has its cell at its first poll, without a timer and
//! without a wake-up.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use latent_core::{CellClass, ErrorDetail, PlatformError, PlatformErrorCode, StopCause, StopLatch};

use super::ask::Ask;
use super::assignment::{Assignment, Seat, Unentered};
use super::class::{Class, Core, now, wake_contained};
use super::core::{Direct, QueueRules, SchedulerSnapshot};
use super::port::NonqueueingCellPool;
use super::refusal::{Refusal, Unassigned, UnassignedReason};
use super::turns::TurnRules;
use super::waiting::{Ended, Place, Waiting};
use crate::admission::AdmissionPermit;
use crate::cells::CellLease;

/// The most places that a queue may have.
pub const QUEUE_CAPACITY_MAX: usize = 65_536;

/// The longest grace: one second.
pub const CLEANUP_GRACE_MAX: Duration = Duration::from_secs(1);

/// What holds for all classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalSchedulerConfig {
    /// From this wait on an entry goes before all of its tenant that waited less, oldest first, whatever their
    /// priority. Default one second. Zero makes each tenant's entries first come, first served.
    pub starvation_after: Duration,
    /// How long a promised cell waits for its owner, before it goes to the next one; more than zero, at most
    /// [`CLEANUP_GRACE_MAX`]. Default 100 milliseconds. Also how often at least each waiting activation looks.
    pub cleanup_grace: Duration,
}

impl Default for LocalSchedulerConfig {
    fn default() -> Self {
        Self { starvation_after: Duration::from_secs(1), cleanup_grace: Duration::from_millis(100) }
    }
}

/// One class of cells under a scheduler.
#[derive(Clone)]
pub struct ClassQueue {
    /// The class.
    pub class: CellClass,
    /// Its cells. The scheduler is the pool's listener; others may lease from it as well.
    pub pool: Arc<dyn NonqueueingCellPool>,
    /// How many activations may wait, up to [`QUEUE_CAPACITY_MAX`], about 600 bytes each while they do. With 0 the
    /// class is closed: immediate assignments are refused too.
    pub queue_capacity: usize,
    /// How many cells one tenant may have, at least 1. `None`: all but one (at least one) while another tenant
    /// waits or has cells, all otherwise.
    pub tenant_cells_max: Option<usize>,
}

/// Gives cells to admitted activations, fairly (reference, section 5).
///
/// Tenants take turns; within a turn, whoever waited `starvation_after` goes first, then priority, deadline and
/// arrival decide. **Worst wait** of a tenant's first entry: with *g* grants ahead of it, at most one for each
/// other tenant whose turn is earlier, it has its cell after at most ⌈(g + 1) / cells⌉ × the longest run, counting the
/// cells that are not quarantined, as long as its tenant is below its cap.
///
/// A promised cell waits for its owner's next poll for `cleanup_grace`. Then whoever looks next, and somebody does once a
/// grace, passes it on; the owner keeps its place, but is promised nothing until it looks. An owner that is not polled
/// so costs the others at most twice the grace, once.
pub struct LocalScheduler {
    classes: [Option<Arc<Class>>; CellClass::ALL.len()],
    cleanup_grace: Duration,
    shut_down: AtomicBool,
}

impl LocalScheduler {
    /// Makes a scheduler over pools of different classes.
    ///
    /// # Errors
    /// `invalid-argument`, detail `scheduler.invalid-config` with the field, for a setting out of its bounds; the
    /// pool's error if it has a listener.
    pub fn new(
        config: LocalSchedulerConfig,
        queues: impl IntoIterator<Item = ClassQueue>,
    ) -> Result<Self, PlatformError> {
        let LocalSchedulerConfig { starvation_after, cleanup_grace } = config;
        if cleanup_grace.is_zero() || cleanup_grace > CLEANUP_GRACE_MAX {
            return Err(invalid("cleanup_grace", cleanup_grace.as_millis(), "1 to 1000 milliseconds"));
        }
        let mut classes = [const { None }; CellClass::ALL.len()];
        for ClassQueue { class, pool, queue_capacity, tenant_cells_max } in queues {
            let cells = pool.capacity(class);
            let place: &mut Option<Arc<Class>> = &mut classes[class as usize];
            match () {
                () if place.is_some() => return Err(invalid("class", class, "each class at most once")),
                () if cells == 0 => return Err(invalid("pool", "without such cells", "a pool of the class")),
                () if queue_capacity > QUEUE_CAPACITY_MAX => {
                    return Err(invalid("queue_capacity", queue_capacity, "at most 65536"));
                }
                () if tenant_cells_max == Some(0) => return Err(invalid("tenant_cells_max", 0, "at least 1")),
                () => {}
            }
            let turns = TurnRules { starvation_after, cells, tenant_cells_max };
            let made = Class::new(class, Arc::clone(&pool), QueueRules { turns, queue_capacity, cleanup_grace });
            pool.listen(made.listener())?;
            *place = Some(made);
        }
        Ok(Self { classes, cleanup_grace, shut_down: AtomicBool::new(false) })
    }

    /// Waits for a cell of the permit's class. Nothing is asked for before the first poll; dropping the future gives
    /// up the place, or the cell, and then refunds the quota. Only a future that waits needs the runtime's timer.
    ///
    /// # Errors
    /// [`Unassigned`], with the quota: stopped by the latch or the deadline, or refused (`scheduler.limit`).
    pub fn assign<'a>(
        &'a self,
        permit: AdmissionPermit,
        latch: &'a StopLatch,
    ) -> impl Future<Output = Result<Assignment, Unassigned>> + 'a {
        let class = permit.class();
        // A block, because the future of an async function would have room for the permit twice.
        async move {
            let refused = |refusal: Refusal| UnassignedReason::Refused(refusal.into_error(class));
            let Some(queue) = &self.classes[class as usize] else {
                return Err(unassigned(refused(Refusal::UnknownClass), permit));
            };
            if let Some(reason) = self.stopped(class, latch, (now(), permit.deadline())) {
                return Err(unassigned(reason, permit));
            }
            let granted = match direct(queue, Ask::of(&permit)) {
                Ok(granted) => Ok(granted),
                Err(Indirect::Refused(refusal)) => Err(Ended::Refused(refusal)),
                Err(Indirect::Wait(ask)) => {
                    let (deadline, place) = (permit.deadline(), Place::Outside(ask));
                    let cleanup_grace = self.cleanup_grace;
                    let lease = Waiting { class: queue, latch, deadline, cleanup_grace, place, timer: None }.await;
                    lease.map(|lease| (lease, Seat::new(Arc::clone(queue), permit.tenant().clone())))
                }
            };
            match granted {
                Ok((lease, seat)) => self.accept((lease, seat), permit, latch),
                Err(Ended::Stopped(cause)) => Err(unassigned(UnassignedReason::Stopped(cause), permit)),
                Err(Ended::Refused(refusal)) => Err(unassigned(refused(refusal), permit)),
            }
        }
    }

    /// Refuses everybody who waits and everybody who comes; cells in use stay with their holders. Idempotent.
    pub fn shut_down(&self) {
        self.shut_down.store(true, Ordering::SeqCst);
        for class in self.classes.iter().flatten() {
            let waiting = class.decide(Core::shut_down);
            waiting.into_iter().for_each(wake_contained);
        }
    }

    /// The counters of a class, in constant time; `None` for a class that the scheduler does not have.
    #[must_use]
    pub fn snapshot(&self, class: CellClass) -> Option<SchedulerSnapshot> {
        Some(self.classes[class as usize].as_ref()?.decide(|core| core.snapshot()))
    }

    /// How long whoever waits longest has waited, a class, in the order of [`CellClass::ALL`]: what admission asks for.
    #[must_use]
    pub fn observed_delay(&self) -> [Duration; CellClass::ALL.len()] {
        self.classes.each_ref().map(|class| {
            let since = class.as_ref().and_then(|class| class.waiting_since());
            since.map_or(Duration::ZERO, |since| now().saturating_duration_since(since))
        })
    }

    /// Counts every queue out, in time proportional to those who wait.
    ///
    /// # Errors
    /// `internal`, naming the broken rule. That is a defect of the scheduler.
    pub fn audit(&self) -> Result<(), PlatformError> {
        for class in self.classes.iter().flatten() {
            class.decide(|core| core.audit()).map_err(|rule| {
                PlatformError::new(
                    PlatformErrorCode::Internal,
                    format_args!("the scheduler's books are wrong: {rule}; restart the node and report this"),
                )
            })?;
        }
        Ok(())
    }

    /// Takes a cell for an activation: check, turn the permit, check again, hand out.
    fn accept(
        &self,
        (lease, seat): (CellLease, Seat),
        permit: AdmissionPermit,
        latch: &StopLatch,
    ) -> Result<Assignment, Unassigned> {
        let (class, deadline) = (permit.class(), permit.deadline());
        // Dropped in the reverse order: first the seat, then the cell.
        let lease = Unentered::new(lease);
        let seat = seat;
        if let Some(reason) = self.called_off(class, latch) {
            return Err(unassigned(reason, permit));
        }
        let permit = permit.into_running();
        let at = now();
        match self.stopped(class, latch, (at, deadline)) {
            Some(reason) => Err(Unassigned { reason, quota: permit.into_hold() }),
            None => Ok(Assignment::new(seat, lease, permit, at)),
        }
    }

    /// Cancel, then shutdown, then the deadline, then a stopped transport.
    fn stopped(
        &self,
        class: CellClass,
        latch: &StopLatch,
        (at, deadline): (Instant, Instant),
    ) -> Option<UnassignedReason> {
        let called_off = self.called_off(class, latch);
        called_off.or_else(|| latch.checkpoint(at, Some(deadline)).map(UnassignedReason::Stopped))
    }

    /// Cancel, then shutdown.
    fn called_off(&self, class: CellClass, latch: &StopLatch) -> Option<UnassignedReason> {
        if latch.cancel_requested() {
            let cause = latch.checkpoint(now(), None).unwrap_or(StopCause::Cancelled);
            return Some(UnassignedReason::Stopped(cause));
        }
        let shut_down = self.shut_down.load(Ordering::SeqCst);
        shut_down.then(|| UnassignedReason::Refused(Refusal::ShuttingDown.into_error(class)))
    }
}

/// Why an activation does not get a cell by asking for it at once.
enum Indirect {
    Wait(Ask),
    Refused(Refusal),
}

/// Asks the pool at once, if that overtakes nobody.
fn direct(class: &Arc<Class>, ask: Ask) -> Result<(CellLease, Seat), Indirect> {
    match class.decide(|core| core.direct(&ask.tenant)) {
        Direct::Refused(refusal) => return Err(Indirect::Refused(refusal)),
        Direct::Wait => return Err(Indirect::Wait(ask)),
        Direct::Ask => {}
    }
    // Gives the seat up again, also when the pool panics.
    let seat = Seat::new(Arc::clone(class), ask.tenant.clone());
    match class.pool.try_acquire(ask.request(class.size)) {
        Ok(Some(lease)) => Ok((lease, seat)),
        Ok(None) => Err(Indirect::Wait(ask)),
        Err(error) => {
            drop(seat);
            // Somebody else of this tenant may have been passed over for this seat.
            class.dispatch(None);
            Err(Indirect::Refused(class.refusal(error)))
        }
    }
}

fn unassigned(reason: UnassignedReason, permit: AdmissionPermit) -> Unassigned {
    Unassigned { reason, quota: permit.into_hold() }
}

fn invalid(field: &str, found: impl fmt::Display, expected: &str) -> PlatformError {
    let detail = ErrorDetail::new("scheduler.invalid-config");
    let message = format_args!("the scheduler setting {field} is {found}; set {expected}").to_string();
    PlatformError::new(PlatformErrorCode::InvalidArgument, message)
        .with_detail(detail.with("field", field).with("found", found).with("expected", expected))
}

impl fmt::Debug for LocalScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshots = CellClass::ALL.iter().filter_map(|class| Some((class, self.snapshot(*class)?)));
        f.debug_map().entries(snapshots).finish()
    }
}
