//! What a journal tells about an activation. Values: holding one keeps no record alive and moves nothing.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use latent_core::{
    ActivationId, ActivationOutcome, BudgetConsumption, MediaType, Payload, PlatformError, ResolvedRevision,
    ServiceName, TenantId, TerminalState,
};

use super::config::wide;
use super::record::Record;
use crate::phase::{LifecyclePhase, Progress};
use crate::request::Lineage;

/// The answer to a question about one activation of one tenant. Another tenant's activation is as unknown as one that
/// never was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<T> {
    /// There is a record.
    Found(T),
    /// There was a record of an ended activation, which has been evicted. Told for as long as the id is remembered.
    Evicted,
    /// There is no record. This does not prove that there never was an activation.
    Unknown,
}

impl<T> Lookup<T> {
    /// What was found.
    #[must_use]
    pub fn found(self) -> Option<T> {
        match self {
            Self::Found(found) => Some(found),
            Self::Evicted | Self::Unknown => None,
        }
    }

    /// The same answer about another part of what was found.
    pub fn map<U>(self, part: impl FnOnce(T) -> U) -> Lookup<U> {
        match self {
            Self::Found(found) => Lookup::Found(part(found)),
            Self::Evicted => Lookup::Evicted,
            Self::Unknown => Lookup::Unknown,
        }
    }
}

/// How an activation stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationStatus {
    /// What it is called and says that it comes from.
    pub lineage: Lineage,
    /// Where it is, or was when it ended.
    pub phase: LifecyclePhase,
    /// The number of its last event.
    pub sequence: u64,
    /// The wall time of its reception.
    pub received_at: SystemTime,
    /// The revision that it is pinned to, once resolved.
    pub resolved: Option<ResolvedRevision>,
    /// The reason of the first accepted cancel.
    pub cancel_reason: Option<Box<str>>,
    /// Its end, once published.
    pub terminal: Option<TerminalRecord>,
}

/// The published end of an activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalRecord {
    /// The classification.
    pub state: TerminalState,
    /// The outcome, without output bytes.
    pub outcome: RetainedOutcome,
    /// What it used, finalized.
    pub consumption: BudgetConsumption,
    /// When it ended: monotonic time since the reception.
    pub since_start: Duration,
    /// When it ended: the wall time of the reception plus `since_start`.
    pub at: SystemTime,
}

/// What is kept of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetainedOutcome {
    /// The guest returned a result.
    Succeeded(SuccessSummary),
    /// The guest returned the `err` of its own top-level `result`.
    DeclaredError(RetainedDeclaredError),
    /// The activation ended any other way.
    Failed(PlatformError),
}

/// What is kept of a success: not its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuccessSummary {
    /// How the output was to be read.
    pub media_type: MediaType,
    /// How many bytes it had.
    pub output_bytes: u64,
    /// The state version that was committed. A stateless activation commits none.
    pub state_version: Option<Box<str>>,
    /// The effects that were handed on. A stateless activation has none.
    pub effect_ids: Box<[Box<str>]>,
}

/// What is kept of a declared error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetainedDeclaredError {
    /// The whole error.
    Whole(Payload),
    /// It was larger than a record may keep.
    TooLarge {
        /// How it was to be read.
        media_type: MediaType,
        /// How many bytes it had.
        bytes: u64,
    },
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationSummary {
    /// The activation.
    pub activation_id: ActivationId,
    /// The service of the revision that it is pinned to, once resolved.
    pub service: Option<ServiceName>,
    /// Where it is, or was when it ended.
    pub phase: LifecyclePhase,
    /// How it ended, once published.
    pub terminal: Option<TerminalState>,
    /// The wall time of its reception.
    pub received_at: SystemTime,
    /// Whether a cancel was accepted.
    pub cancel_accepted: bool,
}

/// Where the next page of a list begins. Means nothing to another tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCursor(pub(super) u64);

impl PageCursor {
    /// The cursor that was written down as `number`. One that was made up leads to some page of the asking tenant.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// A number to write the cursor down with.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// A part of a tenant's list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationPage {
    /// The lines. There may be fewer than asked for, even none, although another page follows.
    pub rows: Vec<ActivationSummary>,
    /// Where to go on; `None` at the end.
    pub next: Option<PageCursor>,
}

/// What became of a published activation.
#[derive(Debug)]
pub struct Published {
    /// What the caller gets, output included.
    pub outcome: ActivationOutcome,
    /// The revision that the activation was pinned to, if it got so far.
    pub resolved: Option<ResolvedRevision>,
    /// The events from the reception to the end.
    pub progress: Progress,
    pub(super) record: Arc<Record>,
}

impl Published {
    /// Whose activation it was.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        self.record.tenant()
    }

    /// What it is called, and where it says that it comes from.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        self.record.lineage()
    }
}

impl RetainedOutcome {
    /// What is kept of `outcome`, with at most `declared_error_bytes_max` bytes of a declared error.
    pub(super) fn of(outcome: &ActivationOutcome, declared_error_bytes_max: u64) -> Self {
        match outcome {
            ActivationOutcome::Succeeded { output } => Self::Succeeded(SuccessSummary {
                media_type: output.media_type,
                output_bytes: wide(output.bytes.len()),
                state_version: None,
                effect_ids: Box::default(),
            }),
            ActivationOutcome::DeclaredError { error } => {
                let media_type = error.media_type;
                let bytes = wide(error.bytes.len());
                Self::DeclaredError(if bytes <= declared_error_bytes_max {
                    // A copy, because the bytes may be a slice of something larger.
                    let bytes = error.bytes.to_vec().into();
                    RetainedDeclaredError::Whole(Payload { media_type, bytes })
                } else {
                    RetainedDeclaredError::TooLarge { media_type, bytes }
                })
            }
            ActivationOutcome::Failed { error, .. } => Self::Failed(error.clone()),
        }
    }
}
