//! Who may run, when and where.
//!
//! This crate owns the node's execution cells. A *cell* is permission to run one activation at a time; it has a
//! name and a reuse generation and nothing else, so that compiling, loading or registering services can never
//! change how many there are. A *pool* hands cells out as *leases* and takes them back.
//!
//! Three rules hold everywhere:
//!
//! - **A lease ends once.** [`CellLease`] cannot be cloned and only its issuer can end it quietly. It is released
//!   (after cleanup was proved), quarantined (when it was not), or dropped, which counts as quarantined.
//! - **The parts sum to the whole.** At every stable state `available + active_leases + quarantined = capacity`;
//!   [`FixedCellPool::audit`] counts it out.
//! - **Nobody waits unseen.** The queue is bounded and first come, first served; cancelling, dropping the
//!   acquisition and passing the deadline each take the waiter out, and a cell it was already promised goes to
//!   the next one.
//!
//! The decisions live in one pure struct that knows neither time nor tasks. [`FixedCellPool`] puts it behind one
//! short lock, under which nothing foreign runs: no waker is woken or dropped, no clock is read, nothing is
//! awaited. The pool spawns nothing and uses whatever runtime polls its futures; only a queued acquisition that
//! has a deadline needs that runtime's timer.
//!
//! [`CellPool`] is an open seam: other pools implement it and mint their leases through [`CellLease::new`].
//! Schedulers that keep queues of their own compose pools through [`FixedCellPool::try_acquire`], which never
//! queues, and [`FixedCellPool::changes`], which tells when another attempt is worth making.
//!
//! Specification: `fixed-cell-pool.md`.

pub mod admission;

mod cells;

pub mod fair;

pub use cells::{
    CellLease, CellLeaseIdentity, CellLeaseLifecycle, CellPool, CellPoolChanges, CellPoolSnapshot, CellRequest,
    FixedCellPool, FixedCellPoolConfig, POOL_CAPACITY_MAX, QuarantineReason, QuarantinedCell,
};
