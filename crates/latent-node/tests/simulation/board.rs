//! What the ports see of each activation, and what they hold: written by the ports alone, read by the checks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

use latent_activation::{CancelDisposition, LocalActivationJournal};
use latent_core::{ActivationId, CellClass, Sha256Digest, TenantId};

use crate::plan::{Inside, Own, Plan};

/// Which activation, in order of arrival.
pub type Index = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prepared {
    #[default]
    NotAsked,
    Waiting,
    Ready,
    Failed,
    Panicked,
    /// The future was dropped before its answer.
    GivenUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ran {
    #[default]
    NotEntered,
    Running,
    /// With its answer, and whether that proves the cleanup.
    Answered {
        own: Own,
        proves: bool,
    },
    Panicked,
    /// The future was dropped before its answer.
    GivenUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disposed {
    #[default]
    NotAsked,
    Pending,
    Released,
    /// Taken out of reuse, as asked.
    Quarantined,
    /// The pool failed; the lease was dropped.
    Failed,
    /// The future was dropped before its answer, and the lease with it.
    GivenUp,
}

/// What happened to one activation.
#[expect(clippy::struct_excessive_bools, reason = "each is one fact, and they come in any combination")]
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    pub prepared: Prepared,
    /// Its preparation's future panicked in its destructor.
    pub preparation_bombed: bool,
    pub pin_bombed: bool,
    pub no_permit: bool,
    pub materialization_panicked: bool,
    pub ran: Ran,
    pub run_bombed: bool,
    pub run_polled_at: Option<Instant>,
    pub run_over_at: Option<Instant>,
    pub disposed: Disposed,
    pub release: Option<Sha256Digest>,
    pub granted_class: Option<CellClass>,
    pub grants: u32,
    pub fuel_used: u64,
    pub cancelled_inside: bool,
}

/// What a backend counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub waiting: usize,
    pub ready_pins: usize,
    pub permits: usize,
    pub running: usize,
}

/// A compiler's job: it ends at its time, whoever waits for it.
#[derive(Debug)]
pub struct Job {
    pub done_at: Instant,
    pub done: bool,
    pub waiters: Vec<Waker>,
}

#[derive(Default)]
pub struct State {
    /// Whose handle is polled or dropped now.
    pub current: Option<Index>,
    pub plans: Vec<Plan>,
    pub facts: Vec<Facts>,
    pub counts: Counts,
    pub permits_max: usize,
    /// Who got cells since the last look, and when.
    pub grants: Vec<(Index, Instant)>,
    pub open: HashMap<(TenantId, ActivationId), Index>,
    pub jobs: Vec<Job>,
    pub journal: Option<Arc<LocalActivationJournal>>,
    /// What no port should have seen.
    pub wrong: Option<String>,
}

/// Shared by the ports and the simulation.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<State>>);

impl Board {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn facts(&self, index: Index) -> Facts {
        self.lock().facts[index]
    }

    pub fn edit<R>(&self, index: Index, edit: impl FnOnce(&mut Facts) -> R) -> R {
        edit(&mut self.lock().facts[index])
    }

    /// Whose call this is, and what is planned for it.
    pub fn current(&self) -> (Index, Plan) {
        let state = self.lock();
        let index = state.current.expect("a port is called while a handle is polled");
        (index, state.plans[index])
    }

    /// Cancels whoever's port is here now, if that is planned.
    pub fn meanwhile(&self, inside: Inside) {
        let (index, plan) = self.current();
        if plan.cancelled != Some(inside) || self.facts(index).cancelled_inside {
            return;
        }
        let (named, journal) = {
            let state = self.lock();
            let named = state.open.iter().find(|(_, open)| **open == index).map(|(named, _)| named.clone());
            (named, state.journal.clone())
        };
        let (Some((tenant, id)), Some(journal)) = (named, journal) else { return };
        match journal.cancel(&tenant, &id, "meanwhile", crate::backend::now()) {
            CancelDisposition::Accepted => self.edit(index, |facts| facts.cancelled_inside = true),
            other => self.wrong(format!("activation {index} is cancelled by its own port: {other:?}")),
        }
    }

    pub fn wrong(&self, what: impl Into<String>) {
        self.lock().wrong.get_or_insert(what.into());
    }

    /// Ends the compiler's jobs that are due, and wakes whoever still waits.
    pub fn compile(&self, now: Instant) {
        let mut wake = Vec::new();
        for job in self.lock().jobs.iter_mut().filter(|job| !job.done && job.done_at <= now) {
            job.done = true;
            wake.append(&mut job.waiters);
        }
        wake.into_iter().for_each(Waker::wake);
    }
}

/// Which count.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Waiting,
    ReadyPin,
    Permit,
    Running,
}

impl Counts {
    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Waiting => &mut self.waiting,
            Kind::ReadyPin => &mut self.ready_pins,
            Kind::Permit => &mut self.permits,
            Kind::Running => &mut self.running,
        }
    }
}

/// One counted thing, given back when it drops.
pub struct Held(Board, Kind);

impl Held {
    pub fn new(board: &Board, kind: Kind) -> Self {
        *board.lock().counts.of(kind) += 1;
        Self(board.clone(), kind)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.lock().counts.of(self.1) -= 1;
    }
}

/// A panic that no hook prints: it is planned.
pub fn planned_panic() -> ! {
    std::panic::resume_unwind(Box::new("planned"))
}

/// As a destructor does it: a second panic would end the process.
pub fn planned_panic_of_destructor() {
    if !std::thread::panicking() {
        planned_panic();
    }
}
