//! The pool from outside, through its public interface only. Nothing here sleeps: time is paused and turned by
//! hand, and threads meet at barriers.

mod support;

mod capacity;
mod composition;
mod deadline;
mod disposition;
mod external;
mod fair;
mod races;
mod waiting;
