//! The fake passes the port's contract, and its counts are right after each scripted panic and drop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use latent_core::{BudgetConsumption, ExecutionOutcome, PlatformError, PlatformErrorCode, ResourceBudget, TenantId};

use super::*;
use crate::suite::{self, Call, Subject};
use crate::{
    ComponentArtifact, ContainedExecution, ExecutionBackend, ExecutionCleanup, ExecutionReport, ExecutionRequest,
    PreparedActivation, PreparedReadiness,
};

fn artifact() -> ComponentArtifact {
    ComponentArtifact::new(&b"fake"[..])
}

fn acme() -> TenantId {
    TenantId::new("acme").expect("a plain name")
}

fn spelled() -> FakeBackend {
    let declared = latent_core::Payload::json("\"no\"");
    let backend = FakeBackend::new()
        .with("echo", FakeStep::Echo)
        .with("declared", FakeStep::End(ExecutionOutcome::DeclaredError(declared)))
        .with("trap", FakeStep::End(ExecutionOutcome::Trapped { category: "unreachable" }))
        .with("spin", FakeStep::Spin);
    backend.set_imports(&["deadline", "wasi:io/poll@0.2.0"]);
    backend
}

#[tokio::test]
async fn the_fake_passes_the_contract() {
    let subject = Subject::new(Arc::new(spelled()), artifact(), |call| match call {
        Call::Echo => ("echo", "[\"hi\"]"),
        Call::Declared => ("declared", "[]"),
        Call::Trap => ("trap", "[]"),
        Call::Spin => ("spin", "[]"),
        Call::Unknown => ("nowhere", "[]"),
    });
    suite::run(&subject).await;
    suite::run_prepared(&subject, &spelled()).await;
}

struct Legacy;

impl ExecutionBackend for Legacy {
    fn invoke(&self, _artifact: ComponentArtifact, request: ExecutionRequest) -> BoxFuture<'_, ExecutionReport> {
        let outcome = ExecutionOutcome::Returned(request.payload);
        Box::pin(std::future::ready(ExecutionReport { outcome, consumption: BudgetConsumption::default() }))
    }
}

#[tokio::test]
async fn a_backend_with_only_the_legacy_entry_proves_nothing() {
    let request = suite::request("f", "[]");
    let cancellation = suite::cancellation(&request, None);
    let contained = Legacy.invoke_contained(artifact(), request, cancellation).await;
    assert!(matches!(contained.cleanup, ExecutionCleanup::Unproven { .. }));
    assert!(matches!(contained.report.outcome, ExecutionOutcome::Returned(_)));
}

#[tokio::test]
async fn a_backend_that_prepares_nothing_refuses_prepared_code_and_the_cell_may_serve_again() {
    let fake = FakeBackend::new();
    let prepared = fake.prepare_for_use(artifact()).await.unwrap();
    let request = suite::request("f", "[]");
    let cancellation = suite::cancellation(&request, None);
    let contained = Legacy.invoke_prepared_contained(prepared, request, cancellation).await;
    assert_eq!(contained.cleanup, ExecutionCleanup::Reusable);
    assert_eq!(failure(&contained).code(), PlatformErrorCode::Unavailable);
    assert!(fake.resources().is_idle(), "the use is given back");
}

fn failure(contained: &ContainedExecution) -> &PlatformError {
    match &contained.report.outcome {
        ExecutionOutcome::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

fn preparing<'b>(
    backend: &'b FakeBackend,
    repository: &Arc<FakeRepository>,
) -> BoxFuture<'b, Result<PreparedReadiness, PlatformError>> {
    let key = backend.preparation_key(artifact().digest());
    backend.prepare_ready_from_repository(repository.owned_by(&acme()), key)
}

fn having(repository: FakeRepository) -> Arc<FakeRepository> {
    repository.put(&acme(), &artifact());
    Arc::new(repository)
}

async fn prepared(backend: &FakeBackend) -> PreparedActivation {
    let ready = preparing(backend, &having(FakeRepository::sealed())).await.expect("it prepares");
    backend.materialize_ready(ready).expect("a permit is free")
}

fn nothing_held(backend: &FakeBackend) {
    let held = backend.resources();
    assert!(held.is_idle() && held.preparations == 0, "{held:?}");
}

fn panics<T>(work: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err(), "it was scripted to panic");
}

#[tokio::test]
async fn what_is_vouched_for_is_not_read_and_what_is_not_is_read_each_time() {
    let backend = FakeBackend::new();
    for (repository, fetches) in [(FakeRepository::sealed(), 0), (FakeRepository::unsealed(), 2)] {
        let repository = having(repository);
        for _ in 0..2 {
            drop(preparing(&backend, &repository).await.expect("it prepares"));
        }
        assert_eq!(repository.fetches(), fetches);
    }
    let foreign = crate::PreparationKey::new(artifact().digest(), 1);
    let owned = having(FakeRepository::sealed()).owned_by(&acme());
    let error = backend.prepare_ready_from_repository(owned, foreign).await.err().expect("another engine's key");
    assert_eq!(error.code(), PlatformErrorCode::Internal);
    nothing_held(&backend);
}

