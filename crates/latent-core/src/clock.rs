//! Wall time as a port. Production reads the system's clock; tests turn a manual one by hand and advance it
//! together with their runtime's paused timer (`fixed-cell-pool.md`, "Waiting and cancellation").

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// Where wall time comes from.
pub trait WallClock: Send + Sync {
    /// The wall time now.
    fn now(&self) -> SystemTime;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemWallClock;

impl WallClock for SystemWallClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads ambient wall time")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualWallClock(Mutex<SystemTime>);

impl ManualWallClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn new(start: SystemTime) -> Self {
        Self(Mutex::new(start))
    }

    /// Moves the clock forward by `step`.
    pub fn advance(&self, step: Duration) {
        *self.lock() += step;
    }

    /// Sets the clock, backwards too, as an operator or NTP may.
    pub fn set(&self, to: SystemTime) {
        *self.lock() = to;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SystemTime> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl WallClock for ManualWallClock {
    fn now(&self) -> SystemTime {
        *self.lock()
    }
}
