//! The contract of backends that prepare ahead: from a repository over readiness and a permit to a run, with nothing
//! left wherever the way is left.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use latent_core::{ExecutionOutcome, ExecutionPolicy, ImportGrant, PlatformErrorCode, RevisionPolicy, TenantId};

use super::{Call, Subject, cancellation, proven};
use crate::backend::{ExecutionBackend, ExecutionRequest};
use crate::fake::FakeRepository;
use crate::prepared::{PreparedActivation, PreparedReadiness};
use crate::repository::OwnedRepository;

/// Runs the contract of the prepared path. The subject's component declares at least one interface; `other` is a backend
/// of the same kind that is not the subject's.
///
/// # Panics
/// At the first promise that is broken.
pub async fn run_prepared(subject: &Subject, other: &dyn ExecutionBackend) {
    prepared_outcomes_are_typed_and_proven(subject).await;
    an_import_that_is_not_granted_is_refused(subject).await;
    what_is_granted_by_name_runs(subject).await;
    the_repository_decides_who_finds_what(subject).await;
    a_dropped_readiness_or_activation_leaves_nothing(subject).await;
    a_dropped_prepared_run_leaves_nothing(subject).await;
    code_of_another_backend_is_refused(subject, other).await;
    prepared_outcomes_are_typed_and_proven(subject).await;
}

fn repository_of(subject: &Subject, tenant: &TenantId) -> OwnedRepository {
    let repository = FakeRepository::sealed();
    repository.put(&subject.request(Call::Echo).context.principal.tenant, &subject.artifact);
    Arc::new(repository).owned_by(tenant)
}

async fn ready_in(subject: &Subject, backend: &dyn ExecutionBackend) -> PreparedReadiness {
    let repository = repository_of(subject, &subject.request(Call::Echo).context.principal.tenant);
    let key = backend.preparation_key(subject.artifact.digest());
    backend.prepare_ready_from_repository(repository, key).await.expect("the subject's component prepares")
}

async fn prepared(subject: &Subject) -> PreparedActivation {
    let ready = ready_in(subject, &*subject.backend).await;
    let held = subject.backend.resources();
    assert_eq!((held.ready_pins, held.instance_permits), (1, 0), "readiness is a pin and no permit: {held:?}");
    assert_eq!((held.stores, held.running_invocations), (0, 0), "readiness runs nothing: {held:?}");
    let declared = ready.code().imports().to_vec();
    let prepared = subject.backend.materialize_ready(ready).expect("a permit is free");
    assert_eq!(prepared.imports(), declared, "the complete list of imports moves over");
    let held = subject.backend.resources();
    assert_eq!((held.prepared_pins, held.instance_permits, held.stores), (1, 1, 0), "now with a permit: {held:?}");
    prepared
}

async fn ended(subject: &Subject, request: ExecutionRequest) -> ExecutionOutcome {
    let cancellation = cancellation(&request, None);
    let prepared = prepared(subject).await;
    let contained = subject.backend.invoke_prepared_contained(prepared, request, cancellation).await;
    proven(subject, contained)
}

async fn prepared_outcomes_are_typed_and_proven(subject: &Subject) {
    let echo = ended(subject, subject.request(Call::Echo)).await;
    assert!(matches!(echo, ExecutionOutcome::Returned(payload) if !payload.bytes.is_empty()));
    let declared = ended(subject, subject.request(Call::Declared)).await;
    assert!(matches!(declared, ExecutionOutcome::DeclaredError(_)), "{declared:?}");
    let trap = ended(subject, subject.request(Call::Trap)).await;
    assert!(matches!(trap, ExecutionOutcome::Trapped { .. }), "{trap:?}");
    refused_with(PlatformErrorCode::IncompatibleContract, &ended(subject, subject.request(Call::Unknown)).await);
}

fn refused_with(code: PlatformErrorCode, outcome: &ExecutionOutcome) -> &latent_core::PlatformError {
    match outcome {
        ExecutionOutcome::Failed(error) if error.code() == code => error,
        other => panic!("expected {code}, got {other:?}"),
    }
}

