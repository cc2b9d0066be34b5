//! The shell of a node: the only place where a run, a cell and a component meet.
//!
//! To embed the whole lifecycle, start at [`LocalActivationManager`]: it takes one activation from its request to its
//! record, over a catalog, admission, a scheduler, a backend and a journal. Where callers may go away before the end,
//! start activations through a [`CleanupSupervisor`]: dropping the handle of a guest that runs costs its cell. The parts
//! and the sizes that have to go together are in `docs/embedding.md`.
//!
//! [`Phase0ActivationRunner`] is the containment alone: from an envelope over a `CellPool` and an `ExecutionBackend` to a
//! report, without routes, quotas or records. The policies that both follow are pure and live elsewhere (who may run in
//! latent-scheduler, what is published in latent-activation); what is here keeps order, holds what is owned and lets go
//! of it.
//!
//! Each state of ownership is a type that the next one consumes, so that a step cannot be skipped or taken twice.
//! Nothing here spawns a task: the caller polls, and dropping a run at any point gives everything up pessimistically. Only
//! the [`CleanupDriver`] keeps futures of others, and whoever owns the runtime spawns it. Specification:
//! `activation-lifecycle.md` and `activation-containment.md`, whose rules `docs/conformance.md` restates.

mod contain;
mod names;
mod time;

mod runner;

mod manager;

mod supervisor;

pub mod access;

pub mod logs;

pub mod observe;

pub mod metrics;

pub mod operations;

pub mod pressure;

pub mod runtime;

pub use latent_scheduler::admission::{QueueClass, TransportTimeout};
pub mod usage;

pub use manager::{
    ActivationArrival, ActivationHandle, ActivationManager, ActivationReceipt, ActivationTransportInterruption,
    CLEANUP_GRACE_MAX, LocalActivationManager, LocalActivationManagerConfig, LocalActivationManagerParts,
};
pub use observe::{ActivationEnd, ActivationObserver, Limit, NoObserver, Observers};
pub use runner::{ActivationReport, ActivationRunnerSnapshot, Phase0ActivationRunner, Phase0ActivationRunnerConfig};
pub use supervisor::{
    CONTINUATIONS_MAX, CleanupDiscrepancy, CleanupDriver, CleanupSupervisor, CleanupSupervisorConfig,
    CleanupSupervisorSnapshot, ContinuationSlot, SupervisedActivation,
};
