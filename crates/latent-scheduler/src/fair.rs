//! Who gets the next cell: fair queues over pools that are asked without queueing.
//!
//! Reading order: `turns` and `core` decide, `class` puts them behind one short lock a class and drives them;
//! `waiting` and `scheduler` are the thin future in front, `assignment` is what comes out. Invariant: nobody waits
//! while a cell is idle that its tenant may have; a cell is promised to at most one entry.

mod ask;
mod core;
mod turns;

mod class;
mod port;
mod refusal;

mod assignment;
mod scheduler;
mod waiting;

pub use self::core::SchedulerSnapshot;
pub use assignment::{Assignment, Disposed, Entered};
pub use port::NonqueueingCellPool;
pub use refusal::{SCHEDULER_LIMIT, Unassigned, UnassignedReason};
pub use scheduler::{CLEANUP_GRACE_MAX, ClassQueue, LocalScheduler, LocalSchedulerConfig, QUEUE_CAPACITY_MAX};
