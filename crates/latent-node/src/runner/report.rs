//! What a runner tells about one activation, and about itself.

use std::time::Duration;

use latent_core::{ActivationId, ActivationOutcome, BudgetConsumption, CellId};

/// How one activation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationReport {
    /// The activation.
    pub activation_id: ActivationId,
    /// The cell it was granted, if it was; at most 256 bytes of its name.
    pub cell: Option<CellId>,
    /// What its caller gets.
    pub outcome: ActivationOutcome,
    /// What it used, whatever the outcome.
    pub consumption: BudgetConsumption,
    /// From its arrival to its cell, or to the end of the wait for one.
    pub queue_wait: Duration,
}

/// A runner's counters. The first three are about now; the others count since the runner was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivationRunnerSnapshot {
    /// Activations that can be cancelled.
    pub registrations: usize,
    /// Activations that wait for a cell.
    pub waiting: usize,
    /// Activations inside the backend.
    pub running_invocations: usize,
    /// Cells given back.
    pub releases: u64,
    /// Cells reported as not reusable.
    pub quarantines: u64,
    /// Releases and quarantines that failed.
    pub failed_dispositions: u64,
}
