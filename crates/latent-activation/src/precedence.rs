//! What wins when several things ended an activation: one table, [`EndCause`], and one function, [`conclude`].
//!
//! The facts are gathered once, at the hand-over of the result; what is learnt later, except a failed disposition,
//! changes nothing (`activation-containment.md`, "Race and error precedence").

use std::time::Duration;

use latent_core::{
    ActivationOutcome, CellId, ErrorDetail, ExecutionOutcome, PlatformError, PlatformErrorCode, TerminalState,
};

use crate::outcome::from_execution;

/// What can end an activation, strongest first: the order of the variants is the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndCause {
    /// The cell could be neither released nor quarantined as it should: nobody knows who owns it.
    DispositionFailed,
    /// An explicit cancel was accepted, or an execution stopped on one.
    Cancelled,
    /// The effective deadline had passed.
    DeadlineExceeded,
    /// The transport went away.
    TransportStopped,
    /// Memory was denied.
    MemoryExhausted,
    /// Fuel ran out.
    FuelExhausted,
    /// The guest trapped.
    GuestTrapped,
    /// Whatever else the execution came to: a return, another limit, a generic failure.
    Otherwise,
}

impl EndCause {
    /// Every cause, strongest first.
    pub const TABLE: [Self; 8] = [
        Self::DispositionFailed,
        Self::Cancelled,
        Self::DeadlineExceeded,
        Self::TransportStopped,
        Self::MemoryExhausted,
        Self::FuelExhausted,
        Self::GuestTrapped,
        Self::Otherwise,
    ];

    /// Where an execution's own outcome stands in the table.
    #[must_use]
    pub fn of(execution: &ExecutionOutcome) -> Self {
        use ExecutionOutcome as E;
        match execution {
            E::Cancelled => Self::Cancelled,
            E::DeadlineExceeded => Self::DeadlineExceeded,
            E::TransportStopped => Self::TransportStopped,
            E::MemoryExhausted => Self::MemoryExhausted,
            E::FuelExhausted => Self::FuelExhausted,
            E::Trapped { .. } | E::Exited { .. } => Self::GuestTrapped,
            E::Failed(error) if error.code() == PlatformErrorCode::Cancelled => Self::Cancelled,
            E::Failed(error) if error.code() == PlatformErrorCode::DeadlineExceeded => Self::DeadlineExceeded,
            E::Returned(_) | E::DeclaredError(_) | E::LimitExceeded { .. } | E::Failed(_) => Self::Otherwise,
        }
    }
}

/// A cell whose end could not be recorded. The lease is gone; its pool takes the cell out of reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispositionFailure {
    /// The release was refused.
    Release {
        /// Which cell.
        cell: CellId,
        /// What the pool said.
        cause: PlatformError,
    },
    /// The quarantine was refused.
    Quarantine {
        /// Which cell.
        cell: CellId,
        /// What the pool said.
        cause: PlatformError,
    },
    /// The cleanup of an activation whose transport went away took longer than it may. Its cell, if it had one, is out
    /// of reuse.
    Overrun {
        /// How long it may take.
        cap: Duration,
    },
}

impl DispositionFailure {
    /// What the caller is told: `internal`, with a pool's code and first detail kind, but none of its prose.
    fn error(&self) -> PlatformError {
        let (kind, message, cell, cause) = match self {
            Self::Release { cell, cause } => {
                ("cell-disposition.release-failed", "the activation's cell could not be released", cell, cause)
            }
            Self::Quarantine { cell, cause } => {
                ("cell-disposition.quarantine-failed", "the activation's cell could not be quarantined", cell, cause)
            }
            Self::Overrun { cap } => {
                let detail = ErrorDetail::new("cell-disposition.cleanup-overrun").with("cap_ms", cap.as_millis());
                let message = "the activation's cleanup did not end in time; its cell is not used again";
                return PlatformError::new(PlatformErrorCode::Internal, message).with_detail(detail);
            }
        };
        let mut detail = ErrorDetail::new(kind).with("cell", cell.bounded()).with("cause_code", cause.code());
        if let Some(first) = cause.details().first() {
            detail = detail.with("cause_kind", first.kind());
        }
        PlatformError::new(PlatformErrorCode::Internal, message).with_detail(detail)
    }
}

/// Everything known about the end of one activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The cell's disposition failed.
    pub disposition_failure: Option<DispositionFailure>,
    /// A cancel had been accepted when the result was handed over.
    pub cancel_accepted: bool,
    /// The effective deadline had passed when the result was handed over.
    pub deadline_elapsed: bool,
    /// The transport that carried the call had gone away when the result was handed over.
    pub transport_stopped: bool,
    /// What the execution, or whatever took its place, came to.
    pub execution: ExecutionOutcome,
}

impl Evidence {
    /// Nothing is known but what the execution came to.
    #[must_use]
    pub fn of(execution: ExecutionOutcome) -> Self {
        Self {
            disposition_failure: None,
            cancel_accepted: false,
            deadline_elapsed: false,
            transport_stopped: false,
            execution,
        }
    }

    /// The strongest cause there is evidence for.
    #[must_use]
    pub fn cause(&self) -> EndCause {
        let mut cause = EndCause::of(&self.execution);
        if self.transport_stopped {
            cause = cause.min(EndCause::TransportStopped);
        }
        if self.deadline_elapsed {
            cause = cause.min(EndCause::DeadlineExceeded);
        }
        if self.cancel_accepted {
            cause = cause.min(EndCause::Cancelled);
        }
        if self.disposition_failure.is_some() {
            cause = cause.min(EndCause::DispositionFailed);
        }
        cause
    }
}

/// The one outcome that the evidence amounts to.
#[must_use]
pub fn conclude(evidence: Evidence) -> ActivationOutcome {
    let (outcome, _overruled) = conclude_keeping(evidence);
    outcome
}

/// The one outcome of an activation that was denied before it had a cell, by a quota or by a full queue. As
/// [`conclude`], but for a node that has too little `resource-exhausted` is a refusal: the activation used up nothing
/// (`activation-lifecycle.md`, "Resolution and lifecycle": denied admission is rejected).
#[must_use]
pub fn conclude_denial(evidence: Evidence) -> ActivationOutcome {
    let (outcome, _overruled) = denial_keeping(evidence);
    outcome
}

pub(crate) fn denial_keeping(evidence: Evidence) -> (ActivationOutcome, Option<Evidence>) {
    let (mut outcome, overruled) = conclude_keeping(evidence);
    if let ActivationOutcome::Failed { terminal_state: state @ TerminalState::ResourceExhausted, .. } = &mut outcome {
        *state = TerminalState::Rejected;
    }
    (outcome, overruled)
}

/// The one outcome, and the evidence where something overruled what the execution came to: payloads may be costly to drop,
/// and whoever concludes under a lock does that later.
pub(crate) fn conclude_keeping(evidence: Evidence) -> (ActivationOutcome, Option<Evidence>) {
    let error = match (evidence.cause(), &evidence.disposition_failure) {
        (EndCause::DispositionFailed, Some(failure)) => failure.error(),
        (EndCause::Cancelled, _) => PlatformError::cancelled(),
        (EndCause::DeadlineExceeded, _) => PlatformError::deadline_exceeded(),
        (EndCause::TransportStopped, _) => PlatformError::transport_stopped(),
        _ => return (from_execution(evidence.execution), None),
    };
    (ActivationOutcome::failed(error), Some(evidence))
}

#[cfg(test)]
mod tests;
