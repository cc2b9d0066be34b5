//! Images on disk behind the backend: what is read, compiled and mapped, with a cold and a warm directory.

use std::future::Future as _;
use std::path::Path;
use std::sync::Arc;

use latent_core::{SystemWallClock, TenantId};
use latent_executor::fake::{FakeRepository, Gate};
use latent_executor::{BoundedLogSink, ComponentArtifact, ExecutionBackend as _, PreparationKey};
use latent_wasmtime::{EngineSettings, ImageLimits, ImageStore, Preparation, WasmtimeBackend};

use crate::support::{Bench, artifact, request_of, returned};

fn acme() -> TenantId {
    TenantId::new("acme").expect("a plain name")
}

fn store(dir: &Path) -> ImageStore {
    ImageStore::open(dir, ImageLimits::default(), Arc::new(SystemWallClock)).expect("the directory is ours")
}

/// A backend that keeps its images in `dir`.
fn keeping(dir: &Path) -> Bench {
    let sink = Arc::new(BoundedLogSink::new(1 << 20));
    let preparation = Preparation { images: Some(store(dir)), ..Preparation::default() };
    // One compiler, so that a test can hold it.
    let settings = EngineSettings { compilers: 1, ..EngineSettings::for_cells(4) };
    let backend = WasmtimeBackend::with_preparation(settings, preparation, sink.clone());
    Bench { backend: Arc::new(backend.expect("this machine runs the engine")), sink }
}

fn having(artifacts: &[&ComponentArtifact]) -> Arc<FakeRepository> {
    let repository = FakeRepository::sealed();
    for artifact in artifacts {
        repository.put(&acme(), artifact);
    }
    Arc::new(repository)
}

fn key(bench: &Bench, artifact: &ComponentArtifact) -> PreparationKey {
    bench.backend.preparation_key(artifact.digest())
}

/// Runs the echo of `artifact` out of `repository`.
async fn echo_from(bench: &Bench, repository: &Arc<FakeRepository>, artifact: &ComponentArtifact) {
    let owned = repository.owned_by(&acme());
    let ready = bench.backend.prepare_ready_from_repository(owned, key(bench, artifact)).await.expect("it prepares");
    let prepared = bench.backend.materialize_ready(ready).expect("a permit is free");
    let request = request_of(artifact, "fixture:echo/echo@0.1.0#echo-string", "[\"hello\"]");
    let cancellation = latent_executor::suite::cancellation(&request, None);
    let ran = bench.backend.invoke_prepared_contained(prepared, request.request, cancellation).await;
    assert_eq!(returned(&ran), "\"hello\"");
}

#[tokio::test]
async fn after_a_restart_the_image_serves_and_nothing_is_fetched_or_compiled() {
    let (dir, echo) = (tempfile::tempdir().unwrap(), artifact("echo"));
    let repository = having(&[&echo]);
    echo_from(&keeping(dir.path()), &repository, &echo).await;
    assert_eq!(repository.fetches(), 1);
    let restarted = keeping(dir.path());
    echo_from(&restarted, &repository, &echo).await;
    assert_eq!((repository.fetches(), restarted.backend.compilations()), (1, 0), "the image was enough");
    assert_eq!(restarted.backend.resources().prepared_entries, 1);
}

#[tokio::test]
async fn damaged_and_truncated_images_are_made_again() {
    let (dir, echo) = (tempfile::tempdir().unwrap(), artifact("echo"));
    let repository = having(&[&echo]);
    echo_from(&keeping(dir.path()), &repository, &echo).await;
    let image = std::fs::read_dir(dir.path()).unwrap().next().expect("there is one").unwrap().path();
    let sound = std::fs::read(&image).unwrap();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 1;
    for (fetches, damaged) in [(2, &flipped[..]), (3, &sound[..sound.len() / 2]), (4, &[])] {
        std::fs::remove_file(&image).unwrap();
        std::fs::write(&image, damaged).unwrap();
        echo_from(&keeping(dir.path()), &repository, &echo).await;
        assert_eq!(repository.fetches(), fetches, "a miss");
        assert_eq!(std::fs::read(&image).unwrap().len(), sound.len(), "and there is an image again");
    }
}

