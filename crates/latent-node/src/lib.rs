//! The shell of a node: the only place where a run, a cell and a component meet.
//!
//! [`Phase0ActivationRunner`] takes one activation from its envelope to its report: it registers the cancellation, gets
//! a cell from a `CellPool`, runs the component through an `ExecutionBackend` and ends the cell's lease. The policies it
//! follows are pure and live elsewhere (who may run in latent-scheduler, what is published in latent-activation); what
//! is here keeps order, holds what is owned and lets go of it.
//!
//! Each state of ownership is a type that the next one consumes, so that a step cannot be skipped or taken twice.
//! Nothing here spawns a task or keeps a future of its own: the caller polls, and dropping a run at any point gives
//! everything up pessimistically. Specification: `activation-containment.md`, "Cleanup ordering".

mod contain;
mod names;

mod runner;

mod manager;

mod supervisor;

pub mod runtime;

pub use manager::{
    ActivationArrival, ActivationHandle, ActivationManager, ActivationReceipt, ActivationTransportInterruption,
    CLEANUP_GRACE_MAX, LocalActivationManager, LocalActivationManagerConfig, LocalActivationManagerParts,
};
pub use runner::{ActivationReport, ActivationRunnerSnapshot, Phase0ActivationRunner, Phase0ActivationRunnerConfig};
pub use supervisor::{
    CONTINUATIONS_MAX, CleanupDiscrepancy, CleanupDriver, CleanupSupervisor, CleanupSupervisorConfig,
    CleanupSupervisorSnapshot, ContinuationSlot, SupervisedActivation,
};
