//! One activation's record: its course, and the registration on which cancels and its end are put in order.
//!
//! Invariant: the registration goes `Live -> CancellationAccepted -> Terminal` or `Live -> Terminal`, under one lock, and
//! never back. Whoever comes first decides: an accepted cancel is in the end that follows, and an end that is
//! published is not cancelled. Latches and watchers are woken and dropped, and overruled payloads dropped, outside the lock. The
//! course of phases needs no lock, because it has one writer.

use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Instant;

use latent_core::error::cut;
use latent_core::{ActivationId, ActivationOutcome, BudgetConsumption, PlatformError, ResolvedRevision};
use latent_core::{StopLatch, TenantId};

#[cfg(latent_loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(latent_loom))]
use std::sync::{Mutex, MutexGuard};

use super::config::{DETAIL_BYTES, FIELD_BYTES, RECORD_BYTES, wide};
use super::course::Course;
use super::status::{ActivationStatus, ActivationSummary, RetainedDeclaredError, RetainedOutcome, TerminalRecord};
use crate::cancel::{CancelDisposition, REASON_BYTES_MAX};
use crate::phase::{LifecyclePhase, Moment, PhaseRefusal, Progress};
use crate::precedence::Evidence;
use crate::request::{Correlation, Lineage};

#[derive(Debug)]
pub(super) struct Record {
    tenant: TenantId,
    lineage: Lineage,
    course: Course,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    resolved: Option<ResolvedRevision>,
    /// There until the end.
    latch: Option<Arc<StopLatch>>,
    registration: Registration,
    /// Who waits for the next event, by the number of the watch.
    waiting: Vec<(u64, Waker)>,
}

#[derive(Debug)]
enum Registration {
    Live,
    CancellationAccepted(Box<str>),
    Terminal { record: TerminalRecord, cancel_reason: Option<Box<str>> },
}

/// How a record was ended, and what is to be dropped outside every lock.
pub(super) struct Ended {
    pub(super) outcome: ActivationOutcome,
    pub(super) resolved: Option<ResolvedRevision>,
    pub(super) progress: Progress,
    /// What the record takes from now on.
    pub(super) bytes: u64,
    pub(super) overruled: Option<Evidence>,
    pub(super) latch: Option<Arc<StopLatch>>,
    /// To be woken.
    pub(super) waiting: Vec<(u64, Waker)>,
}

impl Record {
    pub(super) fn new(tenant: TenantId, lineage: Lineage, received: Moment, latch: Arc<StopLatch>) -> Self {
        let state = State { resolved: None, latch: Some(latch), registration: Registration::Live, waiting: Vec::new() };
        Self { tenant, lineage, course: Course::received(received), state: Mutex::new(state) }
    }

    pub(super) fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    pub(super) fn activation_id(&self) -> &ActivationId {
        self.lineage.activation_id()
    }

    pub(super) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Goes on to the next phase, without the lock unless somebody watches. For the reservation's holder alone, before
    /// the end.
    pub(super) fn advance(&self, to: LifecyclePhase, now: Instant) -> Result<(), PhaseRefusal> {
        if self.course.advance(to, now)? {
            let waiting = std::mem::take(&mut self.lock().waiting);
            wake(waiting);
        }
        Ok(())
    }

    /// Pins the revision, and is [`LifecyclePhase::Resolved`] with it.
    pub(super) fn resolve(&self, revision: ResolvedRevision, now: Instant) -> Result<(), PhaseRefusal> {
        let mut state = self.lock();
        self.course.advance(LifecyclePhase::Resolved, now)?;
        state.resolved = Some(revision);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        wake(waiting);
        Ok(())
    }

    /// Has `waker` woken at the next event, in the place of the last one that `key` gave, and says how the activation
    /// stands once that is so.
    pub(super) fn register(&self, key: u64, waker: &Waker) -> Progress {
        let waker = waker.clone();
        let mut state = self.lock();
        self.course.set_watched();
        let progress = self.seen(&state);
        let replaced = if let Some((_, place)) = state.waiting.iter_mut().find(|(other, _)| *other == key) {
            Some(std::mem::replace(place, waker))
        } else {
            state.waiting.push((key, waker));
            None
        };
        drop(state);
        drop(replaced);
        progress
    }

    /// Wakes nobody for `key` any more.
    pub(super) fn unregister(&self, key: u64) {
        let mut state = self.lock();
        let place = state.waiting.iter().position(|(other, _)| *other == key);
        let gone = place.map(|place| state.waiting.swap_remove(place));
        drop(state);
        drop(gone);
    }

    /// Accepts a cancel or says why not. The latch is to be woken after the call, by the first who was accepted.
    pub(super) fn cancel(&self, reason: &str) -> (CancelDisposition, Option<Arc<StopLatch>>) {
        let mut state = self.lock();
        match &state.registration {
            Registration::Terminal { record, .. } => (CancelDisposition::AlreadyTerminal(record.state), None),
            Registration::CancellationAccepted(_) => (CancelDisposition::Accepted, None),
            Registration::Live => {
                let reason = cut(reason, REASON_BYTES_MAX).into();
                state.registration = Registration::CancellationAccepted(reason);
                (CancelDisposition::Accepted, state.latch.clone())
            }
        }
    }

