//! Who may run, when and where.
//!
//! An activation passes three doors here. [`admission`] decides whether it may take part, with how much, until when
//! and in which class of cell, and reserves its quota. [`fair`] decides who gets the next cell. [`CellPool`]s hand the
//! cells out and take them back. Each door gives something affine: an admission permit, an assignment, a lease; each
//! refusal hands back what came in.
//!
//! The cells are the node's. A *cell* is permission to run one activation at a time; it has a
//! name and a reuse generation and nothing else, so that compiling, loading or registering services can never
//! change how many there are. A *pool* hands cells out as *leases* and takes them back.
//!
//! These rules hold everywhere:
//!
//! - **A lease ends once.** [`CellLease`] cannot be cloned and only its issuer can end it quietly. It is released
//!   (after cleanup was proved), quarantined (when it was not), or dropped, which counts as quarantined.
//! - **The parts sum to the whole.** At every stable state `available + active_leases + quarantined = capacity`;
//!   [`FixedCellPool::audit`] counts it out.
//! - **Nobody waits unseen.** The queue is bounded and first come, first served; cancelling, dropping the
//!   acquisition and passing the deadline each take the waiter out, and a cell it was already promised goes to
//!   the next one.
//!
//! - **Quota is refunded once, and last.** A permit refunds when it is dropped; a cell that must be quarantined is
//!   quarantined before that. [`admission::QuotaLedger::audit`] counts it out.
//! - **No tenant's backlog delays another by more than its turn.** Tenants take turns, and [`fair::LocalScheduler`]
//!   states the worst wait that follows.
//!
//! The decisions live in pure structs that know neither time nor tasks: the pool's core, the ledger's books, a
//! class's queue. Each is behind one short lock, under which nothing foreign runs: no waker is woken or dropped, no
//! clock is read, nothing is awaited, no other lock is taken. The crate spawns nothing and uses whatever runtime polls
//! its futures; only what waits needs that runtime's timer. A cell that comes back is handed on by whoever brings it
//! back, because the scheduler is its pool's listener.
//!
//! [`CellPool`] is an open seam: other pools implement it and mint their leases through [`CellLease::new`].
//! Schedulers that keep queues of their own compose pools through [`FixedCellPool::try_acquire`], which never
//! queues, and [`FixedCellPool::listen`] or [`FixedCellPool::changes`], which tell when another attempt is worth
//! making; [`fair::NonqueueingCellPool`] is that seam.
//!
//! Specification: `fixed-cell-pool.md`; reference, sections 4 and 5.

pub mod admission;

mod cells;

pub mod fair;

pub use cells::{
    CellLease, CellLeaseIdentity, CellLeaseLifecycle, CellPool, CellPoolChanges, CellPoolSnapshot, CellRequest,
    FixedCellPool, FixedCellPoolConfig, POOL_CAPACITY_MAX, QuarantineReason, QuarantinedCell,
};
