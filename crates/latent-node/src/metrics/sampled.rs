//! What is read when the metrics are: cells, queues, everything that the inventory counts, and the logs' own counters.
//!
//! Invariant: labels are the names of classes and standings and the inventory's own fixed names.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::NodeSample;
use crate::operations::NodeState;

const STATES: [NodeState; 5] =
    [NodeState::Starting, NodeState::Ready, NodeState::Draining, NodeState::Drained, NodeState::Failing];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCells {
    class: &'static str,
    standing: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfClass {
    class: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfThing {
    what: &'static str,
}

#[derive(Default)]
pub(super) struct Sampled {
    cells: Family<OfCells, Gauge>,
    queued: Family<OfClass, Gauge>,
    state: Family<OfState, Gauge>,
    held: Family<OfThing, Gauge>,
    started: Gauge,
    usage_written: Counter,
    usage_dropped: Counter,
    usage_failures: Counter,
    log_records: Gauge,
    log_bytes: Gauge,
    log_followers: Gauge,
    log_dropped: Counter,
    log_missed: Counter,
}

impl Sampled {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let new = Self::default();
        registry.register("cell_count", "Cells by class and standing", new.cells.clone());
        registry.register("cell_queue_depth", "Activations that wait for a cell", new.queued.clone());
        registry.register("node_state", "1 for what the node is doing", new.state.clone());
        registry.register("node_held", "What the inventory counts", new.held.clone());
        registry.register_with_unit("node_start_time", "When it started", Unit::Seconds, new.started.clone());
        registry.register("usage_lines", "Lines of the usage log", new.usage_written.clone());
        registry.register("usage_dropped", "Ends without a line in the usage log", new.usage_dropped.clone());
        registry.register("usage_write_failures", "Failed writes of the usage log", new.usage_failures.clone());
        registry.register("log_records", "Guest log records that are kept", new.log_records.clone());
        registry.register_with_unit("log_held", "Their size", Unit::Bytes, new.log_bytes.clone());
        registry.register("log_followers", "Followers of guest logs", new.log_followers.clone());
        registry.register("log_dropped", "Guest log records that gave way", new.log_dropped.clone());
        registry.register("log_missed", "Records that followers were too slow for", new.log_missed.clone());
        new
    }

    pub(super) fn set(&self, sample: &NodeSample<'_>) {
        let inventory = sample.inventory;
        for state in STATES {
            let now = i64::from(state == inventory.state);
            self.state.get_or_create(&OfState { state: state.as_str() }).set(now);
        }
        let since = inventory.started_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.started.set(signed(since.as_secs()));
        for (class, pool) in &inventory.cells {
            let class = class.as_str();
            let standings =
                [("idle", pool.available), ("leased", pool.active_leases), ("quarantined", pool.quarantined)];
            for (standing, cells) in standings {
                self.cells.get_or_create(&OfCells { class, standing }).set(signed(cells as u64));
            }
            self.queued.get_or_create(&OfClass { class }).set(signed(pool.queue_depth as u64));
        }
        for (what, count) in &inventory.counts {
            self.held.get_or_create(&OfThing { what }).set(signed(*count));
        }
        if let Some(usage) = sample.usage {
            set(&self.usage_written, usage.written);
            set(&self.usage_dropped, usage.dropped);
            set(&self.usage_failures, usage.failures);
        }
        if let Some(logs) = sample.logs {
            self.log_records.set(signed(logs.records));
            self.log_bytes.set(signed(logs.bytes));
            self.log_followers.set(signed(logs.followers));
            set(&self.log_dropped, logs.dropped);
            set(&self.log_missed, logs.missed);
        }
    }
}

/// Takes over what is counted elsewhere.
fn set(counter: &Counter, count: u64) {
    counter.inner().fetch_max(count, Ordering::Relaxed);
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
