//! Side by side: the same guest through bare Wasmtime and through the node's own path, in one process and one run.
//!
//! Absolute times on shared machines are noise; what counts is the ratio of two series whose samples alternate.
//! [`bare`] is the floor: the very same engine settings, fuel, epochs and a limiter, and nothing else. [`node`] is the
//! runner over the pool, [`lifecycle`] the whole way through the manager. [`subjects`] are called and [`series`] takes
//! the samples. [`endurance`] runs the runner for long and looks at what is left, [`lives`] does so with the manager and
//! its supervisor, [`crash`] with a storage whose owner is killed, [`nodes`] with whole nodes, from outside, and [`hostile`]
//! with all that may be done to one. [`scale`] fills a node with dormant services, [`fairness`] puts hostile tenants on
//! one, and [`soak`] calls one for long. [`catalogs`] makes catalogs
//! of any size, [`wire`] calls servers over loopback, and [`web`] compares HTTP services as whole processes.

pub mod allocations;
pub mod bare;
pub mod catalogs;
pub mod crash;
pub mod endurance;
pub mod fairness;
pub mod hostile;
pub mod lifecycle;
pub mod lives;
pub mod node;
pub mod nodes;
pub mod process;
pub mod scale;
pub mod series;
pub mod soak;
pub mod subjects;
pub mod web;
pub mod wire;
