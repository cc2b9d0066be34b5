//! Preparation out of a repository: what is read when, who waits for whom, and what readiness holds.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::join_all;
use latent_core::{PlatformError, PlatformErrorCode, TenantId};
use latent_executor::fake::{FakeRepository, Gate};
use latent_executor::{ComponentArtifact, ExecutionBackend as _, PreparedReadiness, suite};
use latent_wasmtime::EngineSettings;

use crate::support::{Bench, artifact, bench_with, request_of, returned};

fn acme() -> TenantId {
    TenantId::new("acme").expect("a plain name")
}

/// With one compiler, so that a test can hold it.
fn settings() -> EngineSettings {
    EngineSettings { compilers: 1, ..EngineSettings::for_cells(4) }
}

/// A repository in which `acme` has these fixtures.
fn having(repository: FakeRepository, artifacts: &[&ComponentArtifact]) -> Arc<FakeRepository> {
    for artifact in artifacts {
        repository.put(&acme(), artifact);
    }
    Arc::new(repository)
}

async fn ready_for(
    bench: &Bench,
    repository: &Arc<FakeRepository>,
    tenant: &TenantId,
    artifact: &ComponentArtifact,
) -> Result<PreparedReadiness, PlatformError> {
    let key = bench.backend.preparation_key(artifact.digest());
    bench.backend.prepare_ready_from_repository(repository.owned_by(tenant), key).await
}

async fn ready(bench: &Bench, repository: &Arc<FakeRepository>, artifact: &ComponentArtifact) -> PreparedReadiness {
    ready_for(bench, repository, &acme(), artifact).await.expect("it prepares")
}

#[tokio::test]
async fn a_warm_hit_through_a_sealed_source_reads_nothing() {
    let (bench, echo) = (bench_with(settings()), artifact("echo"));
    let repository = having(FakeRepository::sealed(), &[&echo]);
    let first = ready(&bench, &repository, &echo).await;
    assert_eq!((repository.identifications(), repository.fetches()), (2, 1), "looked up, and once more to fetch");
    let second = ready(&bench, &repository, &echo).await;
    assert_eq!((repository.identifications(), repository.fetches()), (3, 1));
    assert!(Arc::ptr_eq(first.code(), second.code()));
}

#[tokio::test]
async fn a_repository_without_a_sealed_source_is_read_and_verified_each_time() {
    let (bench, echo) = (bench_with(settings()), artifact("echo"));
    let repository = having(FakeRepository::unsealed(), &[&echo]);
    let first = ready(&bench, &repository, &echo).await;
    let second = ready(&bench, &repository, &echo).await;
    assert_eq!(repository.fetches(), 2);
    assert!(Arc::ptr_eq(first.code(), second.code()), "compiled once all the same");
    repository.damage(&acme(), echo.digest());
    let error = ready_for(&bench, &repository, &acme(), &echo).await.err().expect("it is damaged");
    assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact);
}

#[tokio::test]
async fn another_tenant_finds_nothing_even_while_the_code_is_kept() {
    let (bench, echo) = (bench_with(settings()), artifact("echo"));
    for repository in [FakeRepository::sealed(), FakeRepository::unsealed()] {
        let repository = having(repository, &[&echo]);
        let _kept = ready(&bench, &repository, &echo).await;
        let other = TenantId::new("other").unwrap();
        let error = ready_for(&bench, &repository, &other, &echo).await.err().expect("it is not theirs");
        assert_eq!(error.code(), PlatformErrorCode::NotFound);
    }
}

#[tokio::test]
async fn damaged_bytes_are_refused_before_anything_is_held_and_mended_ones_are_taken() {
    let (bench, echo) = (bench_with(settings()), artifact("echo"));
    let repository = having(FakeRepository::sealed(), &[&echo]);
    repository.damage(&acme(), echo.digest());
    let error = ready_for(&bench, &repository, &acme(), &echo).await.err().expect("it is damaged");
    assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact);
    let held = bench.backend.resources();
    assert!(held.is_idle() && held.prepared_entries == 0, "{held:?}");
    repository.put(&acme(), &echo);
    drop(ready(&bench, &repository, &echo).await);
}