#[tokio::test]
async fn a_directory_that_takes_no_images_costs_only_the_images() {
    let (dir, echo) = (tempfile::tempdir().unwrap(), artifact("echo"));
    let repository = having(&[&echo]);
    let images = dir.path().join("images");
    let bench = keeping(&images);
    std::fs::remove_dir(&images).unwrap();
    echo_from(&bench, &repository, &echo).await;
    std::fs::create_dir(&images).unwrap();
    let types = artifact("types");
    repository.put(&acme(), &types);
    drop(bench.backend.prepare_for_use(types.clone()).await.expect("it prepares"));
    bench.until_quiet().await;
    assert!(store(&images).contains(key(&bench, &types)), "with room again, images are kept again");
}

#[tokio::test]
async fn background_work_makes_the_image_that_the_first_call_finds() {
    let (dir, echo) = (tempfile::tempdir().unwrap(), artifact("echo"));
    let (repository, bench) = (having(&[&echo]), keeping(dir.path()));
    assert!(bench.backend.prepare_in_background(repository.owned_by(&acme()), echo.digest()));
    bench.until_quiet().await;
    assert_eq!(bench.backend.resources().prepared_entries, 0, "nobody waits, so memory keeps nothing");
    assert!(store(dir.path()).contains(key(&bench, &echo)));
    assert_eq!(repository.fetches(), 1);
    echo_from(&bench, &repository, &echo).await;
    assert_eq!(repository.fetches(), 1);
}

#[tokio::test]
async fn a_call_goes_before_background_work() {
    let dir = tempfile::tempdir().unwrap();
    let [echo, types, capsule] = ["echo", "types", "containment-capsule"].map(artifact);
    let (repository, bench) = (having(&[&echo, &types, &capsule]), keeping(dir.path()));
    let (entered, leave) = (Gate::closed(), Gate::closed());
    repository.hold_fetches(entered.clone(), leave.clone());
    for artifact in [&types, &capsule] {
        assert!(bench.backend.prepare_in_background(repository.owned_by(&acme()), artifact.digest()));
    }
    entered.passed().await;
    let call = echo_from(&bench, &repository, &echo);
    let mut call = std::pin::pin!(call);
    std::future::poll_fn(|cx| {
        assert!(call.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    leave.open();
    call.await;
    assert_eq!(repository.fetched()[1], echo.digest(), "it overtook what was queued in the background");
}

#[tokio::test]
async fn an_image_is_loaded_while_the_only_compiler_is_busy() {
    let dir = tempfile::tempdir().unwrap();
    let [echo, types] = ["echo", "types"].map(artifact);
    let repository = having(&[&echo, &types]);
    echo_from(&keeping(dir.path()), &repository, &echo).await;
    let bench = keeping(dir.path());
    let (entered, leave) = (Gate::closed(), Gate::closed());
    repository.hold_fetches(entered.clone(), leave.clone());
    assert!(bench.backend.prepare_in_background(repository.owned_by(&acme()), types.digest()));
    entered.passed().await;
    echo_from(&bench, &repository, &echo).await;
    assert_eq!(bench.backend.compilations(), 0, "nothing was compiled meanwhile");
    leave.open();
    bench.until_quiet().await;
}

#[tokio::test]
async fn without_images_there_is_nothing_to_do_in_the_background() {
    let (bench, echo) = (crate::support::bench(), artifact("echo"));
    let repository = having(&[&echo]);
    assert!(!bench.backend.prepare_in_background(repository.owned_by(&acme()), echo.digest()));
    assert!(bench.backend.components_with_stale_images().is_empty());
}

#[tokio::test]
async fn images_of_another_engine_are_named_and_rebuilt_in_the_background() {
    let (dir, echo) = (tempfile::tempdir().unwrap(), artifact("echo"));
    let before = store(dir.path());
    let staged = before.stage().unwrap();
    before.adopt(staged, PreparationKey::new(echo.digest(), 1)).unwrap();
    let (repository, bench) = (having(&[&echo]), keeping(dir.path()));
    assert_eq!(bench.backend.components_with_stale_images(), [echo.digest()]);
    assert!(bench.backend.prepare_in_background(repository.owned_by(&acme()), echo.digest()));
    bench.until_quiet().await;
    assert!(store(dir.path()).contains(key(&bench, &echo)));
    assert!(bench.backend.components_with_stale_images().is_empty());
}
