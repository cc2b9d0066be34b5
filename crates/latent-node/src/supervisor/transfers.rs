//! Where activations without a transport pass from whoever polled them to the driver: places, the queue, whom to wake.
//!
//! Invariant: what was accepted is queued, with the driver, or has ended; with the places reserved for more it is never
//! beyond the bound. One short lock, under which nothing is woken, polled, or dropped that could call back.

use std::fmt;
use std::mem;
use std::task::Waker;

#[cfg(latent_loom)]
use loom::sync::Mutex;
#[cfg(not(latent_loom))]
use std::sync::Mutex;
use std::sync::PoisonError;

/// The counters of a supervisor, taken in constant time at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanupSupervisorSnapshot {
    /// How many slots there are.
    pub continuations_max: usize,
    /// Slots that are set aside for activations whose transport is still there.
    pub reserved: usize,
    /// Slots of activations that are being cleaned up.
    pub continuing: usize,
    /// Continuations that ended within their cap, so far.
    pub ended: u64,
    /// Continuations that were given up, so far: their cap was over, or there was no driver any more.
    pub overruns: u64,
    /// No slot is given any more.
    pub closed: bool,
    /// The driver is there. Without it whatever loses its transport is an overrun at once.
    pub driven: bool,
}

/// A counter of a supervisor that contradicts another. That is a defect of the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanupDiscrepancy {
    /// More slots are in use than there are.
    BeyondMax,
    /// What was transferred is not what ended, was given up, or goes on.
    Unaccounted,
    /// Something waits for a driver that is gone.
    Stranded,
}

impl fmt::Display for CleanupDiscrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeyondMax => "more cleanup slots are in use than there are",
            Self::Unaccounted => "cleanups that were transferred are neither under way nor over",
            Self::Stranded => "a cleanup waits for a driver that is gone",
        })
    }
}

impl std::error::Error for CleanupDiscrepancy {}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Exhausted,
    Closed,
}

/// How a continuation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    InTime,
    Overrun,
}

/// What the driver finds when it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    /// There may be more.
    Open,
    /// Closed, and nothing is reserved, queued or under way: nothing can come any more.
    Over,
}

/// Where whoever loses a transport and the one driver meet.
pub(super) struct Transfers<T> {
    continuations_max: usize,
    state: Mutex<State<T>>,
}

impl<T> Transfers<T> {
    pub(super) fn new(continuations_max: usize) -> Self {
        Self { continuations_max, state: Mutex::new(State::new()) }
    }

    /// Sets one place aside.
    pub(super) fn reserve(&self) -> Result<(), Refused> {
        let max = self.continuations_max;
        self.decide(|state| state.reserve(max))
    }

    /// Gives a place back that was not used.
    pub(super) fn give_back(&self) {
        self.decide(|state| state.reserved -= 1);
    }

    /// Uses a place for `continuation`. An error hands it back: there is no driver, and its place is still to be
    /// [settled](Self::settle).
    pub(super) fn transfer(&self, continuation: T) -> Result<(), T> {
        self.decide(|state| state.transfer(continuation))
    }

    /// Moves what is queued into `batch`, which has to be empty, and has `waker` woken when there is more to see.
    pub(super) fn look(&self, waker: &Waker, batch: &mut Vec<T>) -> Outlook {
        debug_assert!(batch.is_empty(), "the driver takes over what it was given before it looks again");
        let mut waker = Some(waker.clone());
        // The waker of the look before comes back in it, to be dropped outside the lock.
        self.decide(|state| state.look(&mut waker, batch))
    }

    /// Frees the place of a continuation that the driver took, or that nobody takes any more.
    pub(super) fn settle(&self, went: Went) {
        self.decide(|state| state.settle(went));
    }

    /// Sets no place aside any more.
    pub(super) fn close(&self) {
        self.decide(|state| state.closed = true);
    }

    /// The driver is gone. What is queued comes back, to be settled by whoever drops it.
    pub(super) fn abandon(&self) -> Vec<T> {
        let (queued, waker) = self.decide(State::abandon);
        drop(waker);
        queued
    }

