//! Which cases the simulations met, so that one that is never met is noticed.

use latent_core::ActivationOutcome;

use crate::activation::Activation;
use crate::board::{Disposed, Facts, Prepared, Ran};

/// All that have to be met.
pub const CASES: [&str; 37] = [
    "completed",
    "cancelled",
    "deadline-exceeded",
    "resource-exhausted",
    "guest-trap",
    "dependency-failed",
    "rejected",
    "platform-failed",
    "dropped before its first poll",
    "dropped while it was prepared",
    "dropped in the queue",
    "dropped with the promise of a cell",
    "dropped while it ran",
    "dropped while its cell was returned",
    "dropped after its transport went away",
    "a preparation failed",
    "a preparation panicked",
    "a preparation panicked in its destructor",
    "a preparation was given up",
    "ready code panicked in its destructor",
    "no permit was left",
    "a materialization panicked",
    "a run answered without proof",
    "a run panicked",
    "a run panicked in its destructor",
    "a run was given up after its grace",
    "a cell was released",
    "a cell was quarantined",
    "a pool failed",
    "a pool never answered",
    "cancelled while one of its ports was at work",
    "a promise was taken back",
    "capacity-exhausted",
    "node-overloaded",
    "queue-full",
    "all-cells-quarantined",
    "shutting-down",
];

/// The cases that an end belongs to.
pub fn cases(activation: &Activation, facts: &Facts, outcome: &ActivationOutcome) -> Vec<&'static str> {
    let mut cases = vec![outcome.terminal_state().as_str()];
    let mut add = |holds: bool, case: &'static str| cases.extend(holds.then_some(case));
    if activation.dropped {
        let queued = facts.prepared == Prepared::Ready && facts.ran == Ran::NotEntered;
        let promised = activation.promised_at.is_some();
        add(!activation.polled, "dropped before its first poll");
        add(facts.prepared == Prepared::GivenUp, "dropped while it was prepared");
        add(queued && !promised, "dropped in the queue");
        add(queued && promised, "dropped with the promise of a cell");
        add(facts.ran == Ran::GivenUp, "dropped while it ran");
        add(facts.disposed == Disposed::GivenUp, "dropped while its cell was returned");
        add(activation.interrupted.is_some(), "dropped after its transport went away");
    } else {
        add(facts.prepared == Prepared::GivenUp, "a preparation was given up");
        add(facts.ran == Ran::GivenUp, "a run was given up after its grace");
        add(facts.disposed == Disposed::GivenUp, "a pool never answered");
    }
    add(facts.prepared == Prepared::Failed, "a preparation failed");
    add(facts.prepared == Prepared::Panicked, "a preparation panicked");
    add(facts.preparation_bombed, "a preparation panicked in its destructor");
    add(facts.pin_bombed, "ready code panicked in its destructor");
    add(facts.no_permit, "no permit was left");
    add(facts.materialization_panicked, "a materialization panicked");
    add(matches!(facts.ran, Ran::Answered { proves: false, .. }), "a run answered without proof");
    add(facts.ran == Ran::Panicked, "a run panicked");
    add(facts.run_bombed, "a run panicked in its destructor");
    add(facts.disposed == Disposed::Released, "a cell was released");
    add(facts.disposed == Disposed::Quarantined, "a cell was quarantined");
    add(facts.disposed == Disposed::Failed, "a pool failed");
    add(facts.cancelled_inside, "cancelled while one of its ports was at work");
    add(facts.grants > 1, "a promise was taken back");
    if let ActivationOutcome::Failed { error, .. } = outcome {
        let reason = error.details().first().and_then(|detail| detail.field("reason"));
        cases.extend(CASES.into_iter().filter(|case| reason == Some(case)));
    }
    cases
}
