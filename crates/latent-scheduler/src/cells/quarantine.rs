//! What is known of a cell that is out of reuse. Quarantine is one-way: nothing here leads back.

use latent_core::{CellId, error};

/// Why a cell is out of reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuarantineReason {
    /// The lease's holder asked for it and said why, cut to [`latent_core::error::VALUE_BYTES_MAX`] bytes.
    Requested(Box<str>),
    /// The lease was dropped, or was refused when it came back.
    Abandoned,
    /// The cell could not be leased once more without repeating a number.
    SequenceExhausted,
}

impl QuarantineReason {
    /// A reason as its giver worded it; `None` when it is blank.
    pub(super) fn requested(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self::Requested(error::cut(text, error::VALUE_BYTES_MAX).into()))
    }
}

/// One cell that is out of reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedCell {
    /// Which cell.
    pub cell: CellId,
    /// How many leases it had.
    pub generation: u64,
    /// Why it is out.
    pub reason: QuarantineReason,
}
