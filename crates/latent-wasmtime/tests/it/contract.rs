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

/// Both paths: from bytes and from a repository; `other` is of the same kind.
async fn passes(backend: Arc<dyn ExecutionBackend>, other: &dyn ExecutionBackend) {
    let subject = Subject::new(backend, artifact("containment-capsule"), spell);
    suite::run(&subject).await;
    suite::run_prepared(&subject, other).await;
}

fn phase0() -> Phase0WasmtimeBackend {
    let sink = Arc::new(BoundedLogSink::new(1 << 20));
    Phase0WasmtimeBackend::new(EngineSettings::for_cells(2), sink).unwrap()
}

#[tokio::test]
async fn the_cached_backend_passes_the_contract() {
    let backend = bench().backend;
    passes(backend.clone(), &*bench().backend).await;
    assert_eq!(backend.resources().prepared_entries, 1);
}

#[tokio::test]
async fn the_backend_on_demand_passes_the_contract_and_says_what_it_is() {
    let bench = on_demand();
    passes(bench.backend.clone(), &*on_demand().backend).await;
    let report = bench.backend.report();
    assert!(!report.pooling && !report.pagemap_scan, "{report:?}");
}

#[tokio::test]
async fn the_backend_without_the_scan_passes_the_contract_and_says_why() {
    let mut settings = EngineSettings::for_cells(4);
    settings.pagemap_scan = PagemapScanChoice::Off;
    let (bench, other) = (bench_with(settings.clone()), bench_with(settings));
    passes(bench.backend.clone(), &*other.backend).await;
    let report = bench.backend.report();
    assert!(report.pooling && !report.pagemap_scan, "{report:?}");
    assert_eq!(report.reason.as_deref(), Some("the dirty-page scan is switched off"));
}

#[tokio::test]
async fn the_cache_disabled_backend_passes_the_contract_and_keeps_one_slot() {
    let backend = Arc::new(phase0());
    passes(backend.clone(), &phase0()).await;
    let other = suite::request("fixture:echo/echo@0.1.0#nop", "[]");
    drop(backend.invoke(artifact("echo"), other).await);
    assert_eq!(backend.resources().prepared_entries, 1, "the slot is shared, the newest preparation holds it");
}
