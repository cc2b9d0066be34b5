//! What is counted under which labels, that the labels are capped, and that every metric is documented.

use std::time::{Duration, SystemTime};

use latent_activation::{LifecyclePhase, Lineage, Moment, Progress};
use latent_core::{
    ActivationId, ActivationOutcome, BudgetConsumption, CellClass, DeploymentId, Payload, PlatformError,
    ResolvedRevision, RevisionId, RouteName, ServiceName, Sha256Digest, TenantId,
};
use latent_scheduler::CellPoolSnapshot;

use super::*;
use crate::observe::Limit;
use crate::operations::NodeState;
use crate::time::now;

/// Whether the activation got as far as a revision and a guest.
#[derive(Clone, Copy, PartialEq)]
enum Came {
    ToARun,
    Nowhere,
}

fn end(metrics: &NodeMetrics, tenant: &str, service: &str, came: Came, outcome: &ActivationOutcome) {
    let at = now();
    let mut progress = Progress::received(Moment { monotonic: at, wall: SystemTime::UNIX_EPOCH });
    if came == Came::ToARun {
        for (nth, phase) in (1..).zip(LifecyclePhase::ALL.into_iter().skip(1)) {
            progress.advance(phase, at + Duration::from_millis(nth)).unwrap();
        }
    }
    progress.finish(outcome.terminal_state(), at + Duration::from_secs(1)).unwrap();
    let release = Sha256Digest::of(b"component");
    let resolved = ResolvedRevision {
        tenant: TenantId::new(tenant).unwrap(),
        service: ServiceName::new(service).unwrap(),
        route: RouteName::new("default").unwrap(),
        deployment: DeploymentId::new("main").unwrap(),
        revision: RevisionId::new(release),
        release,
        route_generation: 1,
    };
    metrics.ended(&ActivationEnd {
        tenant: &resolved.tenant,
        lineage: &Lineage::root(ActivationId::new("a").unwrap()),
        service: &resolved.service,
        function: "f",
        route: &resolved.route,
        resolved: (came == Came::ToARun).then_some(&resolved),
        outcome,
        limit: Limit::of_outcome(outcome),
        consumption: &BudgetConsumption { fuel: 5_000, peak_memory_bytes: 70_000, ..BudgetConsumption::default() },
        progress: &progress,
        bytes_in: 100,
        bytes_out: 200,
    });
}

fn returned() -> ActivationOutcome {
    ActivationOutcome::Succeeded { output: Payload::json("1") }
}

fn late() -> ActivationOutcome {
    ActivationOutcome::failed(PlatformError::deadline_exceeded())
}

fn inventory() -> NodeInventory {
    let class = CellClass::Standard;
    let pool =
        CellPoolSnapshot { class, capacity: 16, available: 12, queue_depth: 7, active_leases: 3, quarantined: 1 };
    NodeInventory {
        state: NodeState::Draining,
        started_at: SystemTime::UNIX_EPOCH + Duration::from_secs(42),
        cells: vec![(class, pool)],
        counts: vec![("prepared-entries", 11)],
    }
}

fn text(metrics: &NodeMetrics) -> String {
    let usage = UsageLogSnapshot { written: 21, dropped: 22, failures: 23 };
    let logs = LogBookSnapshot { records: 31, bytes: 32, dropped: 33, missed: 34, followers: 35 };
    metrics.text(&NodeSample { inventory: &inventory(), usage: Some(usage), logs: Some(logs) })
}

#[track_caller]
fn assert_has(text: &str, line: &str) {
    assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
}

