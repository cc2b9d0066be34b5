//! An activation whose transport is there: polled by whoever serves the call.
//!
//! Invariant: it holds a slot until it has ended or is transferred, so that losing its transport never fails.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use latent_activation::Lineage;
use latent_core::{ActivationId, TenantId};

use super::slot::ContinuationSlot;
use crate::manager::{ActivationHandle, ActivationReceipt, ActivationTransportInterruption};

/// A supervised activation. Dropped before it is ready, by a transport that went away, it transfers the same activation
/// to the driver, which cleans up: interrupted, but neither started anew nor abandoned. The transfer takes one short lock
/// and never waits.
#[must_use = "an activation runs when it is polled, and is interrupted when it is dropped"]
pub struct SupervisedActivation {
    /// There until it is dropped.
    handle: Option<ActivationHandle>,
    /// There until the activation has ended.
    slot: Option<ContinuationSlot>,
}

impl SupervisedActivation {
    pub(super) fn new(handle: ActivationHandle, slot: ContinuationSlot) -> Self {
        Self { handle: Some(handle), slot: Some(slot) }
    }

    /// What the activation is called.
    #[must_use]
    pub fn activation_id(&self) -> &ActivationId {
        self.handle().activation_id()
    }

    /// What it is called, and where it says that it comes from.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        self.handle().lineage()
    }

    /// Whose activation it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        self.handle().tenant()
    }

    /// Transfers the activation because its transport ran out of time by its own clock. After it was ready this does
    /// nothing.
    pub fn transport_deadline_exceeded(mut self) {
        self.transfer(ActivationTransportInterruption::DeadlineExceeded);
    }

    fn handle(&self) -> &ActivationHandle {
        self.handle.as_ref().expect("the activation is there until it is transferred, which consumes this")
    }

    fn transfer(&mut self, interruption: ActivationTransportInterruption) {
        let Some(slot) = self.slot.take() else { return };
        let Some(handle) = self.handle.take() else { return };
        slot.transfer(handle.interrupt_for_cleanup(interruption));
    }
}

impl Future for SupervisedActivation {
    type Output = ActivationReceipt;

    /// # Panics
    /// When it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ActivationReceipt> {
        let handle = self.handle.as_mut().expect("the activation is there until it is transferred");
        let polled = Pin::new(handle).poll(cx);
        if polled.is_ready() {
            self.slot = None;
        }
        polled
    }
}

impl Drop for SupervisedActivation {
    fn drop(&mut self) {
        self.transfer(ActivationTransportInterruption::Disconnected);
    }
}

impl fmt::Debug for SupervisedActivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SupervisedActivation").field(&self.handle).finish()
    }
}
