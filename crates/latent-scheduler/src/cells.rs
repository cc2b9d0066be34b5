//! The cells of one node: the port, the lease, and the fixed pool with its pure core.
//!
//! Reading order: `port` and `lease` are what others see; `slots` and `core` decide; `pool`, `acquire` and
//! `changes` are the thin shell around the decisions.

mod lease;
mod port;

mod quarantine;
mod refusal;

mod core;
mod slots;

mod acquire;
mod changes;
mod pool;

pub use changes::CellPoolChanges;
pub use lease::{CellLease, CellLeaseIdentity};
pub use pool::{FixedCellPool, FixedCellPoolConfig};
pub use port::{CellLeaseLifecycle, CellPool, CellPoolSnapshot, CellRequest};
pub use quarantine::{QuarantineReason, QuarantinedCell};
pub use slots::POOL_CAPACITY_MAX;