#[test]
fn ends_are_counted_by_tenant_service_state_and_limit() {
    let metrics = NodeMetrics::new(NodeMetricsConfig::default());
    end(&metrics, "t", "s", Came::ToARun, &returned());
    end(&metrics, "t", "s", Came::ToARun, &returned());
    end(&metrics, "t", "s", Came::ToARun, &late());
    end(&metrics, "u", "x", Came::ToARun, &returned());
    let text = text(&metrics);
    assert_has(&text, r#"latent_activation_ended_total{tenant="t",service="s",state="completed"} 2"#);
    assert_has(&text, r#"latent_activation_ended_total{tenant="t",service="s",state="deadline-exceeded"} 1"#);
    assert_has(&text, r#"latent_activation_ended_total{tenant="u",service="x",state="completed"} 1"#);
    assert_has(&text, r#"latent_activation_limited_total{tenant="t",service="s",limit="deadline"} 1"#);
    assert_eq!(text.matches("latent_activation_limited_total{").count(), 1);
}

#[test]
fn times_and_sizes_are_spread_and_what_never_ran_is_not_among_the_runs() {
    let metrics = NodeMetrics::new(NodeMetricsConfig::default());
    end(&metrics, "t", "s", Came::ToARun, &returned());
    end(&metrics, "t", "s", Came::Nowhere, &late());
    let text = text(&metrics);
    // Queued after three milliseconds, materializing after four, running after five, ended after a second.
    assert_has(&text, "latent_activation_queue_wait_seconds_sum 0.001");
    assert_has(&text, "latent_activation_run_seconds_sum 0.995");
    assert_has(&text, "latent_activation_run_seconds_count 1");
    assert_has(&text, r#"latent_activation_fuel_units_bucket{le="10000.0"} 1"#);
    assert_has(&text, r#"latent_activation_fuel_units_bucket{le="1000.0"} 0"#);
    assert_has(&text, "latent_activation_peak_memory_bytes_sum 70000.0");
    assert_has(&text, "latent_activation_payload_bytes_sum 200.0");
    assert_has(&text, "latent_activation_result_bytes_sum 200.0");
}

#[test]
fn names_beyond_the_caps_are_counted_as_others() {
    let metrics = NodeMetrics::new(NodeMetricsConfig { tenants_max: 2, services_max: 2 });
    for (tenant, service) in [("t", "a"), ("t", "b"), ("t", "c"), ("t", "a"), ("u", "a"), ("v", "a"), ("w", "b")] {
        end(&metrics, tenant, service, Came::ToARun, &returned());
    }
    let text = text(&metrics);
    for (tenant, service, count) in [("t", "a", 2), ("t", "b", 1), ("t", OTHER, 1), ("u", OTHER, 1), (OTHER, OTHER, 2)]
    {
        let labels = format!("tenant=\"{tenant}\",service=\"{service}\",state=\"completed\"");
        assert_has(&text, &format!("latent_activation_ended_total{{{labels}}} {count}"));
    }
    assert_eq!(text.matches("latent_activation_ended_total{").count(), 5);
}

#[test]
fn what_there_is_not_takes_no_name_of_what_there_is() {
    let metrics = NodeMetrics::new(NodeMetricsConfig { tenants_max: 1, services_max: 1 });
    for guess in 0..100 {
        end(&metrics, "t", &format!("guess-{guess}"), Came::Nowhere, &late());
    }
    end(&metrics, "t", "s", Came::ToARun, &returned());
    let text = text(&metrics);
    assert_has(&text, r#"latent_activation_ended_total{tenant="t",service="other",state="deadline-exceeded"} 100"#);
    assert_has(&text, r#"latent_activation_ended_total{tenant="t",service="s",state="completed"} 1"#);
}

#[test]
fn what_the_node_holds_is_shown_as_it_is_when_it_is_read() {
    let text = text(&NodeMetrics::new(NodeMetricsConfig::default()));
    assert_has(&text, r#"latent_cell_count{class="standard",standing="idle"} 12"#);
    assert_has(&text, r#"latent_cell_count{class="standard",standing="leased"} 3"#);
    assert_has(&text, r#"latent_cell_count{class="standard",standing="quarantined"} 1"#);
    assert_has(&text, r#"latent_cell_queue_depth{class="standard"} 7"#);
    assert_has(&text, r#"latent_node_state{state="draining"} 1"#);
    assert_has(&text, r#"latent_node_state{state="ready"} 0"#);
    assert_has(&text, r#"latent_node_held{what="prepared-entries"} 11"#);
    assert_has(&text, "latent_node_start_time_seconds 42");
    for line in ["usage_lines_total 21", "usage_dropped_total 22", "usage_write_failures_total 23", "log_records 31"] {
        assert_has(&text, &format!("latent_{line}"));
    }
    for line in ["log_held_bytes 32", "log_dropped_total 33", "log_missed_total 34", "log_followers 35"] {
        assert_has(&text, &format!("latent_{line}"));
    }
}

#[test]
fn every_metric_is_documented_and_every_documented_one_is_there() {
    let page = include_str!("../../../../docs/metrics.md");
    let metrics = NodeMetrics::new(NodeMetricsConfig::default());
    end(&metrics, "t", "s", Came::ToARun, &late());
    let text = text(&metrics);
    let mut shown: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| if kind == "counter" { format!("{name}_total") } else { name.to_owned() })
        .collect();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut documented: Vec<_> = rows.map(|(name, _)| name.to_owned()).collect();
    shown.sort_unstable();
    documented.sort_unstable();
    assert_eq!(documented, shown);
}
