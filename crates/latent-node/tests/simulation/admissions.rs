//! What a first poll must come to: which revision, and whether there was room.

use std::time::{Instant, SystemTime};

use latent_activation::journal::RetainedOutcome;
use latent_activation::{LifecycleEvent, LifecyclePhase};

use crate::activation::Admitted;
use crate::backend::now;
use crate::board::Index;
use crate::catalog::{deployment_name, digest, fuel_of};
use crate::node::SMALL_BYTES;
use crate::world::{Checked, DEPLOYMENTS, World};

/// How things stood before a first poll.
pub struct Conditions {
    /// Somebody had stopped it.
    stopped: bool,
    /// What may be selected.
    candidates: [Option<u64>; DEPLOYMENTS],
    has_room: bool,
    deadline: Option<Instant>,
    overloaded: bool,
}

impl World {
    pub fn conditions(&self, index: Index) -> Conditions {
        let activation = &self.activations[index];
        let asked = &activation.asked;
        let live = |tenant: Option<usize>| {
            let of = |of: &&crate::activation::Activation| tenant.is_none_or(|tenant| tenant == of.tenant);
            let all = self.activations.iter().filter(|other| other.is_open() && other.admitted.is_some());
            all.filter(of).count() as u64
        };
        let queued = self.open().filter(|index| self.is_queued(*index)).count() as u64;
        let policy = &self.policy;
        let mut candidates = self.deployments[activation.tenant];
        if let Some(only) = asked.deployment {
            candidates = std::array::from_fn(|place| candidates[place].filter(|_| place == only));
        }
        if !asked.known_function {
            candidates = [None; DEPLOYMENTS];
        }
        Conditions {
            stopped: activation.cancelled || activation.interrupted.is_some(),
            candidates,
            has_room: live(None) < policy.live
                && queued < policy.queued
                && live(Some(activation.tenant)) < policy.tenant_live,
            deadline: self.deadline_from(index, now(), self.wall),
            overloaded: self.is_overloaded(),
        }
    }

    /// The earliest restriction; `None` when it has passed.
    fn deadline_from(&self, index: Index, now: Instant, wall: SystemTime) -> Option<Instant> {
        let asked = &self.activations[index].asked;
        let relative = asked.wall_limit.map_or(self.policy.wall_limit, |limit| limit.min(self.policy.wall_limit));
        let mut deadline = now + relative;
        if let Some(absolute) = asked.deadline {
            deadline = deadline.min(now + absolute.duration_since(wall).ok()?);
        }
        if let Some((arrival, timeout)) = asked.transport {
            deadline = deadline.min(arrival + timeout);
        }
        (deadline > now).then_some(deadline)
    }

    /// Compares what the record says of a first poll with how things stood.
    pub fn first_polled(&mut self, index: Index, before: &Conditions) -> Checked {
        let (tenant, id) = self.name(index);
        let manager = &self.node.manager;
        let (status, events) = (manager.status(tenant, id).found(), manager.events(tenant, id).found());
        let (Some(status), Some(events)) = (status, events) else {
            return Err(format!("activation {index} has no record"));
        };
        let reached = |phase| events.iter().any(|event: &LifecycleEvent| event.phase == phase);
        let (resolved, admitted) = (reached(LifecyclePhase::Resolved), reached(LifecyclePhase::Admitted));
        let wrong = |what: &str| Err(format!("activation {index}: {what}; {status:?}"));
        if resolved != (!before.stopped && before.candidates.iter().any(Option::is_some)) {
            return wrong("it was resolved, or not, against the catalog");
        }
        if resolved != status.resolved.is_some() {
            return wrong("its phase and its revision differ");
        }
        self.activations[index].resolved = resolved;
        let Some(revision) = status.resolved.as_ref() else { return Ok(()) };
        let of = |place: &usize| deployment_name(*place) == revision.deployment.as_str();
        let Some(version) = (0..DEPLOYMENTS).find(of).and_then(|place| before.candidates[place]) else {
            return wrong("it was led to a deployment that was not there");
        };
        if revision.release != digest(version) {
            return wrong("its release is that of another version");
        }
        if !admitted {
            let outcome = status.terminal.as_ref().map(|terminal| &terminal.outcome);
            return Self::denied(index, before, outcome);
        }
        let (Some(deadline), true, false) = (before.deadline, before.has_room, before.overloaded) else {
            return wrong("it was admitted without room, time or calm");
        };
        let release = self.board.facts(index).release;
        if release != Some(digest(version)) {
            return wrong("another release is prepared than it was pinned to");
        }
        let asked = &self.activations[index].asked;
        let ceiling = self.policy.fuel.min(fuel_of(version));
        let fuel = asked.fuel.map_or(ceiling, |fuel| fuel.min(ceiling));
        let class = usize::from(asked.memory > SMALL_BYTES);
        self.activations[index].admitted = Some(Admitted { deadline, fuel, class });
        Ok(())
    }

    fn denied(index: Index, before: &Conditions, outcome: Option<&RetainedOutcome>) -> Checked {
        let Some(RetainedOutcome::Failed(error)) = outcome else {
            return Err(format!("activation {index} was neither admitted nor denied: {outcome:?}"));
        };
        let first = error.details().first();
        let explained = match first.and_then(|detail| detail.field("reason")) {
            Some("capacity-exhausted") => !before.has_room,
            Some("node-overloaded") => before.overloaded,
            Some("queue-deadline-infeasible") => true,
            None => before.deadline.is_none() && error.has_detail("activation.deadline-exceeded"),
            Some(_) => false,
        };
        if explained { Ok(()) } else { Err(format!("activation {index} was denied for nothing: {error:?}")) }
    }
}
