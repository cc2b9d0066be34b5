//! How much code may be pinned by activations that wait for a cell.
//!
//! Code that is pinned outlives its place in the cache, so that the cache's bounds say nothing about it. Invariant: at
//! most so many readiness pins exist at once, over code of at most so many bytes, each component counted once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::PreparedCode as _;

use crate::gauges::HeldUse;
use crate::prepare::PreparedComponent;

/// Bounds of what readiness may pin.
#[derive(Debug, Clone, Copy)]
pub struct ReadyBounds {
    /// Pins at once.
    pub pins_max: u64,
    /// Bytes of compiled code under pins.
    pub bytes_max: u64,
}

/// The pins of one backend.
#[derive(Debug)]
pub struct ReadyPins {
    held: Mutex<Held>,
    bounds: ReadyBounds,
}

#[derive(Debug, Default)]
struct Held {
    pins: u64,
    bytes: u64,
}

/// How often one component is pinned. Part of the component; only [`ReadyPins`] changes it, under its lock.
#[derive(Debug, Default)]
pub struct PinCount(AtomicU64);

/// One pin, given back when it drops.
#[must_use = "dropping a pin gives it up"]
pub struct ReadyPin {
    pins: Arc<ReadyPins>,
    code: Arc<PreparedComponent>,
}

/// The pin of one readiness, with room for what turns it into a use: both are kept in one allocation.
pub struct ReadyGuard {
    _pin: ReadyPin,
    held: Option<HeldUse>,
}

impl ReadyGuard {
    /// Guards a readiness.
    pub fn new(pin: ReadyPin) -> Self {
        Self { _pin: pin, held: None }
    }

    /// Guards a use from now on.
    pub fn hold(&mut self, held: HeldUse) {
        self.held = Some(held);
    }
}

impl ReadyPins {
    /// No pins yet.
    pub fn new(bounds: ReadyBounds) -> Arc<Self> {
        Arc::new(Self { held: Mutex::default(), bounds })
    }

    /// Pins `code`.
    ///
    /// # Errors
    /// `resource-exhausted` when there are as many pins, or as many bytes under pins, as there may be.
    pub fn pin(self: &Arc<Self>, code: Arc<PreparedComponent>) -> Result<ReadyPin, PlatformError> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take(&self.bounds, code.pins(), code.code_bytes())?;
        Ok(ReadyPin { pins: self.clone(), code })
    }

    /// Pins, and bytes under them.
    pub fn usage(&self) -> (u64, u64) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        (held.pins, held.bytes)
    }
}

impl Held {
    fn take(&mut self, bounds: &ReadyBounds, count: &PinCount, bytes: u64) -> Result<(), PlatformError> {
        let first = count.0.load(Ordering::Relaxed) == 0;
        let more = if first { bytes } else { 0 };
        if self.pins >= bounds.pins_max {
            return Err(exhausted("ready_pins_max", bounds.pins_max));
        }
        // One component alone may always be pinned: it could never run otherwise.
        if more > 0 && self.bytes > 0 && self.bytes.saturating_add(more) > bounds.bytes_max {
            return Err(exhausted("ready_bytes_max", bounds.bytes_max));
        }
        self.pins += 1;
        self.bytes += more;
        count.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn give_back(&mut self, count: &PinCount, bytes: u64) {
        self.pins -= 1;
        if count.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.bytes -= bytes;
        }
    }
}

impl Drop for ReadyPin {
    fn drop(&mut self) {
        let mut held = self.pins.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.give_back(self.code.pins(), self.code.code_bytes());
    }
}

fn exhausted(setting: &str, max: u64) -> PlatformError {
    let message = format_args!("too much code waits for a cell (setting {setting}, {max}); try again later");
    PlatformError::new(PlatformErrorCode::ResourceExhausted, message)
        .retryable()
        .with_detail(ErrorDetail::new("activation.ready-pins-exhausted").with(setting, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: ReadyBounds = ReadyBounds { pins_max: 3, bytes_max: 100 };

    fn refused(held: &mut Held, count: &PinCount, bytes: u64) -> String {
        let error = held.take(&BOUNDS, count, bytes).expect_err("it is too much");
        assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::ResourceExhausted, true));
        error.message().to_owned()
    }

    #[test]
    fn pins_stop_at_their_number() {
        let (mut held, count) = (Held::default(), PinCount::default());
        for _ in 0..3 {
            held.take(&BOUNDS, &count, 10).unwrap();
        }
        assert!(refused(&mut held, &count, 10).contains("ready_pins_max"));
        held.give_back(&count, 10);
        held.take(&BOUNDS, &count, 10).unwrap();
    }

    #[test]
    fn bytes_count_once_for_each_component_and_are_bounded_over_all() {
        let (mut held, small, large) = (Held::default(), PinCount::default(), PinCount::default());
        held.take(&BOUNDS, &small, 60).unwrap();
        held.take(&BOUNDS, &small, 60).unwrap();
        assert_eq!((held.pins, held.bytes), (2, 60));
        assert!(refused(&mut held, &large, 41).contains("ready_bytes_max"));
        held.give_back(&small, 60);
        assert_eq!(held.bytes, 60, "another pin is left");
        held.give_back(&small, 60);
        assert_eq!((held.pins, held.bytes), (0, 0));
        held.take(&BOUNDS, &large, 1_000).unwrap();
        held.take(&BOUNDS, &large, 1_000).unwrap();
        assert!(refused(&mut held, &small, 60).contains("ready_bytes_max"));
    }
}
