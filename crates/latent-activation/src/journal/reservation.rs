//! The right to move one activation on and to publish its end: the only one there is.
//!
//! Invariant: a reservation ends its record exactly once, by publishing, by `abandon`, or by being dropped.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use latent_core::{
    ActivationOutcome, BudgetConsumption, BudgetLedger, PlatformError, PlatformErrorCode, ResolvedRevision, StopLatch,
    TenantId,
};

use super::LocalActivationJournal;
use super::index::Slot;
use super::record::{Ended, Record, wake};
use super::status::{ActivationStatus, Published};
use crate::phase::{LifecyclePhase, PhaseRefusal};
use crate::precedence::{Evidence, conclude_keeping, denial_keeping};
use crate::request::Lineage;

/// A place in the journal, with room for the end that will be published in it. Dropped, it leaves the record of an
/// abandoned activation, never one that is still under way. Affine:
/// ```compile_fail,E0277
/// fn needs_clone<T: Clone>() {}
/// needs_clone::<latent_activation::journal::JournalReservation>();
/// ```
#[must_use = "dropping a reservation abandons its activation"]
pub struct JournalReservation {
    journal: Arc<LocalActivationJournal>,
    pub(super) record: Arc<Record>,
    slot: Slot,
    latch: Arc<StopLatch>,
    ledger: Option<Arc<BudgetLedger>>,
    open: bool,
}

impl JournalReservation {
    pub(super) fn new(
        journal: Arc<LocalActivationJournal>,
        record: Arc<Record>,
        slot: Slot,
        latch: Arc<StopLatch>,
    ) -> Self {
        Self { journal, record, slot, latch, ledger: None, open: true }
    }

    /// Whose activation it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        self.record.tenant()
    }

    /// What the activation is called.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        self.record.lineage()
    }

    /// The latch that an accepted cancel sets, after it has been accepted and before its caller is answered.
    #[must_use]
    pub fn latch(&self) -> &Arc<StopLatch> {
        &self.latch
    }

    /// How the activation stands, as its tenant sees it.
    #[must_use]
    pub fn status(&self) -> ActivationStatus {
        self.record.status()
    }

    /// Keeps the account of the run, so that a reservation that is dropped publishes what had been used.
    pub fn account(&mut self, ledger: Arc<BudgetLedger>) {
        self.ledger = Some(ledger);
    }

    /// The account of the run, once it is kept.
    #[must_use]
    pub fn ledger(&self) -> Option<&Arc<BudgetLedger>> {
        self.ledger.as_ref()
    }

    /// Pins the revision for life; the activation is [`LifecyclePhase::Resolved`].
    ///
    /// # Errors
    /// [`PhaseRefusal`] when the activation is not just received; nothing changes.
    pub fn resolved(&mut self, revision: ResolvedRevision, now: Instant) -> Result<(), PhaseRefusal> {
        self.record.resolve(revision, now)
    }

    /// Moves the activation on to the next phase after [`LifecyclePhase::Resolved`].
    ///
    /// # Errors
    /// [`PhaseRefusal`] when another phase comes next, [`LifecyclePhase::Resolved`] included, which
    /// [`Self::resolved`] alone reaches; nothing changes.
    pub fn advance(&mut self, to: LifecyclePhase, now: Instant) -> Result<(), PhaseRefusal> {
        if to == LifecyclePhase::Resolved {
            let at = self.record.progress().phase();
            return Err(PhaseRefusal::OutOfOrder { at, asked: to });
        }
        self.record.advance(to, now)
    }

    /// Publishes the end. Whether a cancel was accepted is decided here, against every canceller at once: what
    /// `evidence` says of it is replaced. Later cancels are told the state.
    #[must_use = "the outcome is what the caller gets"]
    pub fn publish(self, evidence: Evidence, consumption: BudgetConsumption, now: Instant) -> Published {
        self.publish_as(conclude_keeping, evidence, consumption, now)
    }

    /// Publishes the end of an activation that was denied before it had a cell: as [`Self::publish`], but
    /// `resource-exhausted` is a refusal ([`conclude_denial`](crate::precedence::conclude_denial)).
    #[must_use = "the outcome is what the caller gets"]
    pub fn publish_denial(self, evidence: Evidence, now: Instant) -> Published {
        self.publish_as(denial_keeping, evidence, BudgetConsumption::default(), now)
    }

    /// Publishes that nobody waits for the activation any more, unless a cancel was accepted before.
    pub fn abandon(mut self, consumption: BudgetConsumption, now: Instant) -> Published {
        self.open = false;
        self.end(consumption, now, given_up).expect(ALONE)
    }

    fn publish_as(
        mut self,
        conclude: fn(Evidence) -> (ActivationOutcome, Option<Evidence>),
        evidence: Evidence,
        consumption: BudgetConsumption,
        now: Instant,
    ) -> Published {
        self.open = false;
        let decide = |cancel_accepted| conclude(Evidence { cancel_accepted, ..evidence });
        self.end(consumption, now, decide).expect(ALONE)
    }

    fn end(
        &self,
        consumption: BudgetConsumption,
        now: Instant,
        decide: impl FnOnce(bool) -> (ActivationOutcome, Option<Evidence>),
    ) -> Option<Published> {
        let kept_max = self.journal.limits.config.declared_error_bytes_max;
        let ended = self.record.end(consumption, now, kept_max, decide)?;
        let Ended { outcome, resolved, progress, bytes, overruled, latch, waiting } = ended;
        self.journal.settle(self.slot, now, bytes);
        drop((overruled, latch));
        wake(waiting);
        Some(Published { outcome, resolved, progress, record: Arc::clone(&self.record) })
    }
}

const ALONE: &str = "publishing consumes the reservation, which alone can publish";

/// What becomes of an activation whose owner went away.
fn given_up(cancel_accepted: bool) -> (ActivationOutcome, Option<Evidence>) {
    let error = if cancel_accepted {
        PlatformError::cancelled()
    } else {
        let message = "whoever waited for the activation gave it up";
        PlatformError::of_activation(PlatformErrorCode::Cancelled, "activation.abandoned", message)
    };
    (ActivationOutcome::failed(error), None)
}

impl Drop for JournalReservation {
    /// Constant work under two short locks. There is no clock here: the end counts from the latest time that the
    /// journal has been told.
    fn drop(&mut self) {
        if self.open {
            let consumption = self.ledger.as_ref().map(|ledger| ledger.consumption()).unwrap_or_default();
            let received = self.record.received_at().monotonic;
            let now = self.journal.latest(received);
            let _published = self.end(consumption, now, given_up);
        }
    }
}

impl fmt::Debug for JournalReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalReservation").field("record", &self.record).finish_non_exhaustive()
    }
}
