//! Who can be cancelled: a bounded table of the activations that are under way, each with its stop latch.
//!
//! A cancel is accepted or not under one short lock, so that it is ordered against the removal of the registration.
//! Latches are woken and dropped outside the lock, because a waker may do anything.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use latent_core::error::cut;
use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode, StopLatch, TenantId, TerminalState};

/// The longest cancel reason that is kept, in bytes. Longer ones are cut.
pub const REASON_BYTES_MAX: usize = 256;

/// What became of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CancelDisposition {
    /// The activation is registered and has been told to stop, now or by an earlier cancel. Not a proof that it has
    /// stopped, nor, for one that had handed over its result already, that the result will change.
    Accepted,
    /// The activation's end has been published, as this. Only a journal knows; a registry has forgotten it by then.
    AlreadyTerminal(TerminalState),
    /// The tenant has no such activation under way, nor a record of one.
    NotFound,
}

/// The activations of all tenants that can be cancelled now. At most `registrations_max`; the next one is refused.
#[derive(Debug)]
pub struct CancellationRegistry {
    registrations_max: usize,
    table: Mutex<Table>,
}

type Key = (TenantId, ActivationId);

/// Slots are found by key when a cancel names an activation, and by index by the registration that owns them.
#[derive(Debug, Default)]
struct Table {
    /// Keys come from callers; the seed is random and the table bounded, so a fast hash serves.
    by_activation: HashMap<Key, usize, RandomState>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    latch: Arc<StopLatch>,
    /// The first accepted reason.
    cancelled: Option<Box<str>>,
}

enum Refused {
    Duplicate,
    Full,
}

impl CancellationRegistry {
    /// A registry for at most `registrations_max` activations at a time. Memory grows with the most that were ever
    /// registered together.
    #[must_use]
    pub fn new(registrations_max: usize) -> Self {
        Self { registrations_max, table: Mutex::default() }
    }

    /// Makes an activation cancellable until the registration is dropped. Accepted cancels stop it through `latch`.
    ///
    /// # Errors
    /// `already-exists`, detail `activation.duplicate`, while the tenant's activation of that id is registered;
    /// retryable `resource-exhausted`, detail `activation.registrations-exhausted`, when the registry is full.
    pub fn register(
        self: &Arc<Self>,
        tenant: &TenantId,
        activation_id: &ActivationId,
        latch: Arc<StopLatch>,
    ) -> Result<CancellationRegistration, PlatformError> {
        let key = (tenant.clone(), activation_id.clone());
        let kept = Arc::clone(&latch);
        let inserted = self.lock().insert(key, latch, self.registrations_max);
        match inserted {
            Ok(index) => Ok(CancellationRegistration { registry: Arc::clone(self), index, latch: kept }),
            Err((refused, _latch)) => Err(self.refusal(&refused, activation_id)),
        }
    }

    /// Cancels an activation of `tenant`. The first accepted reason is kept, cut to [`REASON_BYTES_MAX`].
    pub fn cancel(&self, tenant: &TenantId, activation_id: &ActivationId, reason: &str) -> CancelDisposition {
        let key = (tenant.clone(), activation_id.clone());
        let latch = {
            let mut table = self.lock();
            let Some(slot) = table.find(&key) else { return CancelDisposition::NotFound };
            if slot.cancelled.is_some() {
                return CancelDisposition::Accepted;
            }
            slot.cancelled = Some(cut(reason, REASON_BYTES_MAX).into());
            Arc::clone(&slot.latch)
        };
        latch.request_cancel();
        CancelDisposition::Accepted
    }

    /// How many activations are registered.
    #[must_use]
    pub fn registrations(&self) -> usize {
        self.lock().by_activation.len()
    }

    fn refusal(&self, refused: &Refused, activation_id: &ActivationId) -> PlatformError {
        match refused {
            Refused::Duplicate => PlatformError::new(
                PlatformErrorCode::AlreadyExists,
                format_args!("activation {activation_id} is under way already; use another id or wait for its end"),
            )
            .with_detail(ErrorDetail::new("activation.duplicate").with("activation_id", activation_id)),
            Refused::Full => PlatformError::new(
                PlatformErrorCode::ResourceExhausted,
                format_args!(
                    "all {} places for activations under way are taken; try again later",
                    self.registrations_max
                ),
            )
            .retryable()
            .with_detail(ErrorDetail::new("activation.registrations-exhausted").with("max", self.registrations_max)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// A refusal hands the latch back, to be dropped outside the lock.
    fn insert(&mut self, key: Key, latch: Arc<StopLatch>, max: usize) -> Result<usize, (Refused, Arc<StopLatch>)> {
        let full = self.by_activation.len() >= max;
        let vacant = match self.by_activation.entry(key) {
            Entry::Occupied(_) => return Err((Refused::Duplicate, latch)),
            Entry::Vacant(_) if full => return Err((Refused::Full, latch)),
            Entry::Vacant(vacant) => vacant,
        };
        let slot = Some(Slot { key: vacant.key().clone(), latch, cancelled: None });
        let index = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(index) {
            Some(empty) => *empty = slot,
            None => self.slots.push(slot),
        }
        vacant.insert(index);
        Ok(index)
    }

    fn find(&mut self, key: &Key) -> Option<&mut Slot> {
        let index = *self.by_activation.get(key)?;
        self.slots.get_mut(index)?.as_mut()
    }

    fn remove(&mut self, index: usize) -> Option<Slot> {
        let slot = self.slots.get_mut(index)?.take()?;
        self.by_activation.remove(&slot.key);
        self.free.push(index);
        Some(slot)
    }

    fn slot(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index)?.as_ref()
    }
}

/// One activation's place in the registry. Dropping it removes that place and no other; cancels are `NotFound` from
/// then on. Affine:
/// ```compile_fail,E0277
/// fn needs_clone<T: Clone>() {}
/// needs_clone::<latent_activation::CancellationRegistration>();
/// ```
#[must_use = "dropping a registration makes its activation impossible to cancel"]
pub struct CancellationRegistration {
    registry: Arc<CancellationRegistry>,
    /// Owned by this registration alone until it is dropped.
    index: usize,
    latch: Arc<StopLatch>,
}

impl CancellationRegistration {
    /// Whether a cancel has been accepted and can be seen. Reads the latch, so that looking costs no lock; a canceller
    /// sets it before it answers.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.latch.cancel_requested()
    }

    /// The reason of the first accepted cancel.
    #[must_use]
    pub fn reason(&self) -> Option<Box<str>> {
        self.registry.lock().slot(self.index).and_then(|slot| slot.cancelled.clone())
    }
}

impl fmt::Debug for CancellationRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationRegistration").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Drop for CancellationRegistration {
    fn drop(&mut self) {
        let removed = self.registry.lock().remove(self.index);
        // The latch holds wakers: they are dropped here, after the lock.
        drop(removed);
    }
}

#[cfg(test)]
mod tests;
