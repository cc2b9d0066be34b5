//! Who must have been woken by now: nobody whom a stop, a deadline or a grace concerns may sleep on, and no cell may
//! stand idle while somebody waits for it.

use std::time::Duration;

use crate::backend::now;
use crate::board::{Index, Ran};
use crate::node::CLASSES;
use crate::plan::Heeds;
use crate::world::{Checked, World};

/// Timers count in milliseconds, and round up.
const TICK: Duration = Duration::from_millis(2);

impl World {
    /// Whoever has something to do at this instant has been woken.
    pub fn check_wakes(&self) -> Checked {
        for index in self.open() {
            let activation = &self.activations[index];
            if !activation.polled || activation.handed_over.is_some() || activation.flag.is_set() {
                continue;
            }
            let due = self.due(index);
            if due.is_some_and(|(due, _)| now() >= due) {
                let (facts, what) = (self.board.facts(index), due.map(|(_, what)| what));
                return Err(format!("activation {index} was not woken by {what:?}: {facts:?}"));
            }
        }
        Ok(())
    }

    /// What it has to be woken by next, and when.
    fn due(&self, index: Index) -> Option<(std::time::Instant, &'static str)> {
        let activation = &self.activations[index];
        let grace = self.node.rules.grace + TICK;
        match activation.stop_seen_at {
            None => {
                let looks = activation.polled_at.filter(|_| activation.waits_since.is_some());
                let look = looks.map(|at| (at + grace, "its turn to look"));
                let deadline = activation.admitted.map(|admitted| (admitted.deadline + TICK, "its deadline"));
                let stop = activation.stop_at.map(|stop| (stop, "a stop"));
                let promise = activation.promised_at.map(|at| (at, "the promise of a cell"));
                stop.into_iter().chain(promise).chain(deadline).chain(look).min()
            }
            Some(seen) if self.is_kept_in_the_dark(index) => Some((seen, "a stop that its run has not seen")),
            Some(seen) => Some((seen + grace, "the end of its grace")),
        }
    }

    /// Whether its run listens, and has not been polled since there was a stop to be seen.
    fn is_kept_in_the_dark(&self, index: Index) -> bool {
        let (facts, state) = (self.board.facts(index), self.board.lock());
        let (stopped, polled) = (self.activations[index].stopped_at(), facts.run_polled_at);
        let listens = facts.ran == Ran::Running && state.plans[index].run.heeds != Heeds::Never;
        listens && stopped.zip(polled).is_some_and(|(stopped, polled)| polled < stopped)
    }

    /// Whoever looks takes back what was promised a grace ago to somebody who does not.
    pub fn check_promises(&self, index: Index) -> Checked {
        let activation = &self.activations[index];
        let (Some(admitted), Some(_)) = (activation.admitted, activation.waits_since) else { return Ok(()) };
        let of_class = |other: &crate::activation::Activation| {
            other.is_open() && other.admitted.is_some_and(|other| other.class == admitted.class)
        };
        let fresh = |at: std::time::Instant| now() < at + self.node.rules.grace;
        // Promises that were made in this step are not known yet, and are fresh.
        let made = self.board.lock().grants.len();
        let known = self.activations.iter().filter(|other| of_class(other) && other.promised_at.is_some_and(fresh));
        let (fresh, queue) = (known.count() + made, self.node.scheduler.snapshot(CLASSES[admitted.class]));
        match queue {
            Some(queue) if queue.promised <= fresh => Ok(()),
            queue => Err(format!("{queue:?} after activation {index} looked; {fresh} promises are fresh")),
        }
    }

    /// No cell is idle while somebody waits who may have it.
    pub fn check_no_cell_is_idle(&self) -> Checked {
        for (place, class) in CLASSES.into_iter().enumerate() {
            if self.shut_down || self.node.pools[place].audit().is_ok_and(|pool| pool.available == 0) {
                continue;
            }
            for index in self.open().filter(|index| self.activations[*index].waits_since.is_some()) {
                let activation = &self.activations[index];
                let in_class = activation.admitted.is_some_and(|admitted| admitted.class == place);
                let waits = in_class && self.board.facts(index).ran == Ran::NotEntered;
                if waits && self.may_have_one_more(activation.tenant, place) {
                    return Err(format!("a {class} cell is idle while activation {index} waits"));
                }
            }
        }
        Ok(())
    }
}
