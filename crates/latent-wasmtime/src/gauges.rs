//! Live counts of what invocations hold. A count rises when its guard is made and falls when the guard drops, on
//! every way out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One live count, shared by the guards that it counts.
#[derive(Debug, Default, Clone)]
pub struct Gauge(Arc<AtomicU64>);

/// One counted thing.
#[derive(Debug)]
pub struct Held(Gauge);

impl Gauge {
    /// Counts one more until the guard drops.
    #[must_use]
    pub fn hold(&self) -> Held {
        self.0.fetch_add(1, Ordering::Relaxed);
        Held(self.clone())
    }

    /// Counts one more if fewer than `max` are held.
    #[must_use]
    pub fn try_hold(&self, max: u64) -> Option<Held> {
        let more = |held: u64| held.checked_add(1).filter(|more| *more <= max);
        self.0.try_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Held(self.clone()))
    }

    /// The count now.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The counts of one backend.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Invocations between entry and result.
    pub invocations: Gauge,
    /// Live stores.
    pub stores: Gauge,
    /// Live host states, each with its live probe.
    pub host_states: Gauge,
    /// Live component instances.
    pub instances: Gauge,
    /// Decoded parameters and encoded results.
    pub buffers: Gauge,
    /// Permits of live instances.
    pub permits: Gauge,
    /// Pins on prepared code outside the cache.
    pub pins: Gauge,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_gauge_stops_exactly_at_its_bound() {
        let gauge = Gauge::default();
        let held: Vec<_> = (0..5).map_while(|_| gauge.try_hold(3)).collect();
        assert_eq!((held.len(), gauge.get()), (3, 3));
        drop(held);
        assert_eq!(gauge.get(), 0);
    }
}
