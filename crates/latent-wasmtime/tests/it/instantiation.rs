//! Instantiations that fail, at every stage and very often: nothing of them stays.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use latent_core::{ExecutionOutcome, PlatformError};
use latent_executor::{ComponentArtifact, ContainedExecution, ExecutionBackend as _, suite};
use latent_wasmtime::EngineSettings;

use crate::support::{Bench, artifact, bench, bench_with, guest, on_demand, request, request_of};

const STAGES: &[(&str, ExecutionOutcome)] = &[
    ("fails-data-segment", ExecutionOutcome::Trapped { category: "memory-out-of-bounds" }),
    ("fails-element-segment", ExecutionOutcome::Trapped { category: "table-out-of-bounds" }),
    ("fails-second-instance", ExecutionOutcome::Trapped { category: "unreachable" }),
    ("fails-start-growth", ExecutionOutcome::MemoryExhausted),
    ("fails-start-null-call", ExecutionOutcome::Trapped { category: "indirect-call-to-null" }),
    ("fails-start-recursion", ExecutionOutcome::Trapped { category: "stack-overflow" }),
    ("trap-start", ExecutionOutcome::Trapped { category: "unreachable" }),
];

async fn fail_at_every_stage(bench: &Bench, rounds: usize) {
    for (fixture, ending) in STAGES {
        let mut request = request(fixture, "run", "run", "[]");
        request.budget.memory_bytes = 2 << 20;
        for _ in 0..rounds {
            assert_eq!(bench.run(request.clone()).await.report.outcome, *ending, "{fixture}");
        }
        bench.assert_healthy().await;
    }
}

/// Parks in a clock poll for an hour, with as many memories and tables as a component may have.
fn largest_parker() -> ComponentArtifact {
    let wit = "
        package fixture:largest@0.1.0;
        interface park { park: func(); }
        world fixture {
            import wasi:io/poll@0.2.0;
            import wasi:clocks/monotonic-clock@0.2.0;
            export park;
        }
        package wasi:io@0.2.0 { interface poll { resource pollable { block: func(); } } }
        package wasi:clocks@0.2.0 {
            interface monotonic-clock {
                use wasi:io/poll@0.2.0.{pollable};
                subscribe-duration: func(when: u64) -> pollable;
            }
        }";
    let objects = "(memory 1)".repeat(8) + &"(table 1 funcref)".repeat(32);
    let module = format!(
        r#"(module
          (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
          (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
          {objects}
          (func (export "fixture:largest/park@0.1.0#park")
            (call $block (call $subscribe (i64.const 3600000000000)))))"#
    );
    guest(wit, &module)
}

/// Parks `count` instances at once, then cancels them all.
async fn hold_at_once(bench: &Bench, artifact: &ComponentArtifact, target: &str, args: &str, count: usize) {
    let mut runs: Vec<Pin<Box<dyn Future<Output = ContainedExecution>>>> = Vec::new();
    let mut latches = Vec::new();
    for _ in 0..count {
        let request = request_of(artifact, target, args);
        let cancellation = suite::cancellation(&request, None);
        latches.push(cancellation.probe().clone());
        runs.push(Box::pin(bench.backend.invoke_contained(request.artifact, request.request, cancellation)));
    }
    poll_fn(|cx| {
        for run in &mut runs {
            if let Poll::Ready(ended) = run.as_mut().poll(cx) {
                panic!("a parked guest ended: {ended:?}");
            }
        }
        if bench.backend.resources().component_instances == count as u64 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    for latch in latches {
        latch.request_cancel();
    }
    for run in runs {
        assert_eq!(run.await.report.outcome, ExecutionOutcome::Cancelled);
    }
    assert!(bench.backend.resources().is_idle());
}

async fn everything_is_free(bench: &Bench) {
    let cells = bench.backend.settings().cells as usize;
    hold_at_once(bench, &largest_parker(), "fixture:largest/park@0.1.0#park", "[]", cells).await;
    let permits = bench.backend.settings().instances_max as usize;
    let target = "fixture:clock-park/park@0.1.0#park";
    hold_at_once(bench, &artifact("clock-park"), target, "[\"3600000\"]", permits).await;
}

#[tokio::test]
async fn a_hundred_thousand_failed_instantiations_leave_every_slot_of_the_pool_free() {
    let bench = bench();
    fail_at_every_stage(&bench, 100_000_usize.div_ceil(STAGES.len())).await;
    everything_is_free(&bench).await;
}

#[tokio::test]
async fn failed_instantiations_leave_nothing_on_demand_either() {
    let bench = on_demand();
    fail_at_every_stage(&bench, 200).await;
    everything_is_free(&bench).await;
}

#[tokio::test]
async fn a_pool_without_a_free_slot_is_a_retryable_refusal_and_not_a_trap() {
    let mut settings = EngineSettings::for_cells(1);
    settings.instances_max = 2;
    let bench = bench_with(settings);
    let parker = largest_parker();
    let target = "fixture:largest/park@0.1.0#park";
    let held = request_of(&parker, target, "[]");
    let cancellation = suite::cancellation(&held, None);
    let latch = cancellation.probe().clone();
    let mut first = Box::pin(bench.backend.invoke_contained(held.artifact, held.request, cancellation));
    poll_fn(|cx| {
        assert!(first.as_mut().poll(cx).is_pending());
        if bench.backend.resources().component_instances == 1 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let second = request_of(&parker, target, "[]");
    let cancellation = suite::cancellation(&second, None);
    let refused = bench.backend.invoke_contained(second.artifact, second.request, cancellation).await;
    let error = match refused.report.outcome {
        ExecutionOutcome::Failed(error) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        error.details().iter().map(latent_core::ErrorDetail::kind).collect::<Vec<_>>(),
        ["activation.pool-exhausted"]
    );
    assert!(PlatformError::is_retryable(&error));
    latch.request_cancel();
    assert_eq!(first.await.report.outcome, ExecutionOutcome::Cancelled);
    bench.assert_healthy().await;
}
