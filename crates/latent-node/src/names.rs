//! Names within the bounds of an error and a record.

use latent_core::CellId;
use latent_core::error::VALUE_BYTES_MAX;

/// The cell's name within its bound; the usual short one is shared, not copied.
pub(crate) fn bounded(cell: &CellId) -> CellId {
    if cell.as_str().len() <= VALUE_BYTES_MAX { cell.clone() } else { CellId::new(cell.bounded()) }
}

/// A pool refuses a blank reason; that the backend gave none must not cost the activation its result.
pub(crate) fn readable(reason: &'static str) -> &'static str {
    if reason.trim().is_empty() { "the backend gave no reason" } else { reason }
}
