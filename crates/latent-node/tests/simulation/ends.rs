//! The model's own table of ends: what an activation must have come to, by the facts alone.

use latent_core::{ActivationOutcome, PlatformErrorCode, TerminalState as State};

use crate::activation::Activation;
use crate::board::{Disposed, Facts, Prepared, Ran};
use crate::plan::Own;

/// What must have been published: a state, and the kind of its first detail where that is certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub state: State,
    pub kind: Option<&'static str>,
}

fn end(state: State, kind: &'static str) -> End {
    End { state, kind: Some(kind) }
}

const CANCELLED: End = End { state: State::Cancelled, kind: Some("activation.cancelled") };
const DEADLINE: End = End { state: State::DeadlineExceeded, kind: Some("activation.deadline-exceeded") };
const TRANSPORT: End = End { state: State::Cancelled, kind: Some("activation.transport-stopped") };

/// `None`: only what was refused before a run may decide, and it must be one of `refusals`.
pub fn expected(activation: &Activation, facts: &Facts) -> Option<End> {
    if !activation.dropped && facts.disposed == Disposed::Failed {
        let proved = matches!(facts.ran, Ran::Answered { proves: true, .. }) && !facts.run_bombed;
        let kind = if proved { "cell-disposition.release-failed" } else { "cell-disposition.quarantine-failed" };
        return Some(end(State::PlatformFailed, kind));
    }
    // A pool that never answered within the grace.
    if !activation.dropped && facts.disposed == Disposed::GivenUp {
        let proved = matches!(facts.ran, Ran::Answered { proves: true, .. }) && !facts.run_bombed;
        let kind = if proved { "cell-disposition.release-failed" } else { "cell-disposition.quarantine-failed" };
        return Some(end(State::PlatformFailed, kind));
    }
    if activation.cancelled {
        return Some(CANCELLED);
    }
    let evidence = activation.handed_over.expect("an activation that ended has handed over");
    if activation.dropped && evidence.interrupted.is_none() {
        return Some(end(State::Cancelled, "activation.abandoned"));
    }
    let own = if activation.dropped { None } else { own(facts) };
    if own == Some(CANCELLED) {
        return own;
    }
    if evidence.deadline_elapsed || own == Some(DEADLINE) {
        return Some(DEADLINE);
    }
    if evidence.interrupted.is_some() {
        return Some(TRANSPORT);
    }
    own
}

/// What it came to by itself. `None`: it was refused before it had a cell.
fn own(facts: &Facts) -> Option<End> {
    let panicked = |kind| Some(end(State::PlatformFailed, kind));
    if facts.run_bombed {
        return panicked("activation.backend-panic");
    }
    match facts.ran {
        Ran::Answered { own, .. } => return Some(of_run(own)),
        Ran::Panicked => return panicked("activation.backend-panic"),
        // Nothing but a stop may have given it up; that was looked at before.
        Ran::GivenUp | Ran::Running => return Some(end(State::PlatformFailed, "a run was given up without a stop")),
        Ran::NotEntered => {}
    }
    if facts.materialization_panicked || (facts.no_permit && facts.pin_bombed) {
        return panicked("activation.port-panic");
    }
    if facts.no_permit {
        return Some(End { state: State::ResourceExhausted, kind: None });
    }
    match facts.prepared {
        Prepared::Failed if !facts.preparation_bombed => None,
        Prepared::Panicked => panicked("activation.port-panic"),
        Prepared::Ready if facts.preparation_bombed => panicked("activation.port-panic"),
        Prepared::Ready if facts.pin_bombed => panicked("activation.backend-panic"),
        _ => None,
    }
}

fn of_run(own: Own) -> End {
    match own {
        Own::Returned | Own::Declared => End { state: State::Completed, kind: None },
        Own::Trapped | Own::Exited => end(State::GuestTrap, "activation.guest-trap"),
        Own::Fuel => end(State::ResourceExhausted, "activation.fuel-exhausted"),
        Own::Memory => end(State::ResourceExhausted, "activation.memory-exhausted"),
        Own::Limit => end(State::ResourceExhausted, "activation.table-exhausted"),
        Own::Failed => End { state: State::DependencyFailed, kind: None },
        Own::Cancelled => CANCELLED,
        Own::Deadline => DEADLINE,
        Own::Transport => TRANSPORT,
    }
}

/// Whether what was published is what had to be.
pub fn check(activation: &Activation, facts: &Facts, outcome: &ActivationOutcome) -> Result<(), String> {
    let state = outcome.terminal_state();
    let kind = match outcome {
        ActivationOutcome::Failed { error, .. } => error.details().first().map_or("", |detail| detail.kind()),
        ActivationOutcome::Succeeded { .. } | ActivationOutcome::DeclaredError { .. } => "",
    };
    match expected(activation, facts) {
        Some(End { state: must, kind: of }) => {
            if state == must && of.is_none_or(|of| of == kind) {
                return Ok(());
            }
            Err(format!("it ended as {state} ({kind}) and had to end as {must} ({of:?})"))
        }
        None => refused(facts, activation, outcome, kind),
    }
}

/// An end before a cell, which nothing but a refusal explains.
fn refused(facts: &Facts, activation: &Activation, outcome: &ActivationOutcome, kind: &str) -> Result<(), String> {
    let ActivationOutcome::Failed { terminal_state, error } = outcome else {
        return Err("it succeeded without a run".to_owned());
    };
    let allowed: &[&str] = match (activation.resolved, activation.admitted, facts.prepared) {
        (false, ..) => &["route.unknown", "route.incompatible"],
        (true, None, _) => &["admission.limit", "activation.deadline-exceeded"],
        (true, Some(_), Prepared::Ready) => &["scheduler.limit"],
        (true, Some(_), _) => &[""],
    };
    let state = match error.code() {
        PlatformErrorCode::ResourceExhausted => State::Rejected,
        code => code.terminal_state(),
    };
    if allowed.contains(&kind) && *terminal_state == state {
        return Ok(());
    }
    Err(format!("it was refused as {terminal_state} ({kind}: {error:?}); expected {state} ({allowed:?})"))
}
