//! Every invariant, after every step: the books of each part, and each part against the model.

use latent_activation::LifecyclePhase;
use latent_activation::journal::Lookup;
use latent_core::{ActivationOutcome, PlatformError};

use crate::backend::now;
use crate::board::{Counts, Disposed, Facts, Index, Prepared, Ran};
use crate::node::CLASSES;
use crate::world::{Checked, World};

/// Where the cell of an activation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    None,
    Leased,
    Returned,
    OutOfReuse,
}

fn told<T>(part: &str, audit: Result<T, PlatformError>) -> Result<T, String> {
    audit.map_err(|error| format!("{part}: {}", error.message()))
}

macro_rules! same {
    ($what:expr, $found:expr, $model:expr) => {
        if $found != $model {
            return Err(format!("{}: found {:?}, the model has {:?}", $what, $found, $model));
        }
    };
}

impl World {
    /// Admitted and without a cell.
    pub fn is_queued(&self, index: Index) -> bool {
        let activation = &self.activations[index];
        activation.is_open() && activation.admitted.is_some() && self.board.facts(index).ran == Ran::NotEntered
    }

    fn cell(&self, index: Index, facts: &Facts) -> Result<Cell, String> {
        let activation = &self.activations[index];
        let proved = matches!(facts.ran, Ran::Answered { proves: true, .. }) && !facts.run_bombed;
        match (facts.ran, facts.disposed) {
            (Ran::NotEntered, _) => Ok(Cell::None),
            (_, Disposed::NotAsked) if activation.is_open() => Ok(Cell::Leased),
            (_, Disposed::NotAsked) if activation.dropped => Ok(Cell::OutOfReuse),
            (_, Disposed::NotAsked) => Err(format!("activation {index} ended and left its cell: {facts:?}")),
            (_, Disposed::Pending) => Ok(Cell::Leased),
            (_, Disposed::Released) if proved => Ok(Cell::Returned),
            (_, Disposed::Released) => Err(format!("activation {index} has its cell reused without proof: {facts:?}")),
            (_, Disposed::Quarantined) if proved => {
                Err(format!("activation {index} has its cell quarantined in spite of its proof: {facts:?}"))
            }
            (_, Disposed::Quarantined | Disposed::Failed | Disposed::GivenUp) => Ok(Cell::OutOfReuse),
        }
    }

    pub fn check(&mut self) -> Checked {
        if let Some(wrong) = self.board.lock().wrong.take() {
            return Err(wrong);
        }
        self.check_ledger()?;
        self.check_cells()?;
        self.check_backend()?;
        self.check_no_cell_is_idle()?;
        self.check_wakes()?;
        let journal = self.node.journal.audit().map_err(|wrong| format!("the journal: {wrong:?}"))?;
        same!("records under way", journal.active, self.open().count());
        self.check_some_record()
    }

    fn check_ledger(&self) -> Checked {
        let usage = told("the ledger", self.node.admission.ledger().audit())?;
        let (mut queued, mut running, mut fuel, mut memory) = (0, 0, 0, 0);
        for activation in self.open() {
            let Some(admitted) = self.activations[activation].admitted else { continue };
            let is_queued = self.is_queued(activation);
            queued += u64::from(is_queued);
            running += u64::from(!is_queued);
            fuel += admitted.fuel;
            memory += self.activations[activation].asked.memory;
        }
        same!("reservations without a cell", usage.queued, queued);
        same!("reservations with a cell", usage.running, running);
        same!("reserved fuel", usage.fuel, fuel);
        same!("reserved memory", usage.memory_bytes, memory);
        Ok(())
    }

    fn check_cells(&self) -> Checked {
        told("the scheduler", self.node.scheduler.audit())?;
        let (mut leased, mut out, mut waiting) = ([0; 2], [0; 2], [0; 2]);
        for (index, activation) in self.activations.iter().enumerate() {
            let Some(admitted) = activation.admitted else { continue };
            let facts = self.board.facts(index);
            match self.cell(index, &facts)? {
                Cell::None | Cell::Returned => {}
                Cell::Leased => leased[admitted.class] += 1,
                Cell::OutOfReuse => out[admitted.class] += 1,
            }
            let waits = facts.prepared == Prepared::Ready && self.is_queued(index);
            waiting[admitted.class] += usize::from(waits);
        }
        for place in [0, 1] {
            let pool = told("the pool", self.node.pools[place].audit())?;
            let queue = self.node.scheduler.snapshot(CLASSES[place]).ok_or("a class is gone")?;
            let parts = pool.available + pool.active_leases + pool.quarantined;
            same!("the parts of a pool", parts, pool.capacity);
            same!("quarantined cells", pool.quarantined, out[place]);
            same!("leased cells", pool.active_leases, leased[place] + queue.promised);
            let failed = self.shut_down || pool.quarantined == pool.capacity;
            let in_queue = queue.queued + queue.promised;
            if in_queue > waiting[place] || (!failed && in_queue < waiting[place]) {
                return Err(format!("{in_queue} are in the queue; the model has {}", waiting[place]));
            }
        }
        Ok(())
    }

