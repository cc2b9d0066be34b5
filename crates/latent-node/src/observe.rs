//! What is told of each activation once it has ended, and to whom.
//!
//! Invariant: an observer is told of every published end exactly once, after the quota is refunded, by the thread that
//! ended it; it changes nothing, not even by a panic.

mod limit;

use std::time::Duration;

use latent_activation::{LifecycleEvent, LifecyclePhase, Lineage, Progress};
use latent_core::{
    ActivationOutcome, BudgetConsumption, PlatformError, ResolvedRevision, RouteName, ServiceName, TenantId,
    TerminalState,
};

use std::sync::Arc;

pub use limit::Limit;

use crate::contain::contained;

/// Is told of ends. Called on the way of every activation, by many threads at once: it neither blocks nor waits.
pub trait ActivationObserver: Send + Sync {
    /// An activation has ended, and its caller is about to be told.
    fn ended(&self, end: &ActivationEnd<'_>);
}

/// The published end of an activation: borrowed, for the length of the call.
#[derive(Debug, Clone, Copy)]
pub struct ActivationEnd<'a> {
    /// Whose it was.
    pub tenant: &'a TenantId,
    /// What it is called, and where it says that it comes from.
    pub lineage: &'a Lineage,
    /// The service that was called.
    pub service: &'a ServiceName,
    /// The function that was called, without its contract.
    pub function: &'a str,
    /// The route that was asked for.
    pub route: &'a RouteName,
    /// The revision that it was pinned to, if it got so far.
    pub resolved: Option<&'a ResolvedRevision>,
    /// What its caller gets.
    pub outcome: &'a ActivationOutcome,
    /// Which limit ended it, if one did.
    pub limit: Option<Limit>,
    /// What it used, finalized.
    pub consumption: &'a BudgetConsumption,
    /// Its events, from the reception to the end.
    pub progress: &'a Progress,
    /// Bytes of the payload.
    pub bytes_in: u64,
    /// Bytes of the result or the declared error.
    pub bytes_out: u64,
}

impl ActivationEnd<'_> {
    /// How it ended.
    #[must_use]
    pub fn terminal_state(&self) -> TerminalState {
        self.outcome.terminal_state()
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&PlatformError> {
        match self.outcome {
            ActivationOutcome::Failed { error, .. } => Some(error),
            ActivationOutcome::Succeeded { .. } | ActivationOutcome::DeclaredError { .. } => None,
        }
    }

    /// When it reached `phase`, if it did.
    #[must_use]
    pub fn reached(&self, phase: LifecyclePhase) -> Option<LifecycleEvent> {
        self.progress.events().nth(phase as usize).filter(|event| event.terminal.is_none())
    }

    /// How long it waited for code and for a cell. `None` when it never came to that.
    #[must_use]
    pub fn queue_wait(&self) -> Option<Duration> {
        let queued = self.reached(LifecyclePhase::Queued)?;
        let until = self.reached(LifecyclePhase::Materializing).unwrap_or_else(|| self.progress.last());
        Some(until.since_start.saturating_sub(queued.since_start))
    }

    /// How long its guest ran, its cell's disposal included. `None` when none did.
    #[must_use]
    pub fn run_time(&self) -> Option<Duration> {
        let running = self.reached(LifecyclePhase::Running)?;
        Some(self.progress.last().since_start.saturating_sub(running.since_start))
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl ActivationObserver for NoObserver {
    fn ended(&self, _end: &ActivationEnd<'_>) {}
}

/// Tells several, in order. One that panics keeps the end from none of the others.
pub struct Observers(pub Box<[Arc<dyn ActivationObserver>]>);

impl ActivationObserver for Observers {
    fn ended(&self, end: &ActivationEnd<'_>) {
        for observer in &self.0 {
            let _panicked = contained(|| observer.ended(end));
        }
    }
}