#[tokio::test]
async fn a_preparation_fails_or_panics_as_it_is_told_and_holds_nothing_afterwards() {
    let (backend, repository) = (FakeBackend::new(), having(FakeRepository::sealed()));
    backend.set_preparation(FakePreparation::Fail(PlatformError::new(PlatformErrorCode::Unavailable, "not now")));
    assert_eq!(preparing(&backend, &repository).await.err().expect("it fails").message(), "not now");
    backend.set_preparation(FakePreparation::Panic);
    panics(|| preparing(&backend, &repository));
    backend.set_preparation(FakePreparation::PanicOnPoll);
    let polled = preparing(&backend, &repository);
    panics(|| polled.now_or_never());
    for pending in [FakePreparation::Hang, FakePreparation::PanicOnDrop] {
        let panicking = matches!(pending, FakePreparation::PanicOnDrop);
        backend.set_preparation(pending);
        let mut waiting = preparing(&backend, &repository);
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(backend.resources().preparations, 1);
        assert_eq!(catch_unwind(AssertUnwindSafe(|| drop(waiting))).is_err(), panicking);
        nothing_held(&backend);
    }
}

#[tokio::test]
async fn a_gated_preparation_waits_for_its_gate() {
    let (backend, repository) = (FakeBackend::new(), having(FakeRepository::sealed()));
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let then = Box::new(FakePreparation::Ready);
    backend.set_preparation(FakePreparation::Gated { entered: entered.clone(), leave: leave.clone(), then });
    let mut waiting = preparing(&backend, &repository);
    assert!((&mut waiting).now_or_never().is_none());
    assert!(entered.passed().now_or_never().is_some());
    leave.open();
    let ready = waiting.await.expect("the gate is open");
    assert_eq!((backend.resources().ready_pins, backend.resources().preparations), (1, 0));
    drop(ready);
    nothing_held(&backend);
}

#[tokio::test]
async fn a_materialization_fails_panics_or_finds_no_permit_and_holds_nothing_afterwards() {
    let (backend, repository) = (FakeBackend::new(), having(FakeRepository::sealed()));
    let ready = async || preparing(&backend, &repository).await.expect("it prepares");
    let refusal = PlatformError::new(PlatformErrorCode::Unavailable, "not now");
    backend.set_materialization(FakeMaterialization::Fail(refusal));
    assert_eq!(backend.materialize_ready(ready().await).err().expect("it fails").message(), "not now");
    nothing_held(&backend);
    backend.set_materialization(FakeMaterialization::Panic);
    let panicking = ready().await;
    panics(|| backend.materialize_ready(panicking).map(drop));
    nothing_held(&backend);
    backend.set_materialization(FakeMaterialization::Ready);
    backend.set_instances_max(1);
    let only = prepared(&backend).await;
    let error = backend.materialize_ready(ready().await).err().expect("the permit is taken");
    assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::ResourceExhausted, true));
    assert!(backend.prepare_for_use(artifact()).await.is_err(), "a use from bytes needs a permit too");
    assert_eq!(backend.resources().prepared_pins, 1, "a refusal keeps no pin");
    drop(only);
    nothing_held(&backend);
}

#[tokio::test]
async fn a_run_panics_where_it_is_told_and_holds_nothing_afterwards() {
    let backend = FakeBackend::new()
        .with("call", FakeStep::PanicOnCall)
        .with("poll", FakeStep::Yield { polls: 1, then: Box::new(FakeStep::Panic) })
        .with("drop", FakeStep::PanicOnDrop)
        .with("hang", FakeStep::Hang);
    let start = |prepared, function: &str| {
        let request = suite::request(function, "[]");
        let cancellation = suite::cancellation(&request, None);
        cancellation.probe().request_cancel();
        backend.invoke_prepared_contained(prepared, request, cancellation)
    };
    let pinned = prepared(&backend).await;
    panics(|| start(pinned, "call"));
    nothing_held(&backend);
    let mut run = start(prepared(&backend).await, "poll");
    assert!((&mut run).now_or_never().is_none(), "it yields once");
    panics(|| run.now_or_never());
    nothing_held(&backend);
    for (function, panicking) in [("drop", true), ("hang", false)] {
        let mut run = start(prepared(&backend).await, function);
        assert!((&mut run).now_or_never().is_none(), "a cancel does not end it");
        let held = backend.resources();
        assert_eq!((held.running_invocations, held.prepared_pins, held.instance_permits), (1, 1, 1));
        assert_eq!(catch_unwind(AssertUnwindSafe(|| drop(run))).is_err(), panicking);
        nothing_held(&backend);
    }
}

#[tokio::test]
async fn use_is_charged_to_the_ledger_and_yields_are_counted() {
    let used = FakeStep::Use { fuel: 7, memory_bytes: 11, log_bytes: 13, then: Box::new(FakeStep::Hang) };
    let backend = FakeBackend::new().with("f", FakeStep::Yield { polls: 2, then: Box::new(used) });
    let mut request = suite::request("f", "[]");
    request.budget = ResourceBudget { log_bytes: 20, ..ResourceBudget::default() };
    let cancellation = suite::cancellation(&request, None);
    let ledger = cancellation.budget_accounting().clone();
    let mut run = backend.invoke_contained(artifact(), request, cancellation);
    for polls in 1..=3 {
        assert!((&mut run).now_or_never().is_none());
        let charged = BudgetConsumption { fuel: 7, peak_memory_bytes: 11, log_bytes: 13, ..Default::default() };
        assert_eq!(ledger.consumption(), if polls == 3 { charged } else { BudgetConsumption::default() });
    }
    drop(run);
    assert_eq!(ledger.consumption().fuel, 7, "a drop takes no charge back");
    nothing_held(&backend);
}