    /// Ends the record as `decide` says, which is told whether a cancel was accepted. `None` when it has ended already.
    pub(super) fn end(
        &self,
        consumption: BudgetConsumption,
        now: Instant,
        declared_error_bytes_max: u64,
        decide: impl FnOnce(bool) -> (ActivationOutcome, Option<Evidence>),
    ) -> Option<Ended> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let accepted = match &state.registration {
            Registration::Terminal { .. } => return None,
            Registration::CancellationAccepted(_) => true,
            Registration::Live => false,
        };
        let (outcome, overruled) = decide(accepted);
        let mut progress = self.course.progress();
        let event = progress.finish(outcome.terminal_state(), now).ok()?;
        let retained = RetainedOutcome::of(&outcome, declared_error_bytes_max);
        let record = TerminalRecord {
            state: outcome.terminal_state(),
            outcome: retained,
            consumption,
            since_start: event.since_start,
            at: event.at,
        };
        let cancel_reason = match std::mem::replace(&mut state.registration, Registration::Live) {
            Registration::CancellationAccepted(reason) => Some(reason),
            Registration::Live | Registration::Terminal { .. } => None,
        };
        let bytes = self.bytes(state.resolved.as_ref(), cancel_reason.as_deref(), &record.outcome);
        state.registration = Registration::Terminal { record, cancel_reason };
        Some(Ended {
            outcome,
            resolved: state.resolved.clone(),
            progress,
            bytes,
            overruled,
            latch: state.latch.take(),
            waiting: std::mem::take(&mut state.waiting),
        })
    }

    pub(super) fn status(&self) -> ActivationStatus {
        let state = self.lock();
        let progress = self.seen(&state);
        let (cancel_reason, terminal) = match &state.registration {
            Registration::Live => (None, None),
            Registration::CancellationAccepted(reason) => (Some(reason.clone()), None),
            Registration::Terminal { record, cancel_reason } => (cancel_reason.clone(), Some(record.clone())),
        };
        ActivationStatus {
            lineage: self.lineage.clone(),
            phase: progress.phase(),
            sequence: progress.last().sequence,
            received_at: self.received_at().wall,
            resolved: state.resolved.clone(),
            cancel_reason,
            terminal,
        }
    }

    pub(super) fn summary(&self) -> ActivationSummary {
        let state = self.lock();
        let progress = self.seen(&state);
        ActivationSummary {
            activation_id: self.activation_id().clone(),
            service: state.resolved.as_ref().map(|revision| revision.service.clone()),
            phase: progress.phase(),
            terminal: progress.terminal(),
            received_at: self.received_at().wall,
            cancel_accepted: match &state.registration {
                Registration::Live => false,
                Registration::CancellationAccepted(_) => true,
                Registration::Terminal { cancel_reason, .. } => cancel_reason.is_some(),
            },
        }
    }

    /// The events up to now.
    pub(super) fn progress(&self) -> Progress {
        self.seen(&self.lock())
    }

    /// When the activation was received.
    pub(super) fn received_at(&self) -> Moment {
        self.course.received_at()
    }

    /// The course and, once there is one, the end. Under the lock, so that an end is seen with every phase before it.
    fn seen(&self, state: &State) -> Progress {
        let mut progress = self.course.progress();
        if let Registration::Terminal { record, .. } = &state.registration {
            let ended = self.received_at().monotonic.checked_add(record.since_start);
            let ended = ended.expect("the end is an instant that there was");
            let _again = progress.finish(record.state, ended);
        }
        progress
    }

    /// Counts every text as if it were allocated, so that the sum never exceeds what is computed from the bounds.
    fn bytes(&self, resolved: Option<&ResolvedRevision>, reason: Option<&str>, outcome: &RetainedOutcome) -> u64 {
        let parent = self.lineage.parent_activation_id().map_or(0, |parent| parent.as_str().len());
        let root = self.lineage.root_activation_id().as_str().len();
        let with = self.lineage.correlation().map_or(0, Correlation::text_bytes);
        let own = self.tenant.as_str().len() + self.activation_id().as_str().len() + root + parent + with;
        let resolved =
            resolved.map_or(0, |to| to.service.as_str().len() + to.route.as_str().len() + to.deployment.as_str().len());
        let texts = wide(own + resolved + reason.map_or(0, str::len));
        RECORD_BYTES + texts + outcome_bytes(outcome)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes watchers, outside of every lock.
pub(super) fn wake(waiting: Vec<(u64, Waker)>) {
    for (_, waker) in waiting {
        waker.wake();
    }
}

fn outcome_bytes(outcome: &RetainedOutcome) -> u64 {
    match outcome {
        RetainedOutcome::DeclaredError(RetainedDeclaredError::Whole(error)) => wide(error.bytes.len()),
        RetainedOutcome::Succeeded(_) | RetainedOutcome::DeclaredError(RetainedDeclaredError::TooLarge { .. }) => 0,
        RetainedOutcome::Failed(error) => error_bytes(error),
    }
}

fn error_bytes(error: &PlatformError) -> u64 {
    let details = error.details().iter().map(|detail| {
        let fields = detail.fields().map(|(name, value)| wide(name.len() + value.len()) + FIELD_BYTES);
        wide(detail.kind().len()) + DETAIL_BYTES + fields.sum::<u64>()
    });
    wide(error.message().len()) + details.sum::<u64>()
}
