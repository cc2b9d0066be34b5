//! Prepared code: compiled once for everyone who waits, kept within bounds, pinned by who uses it.

use std::fmt::Write as _;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use latent_core::{ExecutionOutcome, PlatformError, PlatformErrorCode};
use latent_executor::{ComponentArtifact, ExecutionBackend as _, PreparedActivation, PreparedCode, suite};
use latent_guests::generated;
use latent_wasmtime::{EngineSettings, WasmtimeBackend};

use crate::support::{Bench, Call, artifact, bench_with, failure, request, request_of, returned};

fn settings() -> EngineSettings {
    EngineSettings::for_cells(64)
}

/// A component that takes the compiler a good while: `functions` functions of a few hundred instructions.
fn slow(functions: u32) -> ComponentArtifact {
    let mut module = String::new();
    for index in 0..functions {
        let body = "(local.set 0 (i32.mul (i32.add (local.get 0) (i32.const 3)) (i32.load (local.get 0))))".repeat(40);
        let _ = writeln!(module, "(func (export \"f{index}\") (param i32) (result i32) {body} (local.get 0))");
    }
    let text = format!(
        r#"(component
          (core module $guest (memory 1) {module} (func (export "nop")))
          (core instance $guest (instantiate $guest))
          (alias core export $guest "nop" (core func $nop))
          (func $lifted (canon lift (core func $nop)))
          (instance $contract (export "nop" (func $lifted)))
          (export "{}" (instance $contract)))"#,
        generated::CONTRACT
    );
    ComponentArtifact::new(wat::parse_str(text).expect("the text is well-formed"))
}

fn nop_of(artifact: &ComponentArtifact) -> Call {
    request_of(artifact, &format!("{}#nop", generated::CONTRACT), "[]")
}

