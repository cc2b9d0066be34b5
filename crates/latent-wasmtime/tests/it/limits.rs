//! What a guest can make the host hold: handles, host resources, lifted values, random bytes. Every bound ends the run
//! before the host pays for what was asked.

use latent_core::ExecutionOutcome;
use latent_wasmtime::EngineSettings;

use crate::allocations;
use crate::support::{bench, bench_with, limit, request};

const MIB: u64 = 1 << 20;

#[tokio::test]
async fn pollables_that_nobody_drops_end_at_the_bound_of_host_resources() {
    let bench = bench();
    let leak = |count: u32| request("handles", "leaks", "leak-pollables", &format!("[{count}]"));
    // A pollable takes two places: its deadline and itself.
    assert_eq!(bench.json(leak(1024)).await, "1024");
    for count in [1025, 100_000, u32::MAX] {
        assert_eq!(bench.outcome(leak(count)).await, limit("activation.host-resource-exhausted", 2048));
    }
}

#[tokio::test]
async fn a_guests_own_resources_end_at_the_bound_of_handles() {
    let bench = bench();
    let leak = |count: u32| request("handles", "leaks", "leak-resources", &format!("[{count}]"));
    assert_eq!(bench.json(leak(4096)).await, "4096");
    for count in [4097, 100_000, u32::MAX] {
        assert_eq!(bench.outcome(leak(count)).await, limit("activation.handle-exhausted", 4096));
    }
}

#[tokio::test]
async fn what_a_guest_leaked_is_freed_with_its_store() {
    let bench = bench();
    let runs = async |rounds: u32| {
        for _ in 0..rounds {
            for function in ["leak-pollables", "leak-resources"] {
                let ended = bench.run(request("handles", "leaks", function, "[100000]")).await.report.outcome;
                assert!(matches!(ended, ExecutionOutcome::LimitExceeded { .. }), "{ended:?}");
            }
        }
    };
    runs(5).await;
    let before = allocations::live();
    runs(200).await;
    let grown = allocations::live() - before;
    assert!(grown < 4096, "200 leaking runs left {grown} bytes");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn random_bytes_over_the_bound_are_denied_before_the_host_makes_them() {
    let bench = bench();
    let get = |len: u64| request("random", "bytes", "get", &format!("[\"{len}\"]"));
    assert_eq!(bench.json(get(65_536)).await, "\"65536\"");
    for len in [65_537, 1 << 32, u64::MAX] {
        let before = allocations::asked();
        let ended = bench.run(get(len)).await.report.outcome;
        assert!(allocations::asked() - before < MIB, "{len}: the host allocated for it");
        assert_eq!(ended, limit("activation.random-exhausted", 65_536), "{len}");
        bench.assert_healthy().await;
    }
}

#[tokio::test]
async fn a_result_of_aliases_ends_at_the_bound_of_one_host_call() {
    let bench = bench();
    let make = |entries: u32| request("alias-list", "lists", "make", &format!("[{entries}]"));
    let before = allocations::asked();
    assert_eq!(bench.json(make(2)).await.len(), 2 * ((1 << 20) + 3) + 1);
    assert!(allocations::asked() - before >= 2 * MIB, "the count sees what the host lifts");
    for entries in [64, 4_096, 1 << 20] {
        let before = allocations::asked();
        let ended = bench.run(make(entries)).await.report.outcome;
        let asked = allocations::asked() - before;
        assert_eq!(ended, limit("activation.host-call-exhausted", 32 * MIB), "{entries} entries");
        assert!(asked < 64 * MIB, "{entries} entries: the host asked for {asked} bytes");
        bench.assert_healthy().await;
    }
}

#[tokio::test]
async fn a_result_without_end_is_a_limit_too() {
    let bench = bench();
    for function in ["strings", "lists"] {
        let before = allocations::asked();
        let ended = bench.run(request("endless-list", "run", function, "[]")).await.report.outcome;
        let asked = allocations::asked() - before;
        assert_eq!(ended, limit("activation.host-call-exhausted", 32 * MIB), "{function}");
        println!("{function}: the host asked for {asked} bytes");
        assert!(asked < 64 * MIB, "{function}: the host asked for {asked} bytes");
        bench.assert_healthy().await;
    }
}

#[tokio::test]
async fn a_result_that_claims_two_gigabytes_costs_the_host_nothing() {
    let bench = bench();
    let before = allocations::asked();
    let ended = bench.run(request("alias-list", "lists", "claims-2gib", "[]")).await.report.outcome;
    assert!(allocations::asked() - before < MIB);
    let trapped = matches!(ended, ExecutionOutcome::Trapped { category: "invalid-result" });
    assert!(trapped || ended == limit("activation.host-call-exhausted", 32 * MIB), "{ended:?}");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn every_result_that_cannot_be_lifted_is_a_trap_of_its_own_category() {
    let bench = bench();
    for function in ["invalid-utf8", "out-of-bounds", "misaligned", "bad-char", "bad-case"] {
        let ended = bench.outcome(request("bad-results", "results", function, "[]")).await;
        assert_eq!(ended, ExecutionOutcome::Trapped { category: "invalid-result" }, "{function}");
    }
}

#[tokio::test]
async fn a_result_over_its_bound_is_a_limit_and_its_consumption_is_kept() {
    let mut settings = EngineSettings::for_cells(4);
    settings.values.bytes_out_max = 1024;
    let bench = bench_with(settings);
    let echo = |len: usize| request("types", "types", "roundtrip-string", &format!("[\"{}\"]", "x".repeat(len)));
    assert_eq!(bench.json(echo(1022)).await.len(), 1024);
    let ran = bench.run(echo(1023)).await.report;
    assert_eq!(ran.outcome, limit("activation.result-limit-exceeded", 1024));
    assert!(ran.consumption.fuel > 0 && ran.consumption.peak_memory_bytes > 0 && !ran.consumption.wall_time.is_zero());
    bench.assert_healthy().await;
}