    pub(super) fn snapshot(&self) -> CleanupSupervisorSnapshot {
        let continuations_max = self.continuations_max;
        self.decide(|state| state.snapshot(continuations_max))
    }

    pub(super) fn audit(&self) -> Result<CleanupSupervisorSnapshot, CleanupDiscrepancy> {
        let continuations_max = self.continuations_max;
        self.decide(|state| state.audit(continuations_max))
    }

    /// Changes the state under the lock, then wakes the driver if that gave it something to see.
    fn decide<R>(&self, change: impl FnOnce(&mut State<T>) -> R) -> R {
        let (result, waker) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let result = change(&mut state);
            (result, state.news())
        };
        waker.into_iter().for_each(Waker::wake);
        result
    }
}

struct State<T> {
    /// Places of activations that have a transport.
    reserved: usize,
    /// Transferred, and not seen by the driver.
    queue: Vec<T>,
    /// In the driver's hands, or handed back because there is none.
    taken: usize,
    transferred: u64,
    ended: u64,
    overruns: u64,
    closed: bool,
    driven: bool,
    /// Woken once a look; the next look leaves another one.
    driver: Option<Waker>,
}

impl<T> State<T> {
    fn new() -> Self {
        Self {
            reserved: 0,
            queue: Vec::new(),
            taken: 0,
            transferred: 0,
            ended: 0,
            overruns: 0,
            closed: false,
            driven: true,
            driver: None,
        }
    }

    fn continuing(&self) -> usize {
        self.queue.len() + self.taken
    }

    fn outlook(&self) -> Outlook {
        if self.closed && self.reserved + self.continuing() == 0 { Outlook::Over } else { Outlook::Open }
    }

    fn reserve(&mut self, max: usize) -> Result<(), Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        if self.reserved + self.continuing() >= max {
            return Err(Refused::Exhausted);
        }
        self.reserved += 1;
        Ok(())
    }

    fn transfer(&mut self, continuation: T) -> Result<(), T> {
        self.reserved -= 1;
        self.transferred += 1;
        if self.driven {
            self.queue.push(continuation);
            return Ok(());
        }
        self.taken += 1;
        Err(continuation)
    }

    fn look(&mut self, waker: &mut Option<Waker>, batch: &mut Vec<T>) -> Outlook {
        mem::swap(&mut self.queue, batch);
        self.taken += batch.len();
        let outlook = self.outlook();
        if outlook == Outlook::Open {
            mem::swap(&mut self.driver, waker);
        }
        outlook
    }

    fn settle(&mut self, went: Went) {
        self.taken -= 1;
        match went {
            Went::InTime => self.ended += 1,
            Went::Overrun => self.overruns += 1,
        }
    }

    fn abandon(&mut self) -> (Vec<T>, Option<Waker>) {
        self.closed = true;
        self.driven = false;
        let queued = mem::take(&mut self.queue);
        self.taken += queued.len();
        (queued, self.driver.take())
    }

    /// Whom to wake: the driver, if it slept since something was queued or became over.
    fn news(&mut self) -> Option<Waker> {
        let news = !self.queue.is_empty() || self.outlook() == Outlook::Over;
        if news { self.driver.take() } else { None }
    }

    fn snapshot(&self, continuations_max: usize) -> CleanupSupervisorSnapshot {
        CleanupSupervisorSnapshot {
            continuations_max,
            reserved: self.reserved,
            continuing: self.continuing(),
            ended: self.ended,
            overruns: self.overruns,
            closed: self.closed,
            driven: self.driven,
        }
    }

    fn audit(&self, continuations_max: usize) -> Result<CleanupSupervisorSnapshot, CleanupDiscrepancy> {
        let continuing = self.continuing();
        if self.reserved + continuing > continuations_max {
            return Err(CleanupDiscrepancy::BeyondMax);
        }
        if self.transferred != self.ended + self.overruns + continuing as u64 {
            return Err(CleanupDiscrepancy::Unaccounted);
        }
        if !self.driven && !self.queue.is_empty() {
            return Err(CleanupDiscrepancy::Stranded);
        }
        Ok(self.snapshot(continuations_max))
    }
}
