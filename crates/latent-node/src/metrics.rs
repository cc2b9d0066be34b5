//! The node's metrics in the text format of Prometheus (`docs/metrics.md`).
//!
//! Invariant: every label value comes from a closed set or is one of a capped number of tenants and services; whatever
//! callers send, the number of series is bounded. An end that is counted allocates nothing once its series is there.

mod sampled;

mod series;

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::logs::LogBookSnapshot;
use crate::observe::{ActivationEnd, ActivationObserver};
use crate::operations::NodeInventory;
use crate::usage::UsageLogSnapshot;
use sampled::Sampled;
use series::AllSeries;

/// How many names metrics may have as labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeMetricsConfig {
    /// Tenants; the first ones seen. All others together are the tenant [`OTHER`]. Default 64.
    pub tenants_max: usize,
    /// Services of all named tenants together; the first ones seen. Each tenant's others are its service [`OTHER`], and
    /// so is whatever is called that there is not. Default 256.
    pub services_max: usize,
}

impl Default for NodeMetricsConfig {
    fn default() -> Self {
        Self { tenants_max: 64, services_max: 256 }
    }
}

/// The label of what has none of its own.
pub const OTHER: &str = "other";

/// What is read when the metrics are.
#[derive(Debug, Clone, Copy)]
pub struct NodeSample<'a> {
    /// What the node holds.
    pub inventory: &'a NodeInventory,
    /// The usage log's counters, where there is one.
    pub usage: Option<UsageLogSnapshot>,
    /// The log book's counters, where there is one.
    pub logs: Option<LogBookSnapshot>,
}

/// Counts ends, as an observer of the manager, and shows them with what the node holds.
pub struct NodeMetrics {
    registry: Registry,
    ended: AllSeries,
    spread: Spread,
    sampled: Sampled,
}

/// How ends are spread over times and sizes.
struct Spread {
    queue_wait: Histogram,
    run_time: Histogram,
    fuel: Histogram,
    peak_memory: Histogram,
    payload: Histogram,
    result: Histogram,
}

impl NodeMetrics {
    /// Metrics of which nothing has been counted.
    #[must_use]
    pub fn new(config: NodeMetricsConfig) -> Self {
        let mut registry = Registry::with_prefix("latent");
        let ended = AllSeries::register(config, &mut registry);
        let spread = Spread::register(&mut registry);
        let sampled = Sampled::register(&mut registry);
        Self { registry, ended, spread, sampled }
    }

    /// The text that a scraper gets.
    #[must_use]
    pub fn text(&self, sample: &NodeSample<'_>) -> String {
        self.sampled.set(sample);
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("memory takes every text");
        text
    }
}

impl Spread {
    fn register(registry: &mut Registry) -> Self {
        let mut add = |name, help, unit, (first, factor, count)| {
            let histogram = Histogram::new(exponential_buckets(first, factor, count));
            match unit {
                Some(unit) => registry.register_with_unit(name, help, unit, histogram.clone()),
                None => registry.register(name, help, histogram.clone()),
            }
            histogram
        };
        let seconds = (0.000_01, 4.0, 12);
        let bytes = (64.0, 4.0, 12);
        Self {
            queue_wait: add("activation_queue_wait", "Time without a cell", Some(Unit::Seconds), seconds),
            run_time: add("activation_run", "Time from the guest's start to the end", Some(Unit::Seconds), seconds),
            fuel: add("activation_fuel_units", "Fuel burnt", None, (1_000.0, 10.0, 8)),
            peak_memory: add(
                "activation_peak_memory",
                "Most guest memory at once",
                Some(Unit::Bytes),
                (65_536.0, 2.0, 14),
            ),
            payload: add("activation_payload", "Size of the payload", Some(Unit::Bytes), bytes),
            result: add("activation_result", "Size of the result or declared error", Some(Unit::Bytes), bytes),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a histogram's sum is a float")]
    fn observe(&self, end: &ActivationEnd<'_>) {
        if let Some(wait) = end.queue_wait() {
            self.queue_wait.observe(wait.as_secs_f64());
        }
        if let Some(run) = end.run_time() {
            self.run_time.observe(run.as_secs_f64());
            self.fuel.observe(end.consumption.fuel as f64);
            self.peak_memory.observe(end.consumption.peak_memory_bytes as f64);
            self.result.observe(end.bytes_out as f64);
        }
        self.payload.observe(end.bytes_in as f64);
    }
}

impl ActivationObserver for NodeMetrics {
    fn ended(&self, end: &ActivationEnd<'_>) {
        self.ended.count(end);
        self.spread.observe(end);
    }
}

impl fmt::Debug for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMetrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