    fn check_backend(&self) -> Checked {
        let mut model = Counts::default();
        for index in self.open() {
            let facts = self.board.facts(index);
            let running = facts.ran == Ran::Running;
            model.waiting += usize::from(facts.prepared == Prepared::Waiting);
            model.ready_pins +=
                usize::from(facts.prepared == Prepared::Ready && (running || facts.ran == Ran::NotEntered));
            model.permits += usize::from(running);
            model.running += usize::from(running);
        }
        same!("what the backend holds", self.board.lock().counts, model);
        Ok(())
    }

    /// Looks one activation up, by its tenant and by another.
    fn check_some_record(&mut self) -> Checked {
        if self.activations.is_empty() {
            let _told = self.node.journal.sweep(now());
            return Ok(());
        }
        let index = self.random.index(self.activations.len());
        let (tenant, id) = self.name(index);
        let of = self.activations[index].tenant;
        let latest = self.names.get(&(of, id.clone())).copied() == Some(index);
        let status = self.node.manager.status(tenant, id);
        let activation = &self.activations[index];
        let right = match &status {
            _ if !latest => true,
            Lookup::Found(status) if activation.is_open() => {
                status.terminal.is_none() && status.cancel_reason.is_some() == activation.cancelled
            }
            Lookup::Found(status) => {
                let state = status.terminal.as_ref().map(|terminal| terminal.state);
                self.is_retained(index) && state == activation.ended
            }
            Lookup::Evicted => !activation.is_open() && !self.is_retained(index),
            Lookup::Unknown => false,
        };
        if !right {
            return Err(format!("the record of activation {index} is {status:?}"));
        }
        let foreign = (of + 1) % self.tenants.len();
        if !self.names.contains_key(&(foreign, id.clone()))
            && self.node.manager.status(&self.tenants[foreign], id) != Lookup::Unknown
        {
            return Err(format!("activation {index} is known to a foreign tenant"));
        }
        Ok(())
    }

    /// The one terminal record of an activation that has just ended.
    pub fn check_record(&self, index: Index, outcome: &ActivationOutcome) -> Checked {
        let (tenant, id) = self.name(index);
        let activation = &self.activations[index];
        let events = self.node.manager.events(tenant, id).found().ok_or("its events are gone")?;
        let terminal: Vec<_> = events.iter().filter_map(|event| event.terminal).collect();
        same!("terminal events", terminal, vec![outcome.terminal_state()]);
        let last = events.last().ok_or("it has no events")?;
        same!("the end of the last event", last.terminal, Some(outcome.terminal_state()));
        let phases: Vec<_> = events.iter().map(|event| event.phase).collect();
        let mut model: Vec<_> = LifecyclePhase::ALL[..phases.len() - 1].to_vec();
        model.extend(model.last().copied());
        same!("phases", phases, model);
        for (place, event) in events.iter().enumerate() {
            same!("the sequence", event.sequence, events[0].sequence + place as u64);
            same!("the wall time of an event", event.at, activation.received.1 + event.since_start);
        }
        if events.windows(2).any(|pair| pair[0].since_start > pair[1].since_start) {
            return Err("its events run backwards".to_owned());
        }
        same!("the time of its end", last.since_start, now() - activation.received.0);
        let ran = self.board.facts(index).ran != Ran::NotEntered;
        same!("a run in the record", phases.contains(&LifecyclePhase::Running), ran);
        self.check_grace(index)
    }

    /// A run that was given up must have been stopped a whole grace before.
    fn check_grace(&self, index: Index) -> Checked {
        let facts = self.board.facts(index);
        let activation = &self.activations[index];
        if facts.ran != Ran::GivenUp || activation.dropped {
            return Ok(());
        }
        let stopped = activation.stopped_at().ok_or("a run was given up without a stop")?;
        match facts.run_over_at {
            Some(over) if over >= stopped + self.node.rules.grace => Ok(()),
            over => Err(format!("a run was given up {over:?} within its grace")),
        }
    }

    /// Nothing is left.
    pub fn check_idle(&self) -> Checked {
        same!("live reservations", self.node.admission.ledger().snapshot().live(), 0);
        same!("what the backend holds", self.board.lock().counts, Counts::default());
        same!("records under way", self.node.journal.snapshot().active, 0);
        for place in [0, 1] {
            let pool = told("the pool", self.node.pools[place].audit())?;
            same!("idle and quarantined cells", pool.available + pool.quarantined, pool.capacity);
            let queue = self.node.scheduler.snapshot(CLASSES[place]).ok_or("a class is gone")?;
            same!("entries of a queue", (queue.queued, queue.promised), (0, 0));
        }
        Ok(())
    }
}
