//! The execution port's contract, on the real engine, with and without a cache.

use std::sync::Arc;

use latent_executor::suite::{self, Call, Subject};
use latent_executor::{BoundedLogSink, ExecutionBackend};
use latent_wasmtime::{EngineSettings, Phase0WasmtimeBackend};

use crate::support::{artifact, bench};

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
async fn the_cache_disabled_backend_passes_the_contract_and_keeps_one_slot() {
    let sink = Arc::new(BoundedLogSink::new(1 << 20));
    let backend = Arc::new(Phase0WasmtimeBackend::new(EngineSettings::for_cells(2), sink).unwrap());
    suite::run(&Subject::new(backend.clone(), artifact("containment-capsule"), spell)).await;
    let other = suite::request(&artifact("echo"), "fixture:echo/echo@0.1.0#nop", "[]");
    drop(backend.invoke(other).await);
    assert_eq!(backend.resources().prepared_entries, 1, "the slot is shared, the newest preparation holds it");
}
