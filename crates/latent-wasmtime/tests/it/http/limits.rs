//! Each limit of HTTP, and those of every run while it serves a request.

use latent_core::ExecutionOutcome;
use latent_executor::HttpBodyError;
use latent_wasmtime::{EngineSettings, HttpLimits};

use super::support::get;
use crate::support::{Bench, bench, bench_with, limit};

fn bench_within(http: HttpLimits) -> Bench {
    bench_with(EngineSettings { http, ..EngineSettings::for_cells(4) })
}

#[tokio::test]
async fn fuel_memory_and_the_deadline_end_a_handler_too() {
    let bench = bench();
    let went = bench.serve(get("/spin")).await;
    assert_eq!(went.contained.report.outcome, ExecutionOutcome::FuelExhausted);
    let went = bench.serve_changed(get("/memory"), |call| call.budget.fuel = u64::MAX / 2).await;
    assert_eq!(went.contained.report.outcome, ExecutionOutcome::MemoryExhausted);
    let went = bench.serve(get("/spin-after")).await;
    assert_eq!(went.contained.report.outcome, ExecutionOutcome::FuelExhausted);
    assert_eq!((went.got().text(), went.got().end), ("some of it", Err(HttpBodyError::Incomplete)));
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_set_of_headers_may_be_full_and_no_fuller() {
    let bench = bench_within(HttpLimits { field_bytes_max: 10_000, ..HttpLimits::default() });
    let went = bench.serve(get("/fields?n=9")).await;
    assert!(crate::support::failure(&went.contained).has_detail("activation.no-response"), "nine fit");
    let went = bench.serve(get("/fields?n=10")).await;
    assert_eq!(went.contained.report.outcome, limit("activation.http-fields-exhausted", 10_000));
}

#[tokio::test]
async fn sets_of_headers_are_host_resources() {
    let mut settings = EngineSettings::for_cells(4);
    settings.host_resources_max = 100;
    let went = bench_with(settings).serve(get("/many-fields")).await;
    assert_eq!(went.contained.report.outcome, limit("activation.host-resource-exhausted", 100));
}

#[tokio::test]
async fn what_waits_of_a_body_is_bounded_and_later_bodies_have_less_room() {
    let http =
        HttpLimits { body_pieces_max: 4, body_piece_bytes_max: 1000, roomy_bodies_max: 2, ..HttpLimits::default() };
    let bench = bench_within(http);
    let plenty = |call: &mut crate::support::Call| call.budget.fuel = u64::MAX / 2;
    let taken = |count: u32| format!("/bodies?n={count}");
    assert_eq!(bench.serve_changed(get(&taken(1)), plenty).await.got().text(), "4000");
    assert_eq!(bench.serve_changed(get(&taken(2)), plenty).await.got().text(), "8000");
    let narrow = 2 * 4096;
    let expected = (8000 + 3 * narrow).to_string();
    assert_eq!(bench.serve_changed(get(&taken(5)), plenty).await.got().text(), expected);
}

#[tokio::test]
async fn a_mebibyte_of_a_body_waits_by_default() {
    let went = bench().serve_changed(get("/bodies?n=1"), |call| call.budget.fuel = u64::MAX / 2).await;
    assert_eq!(went.got().text(), (1 << 20).to_string());
}
