//! The execution port's contract, on the real engine, with and without a cache.

use std::sync::Arc;

use latent_executor::suite::{self, Call, Subject};
use latent_executor::{BoundedLogSink, ExecutionBackend};
use latent_wasmtime::{EngineSettings, PagemapScanChoice, Phase0WasmtimeBackend};

use crate::support::{artifact, bench, bench_with, on_demand};

fn spell(call: Call) -> (&'static str, &'static str) {
    match call {
        Call::Echo => ("fixture:containment-capsule/modes@0.1.0#echo", "[\"hi\"]"),
        Call::Declared => ("fixture:containment-capsule/modes@0.1.0#declared", "[true]"),
        Call::Trap => ("fixture:containment-capsule/modes@0.1.0#trap", "[]"),
        Call::Spin => ("fixture:containment-capsule/modes@0.1.0#spin", "[]"),
        Call::Unknown => ("fixture:containment-capsule/modes@0.1.0#nowhere", "[]"),
    }
}

#[tokio::test]
async fn the_cached_backend_passes_the_contract() {
    let backend = bench().backend;
    suite::run(&Subject::new(backend.clone(), artifact("containment-capsule"), spell)).await;
    assert_eq!(backend.resources().prepared_entries, 1);
}

#[tokio::test]
async fn the_backend_on_demand_passes_the_contract_and_says_what_it_is() {
    let bench = on_demand();
    suite::run(&Subject::new(bench.backend.clone(), artifact("containment-capsule"), spell)).await;
    let report = bench.backend.report();
    assert!(!report.pooling && !report.pagemap_scan, "{report:?}");
}

#[tokio::test]
async fn the_backend_without_the_scan_passes_the_contract_and_says_why() {
    let mut settings = EngineSettings::for_cells(4);
    settings.pagemap_scan = PagemapScanChoice::Off;
    let bench = bench_with(settings);
    suite::run(&Subject::new(bench.backend.clone(), artifact("containment-capsule"), spell)).await;
    let report = bench.backend.report();
    assert!(report.pooling && !report.pagemap_scan, "{report:?}");
    assert_eq!(report.reason.as_deref(), Some("the dirty-page scan is switched off"));
}

#[tokio::test]
async fn the_cache_disabled_backend_passes_the_contract_and_keeps_one_slot() {
    let sink = Arc::new(BoundedLogSink::new(1 << 20));
    let backend = Arc::new(Phase0WasmtimeBackend::new(EngineSettings::for_cells(2), sink).unwrap());
    suite::run(&Subject::new(backend.clone(), artifact("containment-capsule"), spell)).await;
    let other = suite::request(&artifact("echo"), "fixture:echo/echo@0.1.0#nop", "[]");
    drop(backend.invoke(other).await);
    assert_eq!(backend.resources().prepared_entries, 1, "the slot is shared, the newest preparation holds it");
}