#[tokio::test]
async fn a_component_that_cannot_be_prepared_is_read_once_and_refused_again_from_memory() {
    let bench = bench_with(settings());
    let broken = ComponentArtifact::new(&b"\0asm\x0d\0\x01\0broken"[..]);
    let repository = having(FakeRepository::sealed(), &[&broken]);
    for _ in 0..3 {
        let error = ready_for(&bench, &repository, &acme(), &broken).await.err().expect("it is no component");
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    }
    assert_eq!(repository.fetches(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_misses_share_one_job() {
    let (bench, echo) = (Arc::new(bench_with(settings())), artifact("echo"));
    let repository = having(FakeRepository::sealed(), &[&echo]);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    repository.hold_fetches(entered.clone(), leave.clone());
    let asked = (0..48).map(|_| {
        let (bench, repository, echo) = (bench.clone(), repository.clone(), echo.clone());
        tokio::spawn(async move { ready(&bench, &repository, &echo).await })
    });
    let asked: Vec<_> = asked.collect();
    entered.passed().await;
    while bench.backend.resources().preparations != 1 {
        tokio::task::yield_now().await;
    }
    leave.open();
    let answers = join_all(asked).await;
    assert_eq!(repository.fetches(), 1);
    assert_eq!(bench.backend.resources().ready_pins, 48);
    drop(answers);
    assert!(bench.backend.resources().is_idle());
}

#[tokio::test]
async fn a_job_whose_last_waiter_left_keeps_what_it_holds_until_it_ends_and_its_result_is_discarded() {
    let (bench, echo) = (bench_with(settings()), artifact("echo"));
    let repository = having(FakeRepository::sealed(), &[&echo]);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    repository.hold_fetches(entered.clone(), leave.clone());
    let mut asked = Box::pin(ready(&bench, &repository, &echo));
    poll_fn(|cx| {
        assert!(asked.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    entered.passed().await;
    drop(asked);
    assert_eq!(bench.backend.resources().preparations, 1, "the job is still owned");
    leave.open();
    bench.until_quiet().await;
    assert_eq!(bench.backend.resources().prepared_entries, 0, "nobody wanted the result");
    drop(ready(&bench, &repository, &echo).await);
    assert_eq!(repository.fetches(), 2);
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_job_that_everybody_left_before_it_began_is_never_begun() {
    let (bench, echo, types) = (bench_with(settings()), artifact("echo"), artifact("types"));
    let repository = having(FakeRepository::sealed(), &[&echo, &types]);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    repository.hold_fetches(entered.clone(), leave.clone());
    let mut asked = [Box::pin(ready(&bench, &repository, &echo)), Box::pin(ready(&bench, &repository, &types))];
    poll_fn(|cx| {
        assert!(asked.iter_mut().all(|one| one.as_mut().poll(cx).is_pending()));
        Poll::Ready(())
    })
    .await;
    entered.passed().await;
    let [first, second] = asked;
    drop(second);
    leave.open();
    drop(first.await);
    bench.until_quiet().await;
    assert_eq!(repository.fetches(), 1, "the second was not even read");
}

#[tokio::test]
async fn readiness_has_code_and_imports_and_no_store_instance_or_permit() {
    let (bench, capsule) = (bench_with(settings()), artifact("containment-capsule"));
    let repository = having(FakeRepository::sealed(), &[&capsule]);
    let waiting = ready(&bench, &repository, &capsule).await;
    let held = bench.backend.resources();
    assert_eq!((held.ready_pins, held.prepared_pins, held.instance_permits), (1, 0, 0));
    assert_eq!((held.stores, held.component_instances, held.running_invocations), (0, 0, 0));
    assert_eq!(held.ready_bytes, held.prepared_bytes, "the pinned code is the kept one");
    let declared = waiting.code().imports().to_vec();
    let prepared = bench.backend.materialize_ready(waiting).expect("a permit is free");
    assert_eq!(prepared.imports(), declared, "the complete list moved over");
    let held = bench.backend.resources();
    assert_eq!((held.ready_pins, held.instance_permits, held.stores), (1, 1, 0), "the same pin, and now a permit");
    drop(prepared);
    assert!(bench.backend.resources().is_idle());
}

#[tokio::test]
async fn what_is_ready_outlives_its_place_in_the_cache_and_runs() {
    let mut settings = settings();
    settings.prepared_entries_max = 1;
    let (bench, capsule, echo) = (bench_with(settings), artifact("containment-capsule"), artifact("echo"));
    let repository = having(FakeRepository::sealed(), &[&capsule, &echo]);
    let waiting = ready(&bench, &repository, &capsule).await;
    drop(ready(&bench, &repository, &echo).await);
    assert_eq!(bench.backend.resources().prepared_entries, 1, "echo took its place");
    let prepared = bench.backend.materialize_ready(waiting).expect("a permit is free");
    let request = request_of(&capsule, "fixture:containment-capsule/modes@0.1.0#echo", "[\"pinned\"]");
    let cancellation = suite::cancellation(&request, None);
    let ran = bench.backend.invoke_prepared_contained(prepared, request.request, cancellation).await;
    assert_eq!(returned(&ran), "\"pinned\"");
    let held = bench.backend.resources();
    assert!(held.is_idle() && held.prepared_entries == 1, "the run ended its own pin and touched no cache: {held:?}");
}

#[tokio::test]
async fn readiness_that_finds_no_permit_is_refused_and_gives_its_pin_back() {
    let mut settings = settings();
    settings.instances_max = 1;
    let (bench, echo) = (bench_with(settings), artifact("echo"));
    let repository = having(FakeRepository::sealed(), &[&echo]);
    let held = bench.backend.materialize_ready(ready(&bench, &repository, &echo).await).expect("the only permit");
    let waiting = ready(&bench, &repository, &echo).await;
    let error = bench.backend.materialize_ready(waiting).err().expect("no permit is left");
    assert_eq!(error.details()[0].kind(), "activation.instance-permits-exhausted");
    assert_eq!(bench.backend.resources().ready_pins, 1);
    drop(held);
    assert!(bench.backend.resources().is_idle());
}

#[tokio::test]
async fn readiness_is_bounded_by_pins_and_by_bytes() {
    let (echo, types) = (artifact("echo"), artifact("types"));
    let repository = having(FakeRepository::sealed(), &[&echo, &types]);
    let mut few = settings();
    few.ready_pins_max = 2;
    let mut small = settings();
    small.ready_bytes_max = 1;
    for (settings, setting) in [(few, "ready_pins_max"), (small, "ready_bytes_max")] {
        let bench = bench_with(settings);
        let pins = [ready(&bench, &repository, &echo).await, ready(&bench, &repository, &echo).await];
        let error = ready_for(&bench, &repository, &acme(), &types).await.err().expect("one too many");
        assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::ResourceExhausted, true));
        assert_eq!(error.details()[0].kind(), "activation.ready-pins-exhausted");
        assert!(error.details()[0].field(setting).is_some(), "{error:?}");
        drop(pins);
        drop(ready(&bench, &repository, &types).await);
        assert!(bench.backend.resources().is_idle());
    }
}

#[tokio::test]
async fn readiness_and_keys_of_another_backend_are_refused() {
    let echo = artifact("echo");
    let (here, there) = (bench_with(settings()), bench_with(settings()));
    let repository = having(FakeRepository::sealed(), &[&echo]);
    let foreign = ready(&there, &repository, &echo).await;
    let error = here.backend.materialize_ready(foreign).err().expect("it is not ours");
    assert_eq!(error.code(), PlatformErrorCode::Internal);
    let key = latent_executor::PreparationKey::new(echo.digest(), 1);
    let asked = here.backend.prepare_ready_from_repository(repository.owned_by(&acme()), key).await;
    assert_eq!(asked.err().expect("no engine has this key").code(), PlatformErrorCode::Internal);
    assert!(here.backend.resources().is_idle() && there.backend.resources().is_idle());
}
