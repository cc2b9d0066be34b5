//! What an activation may use, what it did use, and the ledger that both sides charge.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// What one activation is granted. Every dimension is a ceiling; reaching it ends the activation or, for log
/// bytes, drops the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceBudget {
    /// Units of fuel: about one per executed instruction. Zero is infeasible.
    pub fuel: u64,
    /// Bytes of linear memory, over all memories together. Zero is infeasible.
    pub memory_bytes: u64,
    /// Bytes of accepted log records, in their canonical encoding. Zero accepts none.
    pub log_bytes: u64,
    /// The wall time after which the activation must not run. `None` adds no deadline of its own.
    pub deadline: Option<SystemTime>,
}

impl Default for ResourceBudget {
    /// A standard grant: 100 M fuel, 64 MiB memory, 256 KiB of logs, no deadline.
    fn default() -> Self {
        Self { fuel: 100_000_000, memory_bytes: 64 << 20, log_bytes: 256 << 10, deadline: None }
    }
}

/// The earlier of two optional deadlines.
#[must_use]
pub fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What one activation used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BudgetConsumption {
    /// Units of fuel burnt.
    pub fuel: u64,
    /// The highest total of linear memory, in bytes.
    pub peak_memory_bytes: u64,
    /// Time in the guest and its instantiation; time in a queue is not part of it.
    pub wall_time: Duration,
    /// Bytes of log records the sink accepted, in their canonical encoding.
    pub log_bytes: u64,
    /// HTTP requests that the guest made, refused ones included.
    pub outbound_requests: u64,
}

impl BudgetConsumption {
    /// The greater of both accounts in each dimension, where two sides kept one: neither forgets what the other knows.
    #[must_use]
    pub fn at_least(self, other: &Self) -> Self {
        Self {
            fuel: self.fuel.max(other.fuel),
            peak_memory_bytes: self.peak_memory_bytes.max(other.peak_memory_bytes),
            wall_time: self.wall_time.max(other.wall_time),
            log_bytes: self.log_bytes.max(other.log_bytes),
            outbound_requests: self.outbound_requests.max(other.outbound_requests),
        }
    }
}

/// The running account of one activation, shared by whoever charges it. Reading it is always possible, after a
/// drop or a panic too; nothing charged is ever lost (`activation-lifecycle.md`, "Cancellation, cleanup, and
/// accounting").
#[derive(Debug)]
pub struct BudgetLedger {
    granted: ResourceBudget,
    fuel: AtomicU64,
    peak_memory_bytes: AtomicU64,
    wall_nanos: AtomicU64,
    log_bytes: AtomicU64,
    outbound_requests: AtomicU64,
}

impl BudgetLedger {
    /// An empty account against `granted`.
    #[must_use]
    pub fn new(granted: ResourceBudget) -> Self {
        Self {
            granted,
            fuel: AtomicU64::new(0),
            peak_memory_bytes: AtomicU64::new(0),
            wall_nanos: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            outbound_requests: AtomicU64::new(0),
        }
    }

    /// What was granted.
    #[must_use]
    pub fn granted(&self) -> &ResourceBudget {
        &self.granted
    }

    /// Charges `bytes` of log, or charges nothing and answers `false` when that would exceed the grant.
    #[must_use]
    pub fn try_charge_log(&self, bytes: u64) -> bool {
        self.log_bytes
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|total| *total <= self.granted.log_bytes)
            })
            .is_ok()
    }

    /// Takes back a charge whose record the sink then refused.
    pub fn refund_log(&self, bytes: u64) {
        let _previous =
            self.log_bytes.try_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(used.saturating_sub(bytes)));
    }

    /// Counts one outgoing request.
    pub fn count_outbound_request(&self) {
        self.outbound_requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the fuel burnt so far; the account never goes down.
    pub fn observe_fuel(&self, burnt: u64) {
        self.fuel.fetch_max(burnt, Ordering::Relaxed);
    }

    /// Records a total of linear memory; the account keeps the peak.
    pub fn observe_memory(&self, bytes: u64) {
        self.peak_memory_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Records the guest time so far; the account never goes down.
    pub fn observe_wall_time(&self, elapsed: Duration) {
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.wall_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    /// What has been charged up to now.
    #[must_use]
    pub fn consumption(&self) -> BudgetConsumption {
        BudgetConsumption {
            fuel: self.fuel.load(Ordering::Relaxed),
            peak_memory_bytes: self.peak_memory_bytes.load(Ordering::Relaxed),
            wall_time: Duration::from_nanos(self.wall_nanos.load(Ordering::Relaxed)),
            log_bytes: self.log_bytes.load(Ordering::Relaxed),
            outbound_requests: self.outbound_requests.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(log_bytes: u64) -> BudgetLedger {
        BudgetLedger::new(ResourceBudget { log_bytes, ..ResourceBudget::default() })
    }

    #[test]
    fn log_charges_stop_exactly_at_the_grant() {
        let ledger = ledger(10);
        assert!(ledger.try_charge_log(6));
        assert!(!ledger.try_charge_log(5), "one byte over");
        assert!(ledger.try_charge_log(4));
        assert_eq!(ledger.consumption().log_bytes, 10);
        ledger.refund_log(4);
        assert_eq!(ledger.consumption().log_bytes, 6);
    }

    #[test]
    fn a_charge_near_the_maximum_fails_closed() {
        let ledger = ledger(u64::MAX);
        assert!(ledger.try_charge_log(u64::MAX - 1));
        assert!(!ledger.try_charge_log(2), "a sum past the type is refused, never wrapped");
    }

    #[test]
    fn observations_only_rise() {
        let ledger = ledger(0);
        ledger.observe_fuel(7);
        ledger.observe_fuel(3);
        ledger.observe_memory(100);
        ledger.observe_memory(50);
        let used = ledger.consumption();
        assert_eq!((used.fuel, used.peak_memory_bytes), (7, 100));
    }

    #[test]
    fn the_earlier_deadline_wins_and_none_never_does() {
        assert_eq!(earlier(Some(2), Some(1)), Some(1));
        assert_eq!(earlier(None, Some(1)), Some(1));
        assert_eq!(earlier::<u8>(None, None), None);
    }
}