async fn code(backend: &WasmtimeBackend, artifact: &ComponentArtifact) -> Arc<dyn PreparedCode> {
    backend.prepare_for_use(artifact.clone()).await.expect("it prepares").prepared_use().code().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_misses_at_once_compile_once() {
    let bench = bench_with(settings());
    let artifact = slow(200);
    let tasks = (0..64).map(|_| {
        let (backend, artifact) = (bench.backend.clone(), artifact.clone());
        tokio::spawn(async move { backend.prepare_for_use(artifact).await.expect("it prepares") })
    });
    let uses: Vec<PreparedActivation> = join_all(tasks).await.into_iter().map(|task| task.expect("it ends")).collect();
    let first = uses[0].prepared_use().code();
    assert!(uses.iter().all(|other| Arc::ptr_eq(other.prepared_use().code(), first)), "one compilation for all");
    let held = bench.backend.resources();
    assert_eq!((held.prepared_entries, held.prepared_pins, held.instance_permits), (1, 64, 64));
    drop(uses);
    assert!(bench.backend.resources().is_idle());
    bench.assert_healthy().await;
}

fn assert_queue_full(error: &PlatformError, max: &str) {
    assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
    assert!(error.is_retryable());
    assert_eq!(error.details()[0].kind(), "compiler.queue-full");
    assert_eq!(error.details()[0].field("preparations_max"), Some(max));
}

#[tokio::test]
async fn more_preparations_than_may_wait_are_refused_and_those_that_wait_are_served() {
    let mut settings = settings();
    settings.preparations_max = 2;
    let bench = bench_with(settings);
    let artifacts: Vec<_> = (0..16).map(|more| slow(200 + more)).collect();
    let asked = artifacts.iter().map(|artifact| bench.backend.prepare_for_use(artifact.clone()));
    let (served, refused): (Vec<_>, Vec<_>) = join_all(asked).await.into_iter().partition(Result::is_ok);
    assert!(served.len() >= 2 && refused.len() >= 10, "{} served, {} refused", served.len(), refused.len());
    for refusal in refused {
        assert_queue_full(&refusal.err().expect("it was refused"), "2");
    }
    drop(served);
    assert!(bench.backend.resources().is_idle());
    bench.assert_healthy().await;
}

#[tokio::test]
async fn waiters_of_one_component_count_too_and_give_up_their_place_when_they_leave() {
    let mut settings = settings();
    settings.preparations_max = 2;
    let bench = bench_with(settings);
    let artifact = slow(500);
    let mut waiting: Vec<_> = (0..3).map(|_| bench.backend.prepare_for_use(artifact.clone())).collect();
    let mut third = waiting.pop().expect("there are three");
    let refused = poll_fn(|cx| {
        for first in &mut waiting {
            assert!(first.as_mut().poll(cx).is_pending(), "the compiler takes longer than this");
        }
        third.as_mut().poll(cx)
    })
    .await;
    assert_queue_full(&refused.err().expect("two wait already"), "2");
    drop(waiting);
    let prepared = bench.backend.prepare_for_use(artifact.clone()).await.expect("their places are free again");
    drop(prepared);
    bench.assert_healthy().await;
}

#[tokio::test]
async fn the_least_recently_used_component_leaves_when_there_are_too_many() {
    let mut settings = settings();
    settings.prepared_entries_max = 2;
    let bench = bench_with(settings);
    let [a, b, c] = ["echo", "types", "containment-capsule"].map(artifact);
    let (first_a, first_b) = (code(&bench.backend, &a).await, code(&bench.backend, &b).await);
    assert!(Arc::ptr_eq(&code(&bench.backend, &a).await, &first_a), "a is kept, and used last");
    code(&bench.backend, &c).await;
    assert_eq!(bench.backend.resources().prepared_entries, 2);
    assert!(Arc::ptr_eq(&code(&bench.backend, &a).await, &first_a), "a stayed");
    assert!(!Arc::ptr_eq(&code(&bench.backend, &b).await, &first_b), "b left");
}

#[tokio::test]
async fn the_least_recently_used_components_leave_when_they_are_too_large() {
    let roomy = bench_with(settings());
    let mut sizes = Vec::new();
    let artifacts = ["echo", "types", "containment-capsule"].map(artifact);
    for artifact in &artifacts {
        let before = roomy.backend.resources().prepared_bytes;
        code(&roomy.backend, artifact).await;
        sizes.push(roomy.backend.resources().prepared_bytes - before);
    }
    let mut settings = settings();
    settings.prepared_bytes_max = sizes[1] + sizes[2];
    let bench = bench_with(settings.clone());
    for artifact in &artifacts {
        code(&bench.backend, artifact).await;
        assert!(bench.backend.resources().prepared_bytes <= settings.prepared_bytes_max);
    }
    let held = bench.backend.resources();
    assert_eq!((held.prepared_entries, held.prepared_bytes), (2, sizes[1] + sizes[2]));
    settings.prepared_bytes_max = 1;
    let tight = bench_with(settings);
    code(&tight.backend, &artifacts[0]).await;
    code(&tight.backend, &artifacts[1]).await;
    assert_eq!(tight.backend.resources().prepared_bytes, sizes[1], "the newest stays even if it alone is too large");
    tight.assert_healthy().await;
}

#[tokio::test]
async fn code_that_is_pinned_outlives_its_place_in_the_cache() {
    let mut settings = settings();
    settings.prepared_entries_max = 1;
    let bench = bench_with(settings);
    let capsule = artifact("containment-capsule");
    let pinned = bench.backend.prepare_for_use(capsule.clone()).await.unwrap();
    code(&bench.backend, &artifact("echo")).await;
    let held = bench.backend.resources();
    assert_eq!((held.prepared_entries, held.prepared_pins, held.instance_permits), (1, 1, 1));
    let request = request_of(&capsule, "fixture:containment-capsule/modes@0.1.0#echo", "[\"pinned\"]");
    let cancellation = suite::cancellation(&request, None);
    let ran = bench.backend.invoke_prepared_contained(pinned, request.request, cancellation).await;
    assert_eq!(returned(&ran), "\"pinned\"");
    assert!(bench.backend.resources().is_idle(), "the use ended with the run");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn permits_are_bounded_and_a_dropped_use_gives_its_own_back() {
    let mut settings = EngineSettings::for_cells(1);
    settings.instances_max = 3;
    let bench = bench_with(settings);
    let prepare = || bench.backend.prepare_for_use(artifact("echo"));
    let mut uses = Vec::new();
    for _ in 0..3 {
        uses.push(prepare().await.unwrap());
    }
    let error = prepare().await.err().expect("every permit is taken");
    assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
    assert_eq!(error.details()[0].kind(), "activation.instance-permits-exhausted");
    assert_eq!(error.details()[0].field("instances_max"), Some("3"));
    assert!(error.is_retryable());
    let echo = request("echo", "echo", "nop", "[]");
    let cancellation = suite::cancellation(&echo, None);
    let run = bench.backend.invoke_contained(echo.artifact, echo.request, cancellation).await;
    assert!(matches!(run.report.outcome, ExecutionOutcome::Failed(error) if error.is_retryable()));
    drop(uses.pop());
    let held = bench.backend.resources();
    assert_eq!((held.prepared_pins, held.instance_permits), (2, 2), "a refusal keeps no pin either");
    drop(prepare().await.expect("a permit is free"));
    drop(uses);
    bench.assert_healthy().await;
}

#[tokio::test]
async fn code_of_another_backend_is_refused_and_that_of_another_component_lacks_the_function() {
    let (here, there) = (bench_with(settings()), bench_with(settings()));
    let foreign = there.backend.prepare_for_use(artifact("echo")).await.unwrap();
    let error = refused(&here, foreign).await;
    assert_eq!(error.code(), PlatformErrorCode::Internal);
    assert!(error.message().contains("another backend"), "{}", error.message());
    let other = here.backend.prepare_for_use(artifact("types")).await.unwrap();
    assert_eq!(refused(&here, other).await.code(), PlatformErrorCode::IncompatibleContract);
    assert!(here.backend.resources().is_idle() && there.backend.resources().is_idle());
    here.assert_healthy().await;
}

async fn refused(here: &Bench, prepared: PreparedActivation) -> PlatformError {
    let request = request("echo", "echo", "nop", "[]");
    let cancellation = suite::cancellation(&request, None);
    failure(&here.backend.invoke_prepared_contained(prepared, request.request, cancellation).await).clone()
}

#[tokio::test]
async fn a_cancel_ends_an_activation_that_waits_for_the_compiler() {
    let bench = bench_with(settings());
    let artifact = slow(500);
    let request = nop_of(&artifact);
    let cancellation = suite::cancellation(&request, None);
    let latch = cancellation.probe().clone();
    let mut run = pin!(bench.backend.invoke_contained(request.artifact, request.request, cancellation));
    let mut polls = 0;
    let ended = poll_fn(|cx| {
        polls += 1;
        let polled = run.as_mut().poll(cx);
        if polls == 1 {
            assert!(polled.is_pending(), "the compiler takes longer than one poll");
            latch.request_cancel();
        }
        polled
    })
    .await;
    assert_eq!(ended.report.outcome, ExecutionOutcome::Cancelled);
    assert_eq!(bench.backend.resources().prepared_entries, 0, "the run did not wait for the compiler");
    assert!(bench.backend.resources().is_idle());
    bench.until_quiet().await;
    assert_eq!(bench.backend.resources().prepared_entries, 0, "what nobody waits for is not kept");
    assert_eq!(bench.json(nop_of(&artifact)).await, "null");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_deadline_ends_an_activation_that_waits_for_the_compiler() {
    let bench = bench_with(settings());
    let artifact = slow(500);
    let ran = bench.run_within(nop_of(&artifact), Some(Duration::from_millis(20))).await;
    assert_eq!(ran.report.outcome, ExecutionOutcome::DeadlineExceeded);
    assert_eq!(bench.backend.resources().prepared_entries, 0, "the run did not wait for the compiler");
    bench.until_quiet().await;
    assert_eq!(bench.backend.resources().prepared_entries, 0, "what nobody waits for is not kept");
    assert_eq!(bench.json(nop_of(&artifact)).await, "null");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn an_activation_that_is_dropped_while_it_waits_for_the_compiler_holds_nothing() {
    let bench = bench_with(settings());
    let artifact = slow(500);
    let request = nop_of(&artifact);
    let cancellation = suite::cancellation(&request, None);
    let mut run = bench.backend.invoke_contained(request.artifact, request.request, cancellation);
    poll_fn(|cx| {
        assert!(run.as_mut().poll(cx).is_pending(), "the compiler takes longer than one poll");
        Poll::Ready(())
    })
    .await;
    assert_eq!(bench.backend.resources().running_invocations, 1);
    drop(run);
    assert!(bench.backend.resources().is_idle());
    bench.until_quiet().await;
    assert_eq!(bench.backend.resources().prepared_entries, 0, "what nobody waits for is not kept");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_component_that_does_not_compile_is_refused_to_all_and_kept_by_none() {
    let bench = bench_with(settings());
    let mut broken = latent_guests::component("echo").to_vec();
    let last = broken.len() - 1;
    broken.truncate(last);
    let broken = ComponentArtifact::new(broken);
    let asked = (0..8).map(|_| bench.backend.prepare_for_use(broken.clone()));
    for answer in join_all(asked).await {
        assert_eq!(answer.err().expect("it is broken").code(), PlatformErrorCode::InvalidArgument);
    }
    let held = bench.backend.resources();
    assert!(held.is_idle() && held.prepared_entries == 0 && held.prepared_bytes == 0);
    bench.assert_healthy().await;
}
