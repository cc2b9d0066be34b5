//! What the scheduler needs of a pool beyond the common seam: an attempt that never queues, and a word when
//! another attempt may fare differently.

use std::task::Waker;

use latent_core::PlatformError;

use crate::cells::{CellLease, CellPool, CellRequest, FixedCellPool};

/// A pool under a scheduler (`fixed-cell-pool.md`, "Lease disposition"). Its leases must end synchronously when they
/// are returned unaccepted or dropped.
pub trait NonqueueingCellPool: CellPool {
    /// Leases an idle cell at once, or answers `None` and changes nothing. Never queues.
    ///
    /// # Errors
    /// Why the request can never be granted. That all cells are quarantined shows in [`CellPool::observations`].
    fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError>;

    /// Has `listener` woken after each change: a cell came back, or was quarantined. The pool wakes it without
    /// holding a lock, and may take several changes together. One listener a pool, for good.
    ///
    /// # Errors
    /// The pool has a listener.
    fn listen(&self, listener: Waker) -> Result<(), PlatformError>;
}

impl NonqueueingCellPool for FixedCellPool {
    fn try_acquire(&self, request: CellRequest) -> Result<Option<CellLease>, PlatformError> {
        Self::try_acquire(self, request)
    }

    fn listen(&self, listener: Waker) -> Result<(), PlatformError> {
        Self::listen(self, listener)
    }
}
