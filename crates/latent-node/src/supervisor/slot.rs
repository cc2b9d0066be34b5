//! A reserved slot: the promise that an activation which loses its transport will be cleaned up.
//!
//! Invariant: a slot is either given back or transferred, once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use latent_activation::ActivationRequest;
use latent_core::PlatformError;
use latent_executor::HttpExchange;

use super::continuation::Continuation;
use super::invalid;
use super::supervised::SupervisedActivation;
use super::transfers::Transfers;
use crate::manager::{ActivationArrival, ActivationHandle, LocalActivationManager};

/// What slots, continuations and the driver share.
pub(super) struct Shared {
    pub(super) transfers: Transfers<Continuation>,
    /// How long a continuation may take, from its transfer on.
    pub(super) cap: Duration,
}

/// A slot for one continuation. Dropped, it goes back.
///
/// It cannot be duplicated:
///
/// ```compile_fail,E0277
/// fn needs_clone<T: Clone>() {}
/// needs_clone::<latent_node::ContinuationSlot>();
/// ```
#[must_use = "dropping it gives it back"]
pub struct ContinuationSlot {
    shared: Arc<Shared>,
    /// It is a continuation's by now.
    spent: bool,
}

impl ContinuationSlot {
    /// A slot that `shared` has counted.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, spent: false }
    }

    /// Has `manager` accept a request, under this slot. A refusal gives the slot back.
    ///
    /// # Errors
    /// `invalid-argument`, detail `activation.supervisor-config`, for a manager whose cleanups may take longer than the
    /// supervisor waits for; otherwise as [`LocalActivationManager::start_arrived`].
    pub fn start(
        self,
        manager: &LocalActivationManager,
        request: ActivationRequest,
        arrival: ActivationArrival,
    ) -> Result<SupervisedActivation, PlatformError> {
        self.started(manager, || manager.start_arrived(request, arrival))
    }

    /// Has `manager` accept an HTTP request, under this slot. A refusal gives the slot back.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_http(
        self,
        manager: &LocalActivationManager,
        request: ActivationRequest,
        arrival: ActivationArrival,
        exchange: Arc<HttpExchange>,
    ) -> Result<SupervisedActivation, PlatformError> {
        self.started(manager, || manager.start_http(request, arrival, exchange))
    }

    fn started(
        self,
        manager: &LocalActivationManager,
        start: impl FnOnce() -> Result<ActivationHandle, PlatformError>,
    ) -> Result<SupervisedActivation, PlatformError> {
        if manager.cleanup_grace() * 2 > self.shared.cap {
            return Err(shorter_than(manager.cleanup_grace(), self.shared.cap / 2));
        }
        Ok(SupervisedActivation::new(start()?, self))
    }

    /// Uses the slot for an interrupted activation, whose time begins now. Where there is no driver it is over at once.
    pub(super) fn transfer(mut self, handle: ActivationHandle) {
        self.spent = true;
        let continuation = Continuation::new(handle, Arc::clone(&self.shared));
        // Dropped, a continuation is given up.
        let _given_up = self.shared.transfers.transfer(continuation).err();
    }
}

/// A clean end within the manager's grace would be an overrun here.
fn shorter_than(managers: Duration, own: Duration) -> PlatformError {
    let message =
        format_args!("the supervisor's cleanup_grace is {own:?}, its manager's {managers:?}; give both the same");
    invalid("cleanup_grace", message)
}

impl Drop for ContinuationSlot {
    fn drop(&mut self) {
        if !self.spent {
            self.shared.transfers.give_back();
        }
    }
}

impl fmt::Debug for ContinuationSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuationSlot").finish_non_exhaustive()
    }
}
