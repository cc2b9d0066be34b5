//! What one tenant leaves in memory, another never sees.

use latent_core::ExecutionOutcome;
use latent_wasmtime::{AllocatorChoice, EngineSettings, PagemapScanChoice};

use crate::support::{Bench, Call, bench_with, by_tenant, request};

const MIB: u32 = 1 << 20;

fn pattern(function: &str, bytes: u32) -> Call {
    let mut request = request("memory-pattern", "pattern", function, &format!("[{bytes}]"));
    request.budget.fuel = u64::MAX / 2;
    request
}

/// One cell with a single memory: every run gets the very slot that the run before it left.
fn one_slot() -> EngineSettings {
    let mut settings = EngineSettings::for_cells(1);
    settings.memories_max = 1;
    settings
}

async fn nothing_is_left(bench: &Bench, bytes: u32, rounds: u32) {
    let found = bench.json(by_tenant(pattern("fill-and-scan", bytes), "a")).await;
    assert_eq!(found, format!("\"{bytes}\""), "the scan finds what is there");
    let (fill, scan) = (by_tenant(pattern("fill-and-trap", bytes), "a"), by_tenant(pattern("scan", bytes), "b"));
    for round in 0..rounds {
        let filled = bench.run(fill.clone()).await.report;
        assert_eq!(filled.outcome, ExecutionOutcome::Trapped { category: "unreachable" });
        assert_eq!(filled.consumption.peak_memory_bytes, u64::from(bytes));
        assert_eq!(bench.json(scan.clone()).await, "\"0\"", "round {round}");
    }
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_megabyte_that_a_tenant_filled_is_zero_for_the_next() {
    let bench = bench_with(one_slot());
    println!("{:?}", bench.backend.report());
    nothing_is_left(&bench, MIB, 10_000).await;
}

#[tokio::test]
async fn all_the_memory_there_is_is_zero_for_the_next_tenant() {
    nothing_is_left(&bench_with(one_slot()), 64 * MIB, 100).await;
}

#[tokio::test]
async fn memory_is_zero_without_the_dirty_page_scan_too() {
    let mut settings = one_slot();
    settings.pagemap_scan = PagemapScanChoice::Off;
    let bench = bench_with(settings);
    assert!(!bench.backend.report().pagemap_scan);
    nothing_is_left(&bench, MIB, 1_000).await;
    nothing_is_left(&bench, 64 * MIB, 5).await;
}

#[tokio::test]
async fn memory_is_zero_on_demand_too() {
    let mut settings = one_slot();
    settings.allocator = AllocatorChoice::OnDemand;
    let bench = bench_with(settings);
    assert!(!bench.backend.report().pooling);
    nothing_is_left(&bench, MIB, 1_000).await;
    nothing_is_left(&bench, 64 * MIB, 5).await;
}
