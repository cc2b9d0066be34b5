//! The cleanup supervisor: what becomes of activations whose transport goes away.
//!
//! Invariant: a slot is reserved before an id is accepted, so that every activation which loses its transport is polled
//! to its end by one fixed driver, or given up when its time is over. No task a disconnect, and nothing runs twice.

mod transfers;

mod slot;

mod supervised;

mod continuation;

mod driver;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use latent_activation::ActivationRequest;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

use crate::manager::{ActivationArrival, CLEANUP_GRACE_MAX, LocalActivationManager};
use slot::Shared;
use transfers::{Refused, Transfers};

pub use driver::CleanupDriver;
pub use slot::ContinuationSlot;
pub use supervised::SupervisedActivation;
pub use transfers::{CleanupDiscrepancy, CleanupSupervisorSnapshot};

/// The most slots that a supervisor may have.
pub const CONTINUATIONS_MAX: usize = 65_536;

/// How a supervisor is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanupSupervisorConfig {
    /// How many activations may be under way or being cleaned up. 1 to [`CONTINUATIONS_MAX`]; default 64. About 500
    /// bytes each while it is being cleaned up, besides the activation itself.
    pub continuations_max: usize,
    /// The grace of the manager whose activations are supervised. Twice as much is the cap of a continuation, from the
    /// transfer to the end of its record: for the driver to have its turn, for the backend, and for the pool. Default
    /// 100 milliseconds; more than zero, at most [`CLEANUP_GRACE_MAX`].
    pub cleanup_grace: Duration,
}

impl Default for CleanupSupervisorConfig {
    fn default() -> Self {
        Self { continuations_max: 64, cleanup_grace: Duration::from_millis(100) }
    }
}

/// Reserves slots and accepts activations under them (`activation-lifecycle.md`, "Cancellation, cleanup, and
/// accounting"). Dropping it closes it.
pub struct CleanupSupervisor {
    shared: Arc<Shared>,
}

impl CleanupSupervisor {
    /// A supervisor, and the driver that is to be spawned once.
    ///
    /// # Errors
    /// `invalid-argument`, detail `activation.supervisor-config`, for a setting out of its bounds.
    pub fn new(config: CleanupSupervisorConfig) -> Result<(Arc<Self>, CleanupDriver), PlatformError> {
        let CleanupSupervisorConfig { continuations_max, cleanup_grace } = config;
        if continuations_max == 0 || continuations_max > CONTINUATIONS_MAX {
            let message =
                format_args!("continuations_max is {continuations_max}; it has to be 1 to {CONTINUATIONS_MAX}");
            return Err(invalid("continuations_max", message));
        }
        if cleanup_grace.is_zero() || cleanup_grace > CLEANUP_GRACE_MAX {
            let message =
                format_args!("cleanup_grace is {cleanup_grace:?}; it has to be more than zero and at most one second");
            return Err(invalid("cleanup_grace", message));
        }
        let shared = Arc::new(Shared { transfers: Transfers::new(continuations_max), cap: cleanup_grace * 2 });
        let driver = CleanupDriver::new(Arc::clone(&shared));
        Ok((Arc::new(Self { shared }), driver))
    }

    /// Sets a slot aside for one activation.
    ///
    /// # Errors
    /// Retryable both: `resource-exhausted`, detail `activation.continuations-exhausted` with `max`, when every slot is
    /// in use; `unavailable`, detail `activation.shutting-down`, once closed.
    pub fn reserve(&self) -> Result<ContinuationSlot, PlatformError> {
        match self.shared.transfers.reserve() {
            Ok(()) => Ok(ContinuationSlot::new(Arc::clone(&self.shared))),
            Err(Refused::Exhausted) => Err(exhausted(self.snapshot().continuations_max)),
            Err(Refused::Closed) => Err(shutting_down()),
        }
    }

    /// Reserves a slot, then has `manager` accept the request. A refusal leaves neither a slot nor a record.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), then as [`LocalActivationManager::start_arrived`].
    pub fn start(
        &self,
        manager: &LocalActivationManager,
        request: ActivationRequest,
        arrival: ActivationArrival,
    ) -> Result<SupervisedActivation, PlatformError> {
        self.reserve()?.start(manager, request, arrival)
    }

    /// Gives no slot any more. What has one goes on, and the driver ends after the last. Idempotent.
    pub fn close(&self) {
        self.shared.transfers.close();
    }

    /// How long a continuation may take: twice the grace.
    #[must_use]
    pub fn continuation_cap(&self) -> Duration {
        self.shared.cap
    }

    /// The counters, in constant time.
    #[must_use]
    pub fn snapshot(&self) -> CleanupSupervisorSnapshot {
        self.shared.transfers.snapshot()
    }

    /// Compares the counters with one another and with the queue, in constant time.
    ///
    /// # Errors
    /// The first [`CleanupDiscrepancy`].
    pub fn audit(&self) -> Result<CleanupSupervisorSnapshot, CleanupDiscrepancy> {
        self.shared.transfers.audit()
    }
}

impl Drop for CleanupSupervisor {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for CleanupSupervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CleanupSupervisor").field(&self.snapshot()).finish()
    }
}

fn invalid(setting: &str, message: fmt::Arguments<'_>) -> PlatformError {
    let detail = ErrorDetail::new("activation.supervisor-config").with("setting", setting);
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

fn exhausted(max: usize) -> PlatformError {
    let message = format_args!("all {max} slots for activations and their cleanup are in use; try again later");
    let detail = ErrorDetail::new("activation.continuations-exhausted").with("max", max);
    PlatformError::new(PlatformErrorCode::ResourceExhausted, message).with_detail(detail).retryable()
}

fn shutting_down() -> PlatformError {
    let message = "the node is shutting down; try again later or on another node";
    PlatformError::of_activation(PlatformErrorCode::Unavailable, "activation.shutting-down", message).retryable()
}
