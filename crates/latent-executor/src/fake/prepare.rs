//! The fake's way from a repository to a use: scripted code with scripted imports, pins and permits.

use std::any::Any;
use std::future::pending;
use std::sync::Arc;

use latent_core::{ContractSurface, ErrorDetail, PlatformError, PlatformErrorCode, Sha256Digest};

use super::held::{Counts, Held, Kind};
use super::pending::panicking_when_dropped;
use super::{FakeMaterialization, FakePreparation};
use crate::prepared::{ImportName, PreparationKey, PreparedActivation, PreparedCode, PreparedReadiness, PreparedUse};
use crate::repository::OwnedRepository;

/// What fake keys carry, so that a real engine's are told from them.
const COMPATIBILITY: u64 = u64::from_be_bytes(*b"fake-run");

/// The code of a fake backend: what was prepared, and by whom.
#[derive(Debug)]
pub(super) struct FakeCode {
    imports: Arc<[ImportName]>,
    surface: ContractSurface,
    owner: Arc<Counts>,
}

impl PreparedCode for FakeCode {
    fn surface(&self) -> &ContractSurface {
        &self.surface
    }

    fn imports(&self) -> &[ImportName] {
        &self.imports
    }

    fn declared_memory_bytes(&self) -> u64 {
        0
    }

    fn code_bytes(&self) -> u64 {
        0
    }
}

/// The key of the component `digest`.
pub(super) fn key(digest: Sha256Digest) -> PreparationKey {
    PreparationKey::new(digest, COMPATIBILITY)
}

/// Finds the component of `asked`: where nobody vouches for it, it is fetched.
pub(super) fn find(repository: &OwnedRepository, asked: PreparationKey) -> Result<(), PlatformError> {
    if asked != key(asked.digest()) {
        return Err(PlatformError::new(PlatformErrorCode::Internal, "the preparation key is another engine's"));
    }
    if !repository.vouches_for(asked.digest())? {
        repository.fetch(asked.digest())?;
    }
    Ok(())
}

/// Panics as a script that does so at the call says.
pub(super) fn called(script: &FakePreparation) {
    assert!(!matches!(script, FakePreparation::Panic), "scripted panic");
}

/// Goes through the script to the code.
pub(super) async fn scripted(
    mut script: FakePreparation,
    imports: Arc<[ImportName]>,
    owner: &Arc<Counts>,
) -> Result<Arc<dyn PreparedCode>, PlatformError> {
    loop {
        match script {
            FakePreparation::Ready => {
                return Ok(Arc::new(FakeCode { imports, surface: ContractSurface::default(), owner: owner.clone() }));
            }
            FakePreparation::Fail(error) => return Err(error),
            FakePreparation::Panic | FakePreparation::PanicOnPoll => panic!("scripted panic"),
            FakePreparation::Gated { entered, leave, then } => {
                entered.open();
                leave.passed().await;
                script = *then;
            }
            FakePreparation::Hang => pending().await,
            FakePreparation::PanicOnDrop => panicking_when_dropped().await,
        }
    }
}

/// Pins `code` for an activation that waits for a cell.
pub(super) fn readiness(code: Arc<dyn PreparedCode>, counts: &Arc<Counts>) -> PreparedReadiness {
    PreparedReadiness::new(code, Box::new(counts.hold(Kind::ReadyPin)))
}

/// Turns a readiness of this backend into a use, as the script says.
pub(super) fn materialize(
    ready: PreparedReadiness,
    script: FakeMaterialization,
    counts: &Arc<Counts>,
    instances_max: u64,
) -> Result<PreparedActivation, PlatformError> {
    match script {
        FakeMaterialization::Ready => (),
        FakeMaterialization::Fail(error) => return Err(error),
        FakeMaterialization::Panic => panic!("scripted panic"),
    }
    if !is_own(ready.code(), counts) {
        return Err(foreign());
    }
    let held = hold_use(counts, instances_max)?;
    Ok(PreparedActivation::new(ready.into_use(Box::new(held))))
}

/// Takes a pin and a permit for a use that needs no readiness before it.
pub(super) fn direct_use(
    code: Arc<dyn PreparedCode>,
    counts: &Arc<Counts>,
    instances_max: u64,
) -> Result<PreparedUse, PlatformError> {
    let held = hold_use(counts, instances_max)?;
    Ok(PreparedUse::new(code, Box::new(held)))
}

/// Whether `code` was prepared by the backend whose counts these are.
pub(super) fn is_own(code: &Arc<dyn PreparedCode>, counts: &Arc<Counts>) -> bool {
    let code: &dyn Any = &**code;
    code.downcast_ref::<FakeCode>().is_some_and(|code| Arc::ptr_eq(&code.owner, counts))
}

/// The refusal of code that another backend prepared.
pub(super) fn foreign() -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, "the code was prepared by another backend")
}

fn hold_use(counts: &Arc<Counts>, instances_max: u64) -> Result<(Held, Held), PlatformError> {
    let permit = counts.hold_of(Kind::Permit, instances_max).ok_or_else(|| {
        PlatformError::new(PlatformErrorCode::ResourceExhausted, "every instance permit is taken")
            .retryable()
            .with_detail(ErrorDetail::new("activation.instance-permits-exhausted").with("instances_max", instances_max))
    })?;
    Ok((counts.hold(Kind::PreparedPin), permit))
}
