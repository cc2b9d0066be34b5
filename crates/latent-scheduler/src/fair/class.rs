//! One class of cells: its pool, and the decisions behind one short lock.
//!
//! Invariant: under the lock only the core runs. The pool is asked, leases go back, and wakers are woken and
//! dropped outside of it. Whoever changes something drives the dispatch; there is no task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Instant;

use latent_core::{CellClass, TenantId};

#[cfg(latent_loom)]
use loom::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};
#[cfg(not(latent_loom))]
use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use super::ask::Ticket;
use super::core::{FairCore, QueueRules, Step, Withdrawn};
use super::port::NonqueueingCellPool;
use super::refusal::Refusal;
use crate::cells::CellLease;

pub(super) type Core = FairCore<Waker, CellLease>;

/// One class, shared by the scheduler, those who wait and those who run.
pub(super) struct Class {
    pub(super) size: CellClass,
    pub(super) pool: Arc<dyn NonqueueingCellPool>,
    core: Mutex<Core>,
    /// Whether the core has entries. Written under its lock; read without it by those who have nothing to do where there
    /// are none, so that they do not take the lock from those who have.
    occupied: AtomicBool,
}

impl Class {
    pub(super) fn new(size: CellClass, pool: Arc<dyn NonqueueingCellPool>, rules: QueueRules) -> Arc<Self> {
        Arc::new(Self { size, pool, core: Mutex::new(FairCore::new(rules)), occupied: AtomicBool::new(false) })
    }

    /// Makes one decision under the lock. What it hands out is used and dropped after the lock is let go.
    pub(super) fn decide<R>(&self, decision: impl FnOnce(&mut Core) -> R) -> R {
        // The core does not panic halfway, so its state is sound even after a panic elsewhere in a holder.
        let mut core = self.core.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let decided = decision(&mut core);
        let occupied = core.is_occupied();
        if self.occupied.load(Ordering::Relaxed) != occupied {
            self.occupied.store(occupied, Ordering::Release);
        }
        decided
    }

    /// Whether somebody waits, or has a promised cell. Whoever enqueues asks the pool afterwards, and whoever brings a
    /// cell back looks here afterwards: the pool's own lock puts the two in order, so that one of them finds the other.
    fn is_occupied(&self) -> bool {
        self.occupied.load(Ordering::Acquire)
    }

    /// Since when whoever waits longest has waited.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        if self.is_occupied() { self.decide(|core| core.waiting_since()) } else { None }
    }

    /// What the pool's changes wake.
    pub(super) fn listener(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::new(Listener(Arc::downgrade(self))))
    }

    /// Promises idle cells to those whose turn it is, until there are none or nobody waits. `true`: `own` may have
    /// got an answer; it is not woken, because it looks itself.
    ///
    /// One dispatcher works at a time, and each of its rounds grants, takes back, fails or ends; what others change
    /// meanwhile is one round more.
    pub(super) fn dispatch(&self, own: Option<Ticket>) -> bool {
        if !self.is_occupied() || !self.decide(FairCore::begin) {
            return false;
        }
        let unfinished = BreakOff(self);
        let mut answered = false;
        loop {
            let now = now();
            match self.decide(|core| core.step(now)) {
                Step::Done => break,
                Step::TakeBack(lease) => lease.return_unaccepted(),
                Step::Ask(ticket, ask) => match self.pool.try_acquire(ask.request(self.size)) {
                    Ok(Some(lease)) => match self.decide(|core| core.grant(now, ticket, lease)) {
                        Ok(wake) if own == Some(ticket) => {
                            answered = true;
                            drop(wake);
                        }
                        Ok(wake) => wake.into_iter().for_each(wake_contained),
                        Err(lease) => lease.return_unaccepted(),
                    },
                    Ok(None) if self.decide(FairCore::no_cell) => break,
                    Ok(None) => {}
                    Err(error) => {
                        answered = true;
                        self.fail(ticket, self.refusal(error)).into_iter().for_each(wake_contained);
                    }
                },
            }
        }
        std::mem::forget(unfinished);
        answered
    }

    /// What an error of the pool means to those who wait.
    pub(super) fn refusal(&self, error: latent_core::PlatformError) -> Refusal {
        let pool = self.pool.observations(self.size);
        if pool.quarantined >= pool.capacity { Refusal::AllQuarantined } else { Refusal::Pool(error) }
    }

    /// Ends an entry and returns what was promised to it.
    pub(super) fn withdraw(&self, ticket: Ticket) {
        let Withdrawn { lease, wake } = self.decide(|core| core.withdraw(ticket));
        drop(wake);
        // Without a promise nothing changes for others: a tenant that only waits is below its cap, so that this
        // one waited because no cell was idle.
        if let Some(lease) = lease {
            lease.return_unaccepted();
        }
    }

    /// The tenant runs in one cell less.
    pub(super) fn finish(&self, tenant: &TenantId) {
        self.decide(|core| core.finish(tenant));
    }

    fn fail(&self, ticket: Ticket, refusal: Refusal) -> Vec<Waker> {
        self.decide(|core| match refusal {
            Refusal::AllQuarantined => core.fail_all(&refusal),
            refusal => core.fail(ticket, refusal).into_iter().collect(),
        })
    }
}

#[cfg(debug_assertions)]
impl Drop for Class {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.decide(|core| assert_eq!(core.audit().map(drop), Ok(()), "the books are right to the end"));
        }
    }
}

/// The monotonic time of the runtime whose timers the waits use, so that tests turn both together.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Wakes one of those who wait. A waker that panics must not cost whoever drives the dispatch, or is woken after it: its
/// owner looks again when it is polled.
pub(super) fn wake_contained(waker: Waker) {
    let woken = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    drop(woken);
}

/// Lets the next dispatcher in when one panics in a pool.
struct BreakOff<'a>(&'a Class);

impl Drop for BreakOff<'_> {
    fn drop(&mut self) {
        self.0.decide(FairCore::break_off);
    }
}

/// Drives the dispatch when the pool changes, for as long as the class lives.
struct Listener(Weak<Class>);

impl Wake for Listener {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(class) = self.0.upgrade() else { return };
        // A pool that panics here must not cost whoever brings a cell back its release: those who wait look again by
        // themselves, at the latest after the grace.
        let dispatched = catch_unwind(AssertUnwindSafe(|| class.dispatch(None)));
        drop(dispatched);
    }
}
