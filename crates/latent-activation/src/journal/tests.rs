//! The journal's rules: bounds, scope, one end each, what is kept and for how long, and who wins a race.
#![expect(clippy::disallowed_methods, reason = "tests make their own instants")]

use super::*;
use crate::phase::{EVENTS_MAX, LifecyclePhase, PhaseRefusal};
use crate::precedence::{DispositionFailure, Evidence};
use bytes::Bytes;
use latent_core::{
    ActivationOutcome, BudgetConsumption, BudgetLedger, CellId, ErrorDetail, ExecutionOutcome, MediaType, Payload,
    PlatformErrorCode, ResourceBudget, TerminalState,
};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, SystemTime};

mod bounds;

mod ends;

mod fair;

mod model;

mod races;

mod watch;

fn tenant(text: &str) -> TenantId {
    TenantId::new(text).unwrap()
}

fn id(text: &str) -> ActivationId {
    ActivationId::new(text).unwrap()
}

fn wall() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

fn moment() -> Moment {
    Moment { monotonic: Instant::now(), wall: wall() }
}

fn journal(config: LocalActivationJournalConfig) -> Arc<LocalActivationJournal> {
    Arc::new(LocalActivationJournal::new(config).unwrap())
}

fn standard() -> Arc<LocalActivationJournal> {
    journal(LocalActivationJournalConfig::default())
}

fn reserve(journal: &Arc<LocalActivationJournal>, of: &str, text: &str, at: Moment) -> JournalReservation {
    journal.reserve(tenant(of), Lineage::root(id(text)), at).unwrap()
}

fn refused(journal: &Arc<LocalActivationJournal>, of: &str, text: &str, at: Moment) -> PlatformError {
    journal.reserve(tenant(of), Lineage::root(id(text)), at).unwrap_err()
}

fn evidence(execution: ExecutionOutcome) -> Evidence {
    Evidence::of(execution)
}

fn returned() -> Evidence {
    evidence(ExecutionOutcome::Returned(Payload::json("[1]")))
}

fn publish(reservation: JournalReservation, evidence: Evidence, at: Moment) -> ActivationOutcome {
    reservation.publish(evidence, BudgetConsumption::default(), at.monotonic).outcome
}

fn state_of(journal: &LocalActivationJournal, of: &str, text: &str, at: Moment) -> Option<TerminalState> {
    let status = journal.status(&tenant(of), &id(text), at.monotonic).found()?;
    status.terminal.map(|terminal| terminal.state)
}

fn later(moment: Moment, by: Duration) -> Moment {
    Moment { monotonic: moment.monotonic + by, wall: moment.wall + by }
}