fn granting(subject: &Subject, names: Vec<Box<str>>) -> ExecutionRequest {
    let execution = ExecutionPolicy { imports: ImportGrant::Only(names.into()), ..ExecutionPolicy::default() };
    let policy = RevisionPolicy { execution, ..RevisionPolicy::default() };
    ExecutionRequest { policy: Arc::new(policy), ..subject.request(Call::Echo) }
}

async fn an_import_that_is_not_granted_is_refused(subject: &Subject) {
    let declared = prepared(subject).await;
    let first = declared.imports().iter().find(|import| import.is_interface()).expect("an interface is declared");
    let first = first.to_string();
    drop(declared);
    let over_prepared = ended(subject, granting(subject, Vec::new())).await;
    let request = granting(subject, Vec::new());
    let cancellation = cancellation(&request, None);
    let over_bytes = proven(subject, subject.start(request, cancellation).await);
    for outcome in [over_prepared, over_bytes] {
        let error = refused_with(PlatformErrorCode::PermissionDenied, &outcome);
        assert_eq!(error.details()[0].kind(), "activation.import-not-granted");
        assert_eq!(error.details()[0].field("import"), Some(&*first));
    }
}

async fn what_is_granted_by_name_runs(subject: &Subject) {
    let declared = prepared(subject).await;
    let interfaces = declared.imports().iter().filter(|import| import.is_interface());
    let mut names: Vec<Box<str>> =
        interfaces.map(|import| import.0.split('@').next().unwrap_or_default().into()).collect();
    names.sort();
    drop(declared);
    let outcome = ended(subject, granting(subject, names)).await;
    assert!(matches!(outcome, ExecutionOutcome::Returned(_)), "{outcome:?}");
}

async fn the_repository_decides_who_finds_what(subject: &Subject) {
    let stranger = TenantId::new("stranger").expect("a constant id");
    let key = subject.backend.preparation_key(subject.artifact.digest());
    let asked = subject.backend.prepare_ready_from_repository(repository_of(subject, &stranger), key).await;
    assert_eq!(asked.err().expect("it is not theirs").code(), PlatformErrorCode::NotFound);
    assert!(subject.backend.resources().is_idle(), "a refused preparation holds nothing");
}

async fn a_dropped_readiness_or_activation_leaves_nothing(subject: &Subject) {
    let ready = ready_in(subject, &*subject.backend).await;
    assert!(!subject.backend.resources().is_idle());
    drop(ready);
    assert!(subject.backend.resources().is_idle(), "a dropped readiness holds nothing");
    drop(prepared(subject).await);
    assert!(subject.backend.resources().is_idle(), "a dropped activation holds nothing");
}

async fn a_dropped_prepared_run_leaves_nothing(subject: &Subject) {
    for polled in [false, true] {
        let request = subject.request(Call::Spin);
        let cancellation = cancellation(&request, None);
        let prepared = prepared(subject).await;
        let mut run = subject.backend.invoke_prepared_contained(prepared, request, cancellation);
        if polled {
            poll_fn(|cx| {
                assert!(run.as_mut().poll(cx).is_pending(), "a spin does not end by itself");
                Poll::Ready(())
            })
            .await;
        }
        assert!(!subject.backend.resources().is_idle());
        drop(run);
        assert!(subject.backend.resources().is_idle(), "a dropped run holds nothing (polled: {polled})");
    }
}

async fn code_of_another_backend_is_refused(subject: &Subject, other: &dyn ExecutionBackend) {
    let foreign = ready_in(subject, other).await;
    let error = subject.backend.materialize_ready(foreign).err().expect("another backend prepared it");
    assert_eq!(error.code(), PlatformErrorCode::Internal);
    let foreign = other.materialize_ready(ready_in(subject, other).await).expect("a permit is free");
    let request = subject.request(Call::Echo);
    let cancellation = cancellation(&request, None);
    let contained = subject.backend.invoke_prepared_contained(foreign, request, cancellation).await;
    refused_with(PlatformErrorCode::Internal, &proven(subject, contained));
    assert!(other.resources().is_idle(), "the other backend gets its pins and permits back");
}
