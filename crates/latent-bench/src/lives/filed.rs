//! What the callers of a part remember of each activation, and the journal's records compared with it.
//!
//! Invariant: the journal keeps at least as many ended records as a part has activations, so none may be missing.

use latent_activation::CancelDisposition;
use latent_activation::journal::RetainedOutcome;
use latent_core::TerminalState;

use super::house::{House, name_of};
use super::plan::Column;
use crate::endurance::judge::{Expected, shortened};
use crate::endurance::tally::Tally;

/// The end that the record of one activation has to show.
#[derive(Debug, Clone, Copy)]
pub struct Filed {
    number: u64,
    state: TerminalState,
    /// The detail kind of a failure.
    kind: Option<&'static str>,
}

impl Filed {
    /// The activation of this number is to end so.
    #[must_use]
    pub const fn new(number: u64, expected: &Expected) -> Self {
        let (state, kind) = expected.end();
        Self { number, state, kind }
    }
}

/// What came of the activations of a part, or of all parts so far.
#[derive(Debug, Default)]
pub struct Part {
    /// The counts.
    pub tally: Tally<{ Column::ALL.len() }>,
    /// Those that were to be stopped in the queue, and were running by then.
    pub overtaken: u64,
    /// Those whose deadline was refused ahead, because it would pass in the queue.
    pub infeasible: u64,
    /// Those that were transferred to the supervisor.
    pub transferred: u64,
    filed: Vec<Filed>,
}

impl Part {
    /// Remembers one until the part is [compared](Self::compare).
    pub fn file(&mut self, filed: Filed) {
        self.filed.push(filed);
    }

    /// Adds another.
    pub fn add(&mut self, mut other: Self) {
        self.tally.add(other.tally);
        self.overtaken += other.overtaken;
        self.infeasible += other.infeasible;
        self.transferred += other.transferred;
        self.filed.append(&mut other.filed);
    }

    /// Compares each record with what was filed, enters what is wrong, and forgets what was filed.
    pub fn compare(&mut self, house: &House) {
        for filed in std::mem::take(&mut self.filed) {
            let compared = compare(house, filed);
            self.tally.check(compared.map_err(|wrong| format!("record of activation {}: {wrong}", filed.number)));
        }
    }
}

fn compare(house: &House, filed: Filed) -> Result<(), String> {
    let Filed { number, state, kind } = filed;
    let (tenant, name) = (house.tenant(number), name_of(number));
    let events = house.manager.events(tenant, &name).found().ok_or("its events are gone")?;
    let ends = events.iter().filter(|event| event.terminal.is_some()).count();
    let last = events.last().and_then(|event| event.terminal);
    let in_order = events
        .windows(2)
        .all(|pair| pair[1].sequence == pair[0].sequence + 1 && pair[1].since_start >= pair[0].since_start);
    if (ends, last, in_order) != (1, Some(state), true) {
        return Err(format!("{ends} ends, the last event {last:?}, in order: {in_order}; expected one, {state:?}"));
    }
    let status = house.manager.status(tenant, &name).found().ok_or("its status is gone")?;
    let terminal = status.terminal.ok_or("its status has no end")?;
    let as_filed = match (&terminal.outcome, kind) {
        (RetainedOutcome::Failed(error), Some(kind)) => error.has_detail(kind),
        (RetainedOutcome::Succeeded(_) | RetainedOutcome::DeclaredError(_), None) => true,
        _ => false,
    };
    if terminal.state != state || !as_filed {
        return Err(format!("expected {state:?} with {kind:?}, found {}", shortened(&terminal)));
    }
    if house.manager.events(house.stranger(number), &name).found().is_some() {
        return Err("another tenant sees it".to_owned());
    }
    match house.manager.cancel_for(tenant, &name, "too late") {
        CancelDisposition::AlreadyTerminal(told) if told == state => Ok(()),
        told => Err(format!("a late cancel is answered {told:?}")),
    }
}
