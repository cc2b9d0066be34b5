//! A repository in memory that counts what is read of it, with or without a sealed source.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use foldhash::fast::RandomState;
use latent_core::{PlatformError, PlatformErrorCode, Sha256Digest, TenantId};

use super::Gate;
use crate::artifact::ComponentArtifact;
use crate::repository::{ArtifactRepository, OwnedRepository, Seal, SealedRelease, SealedSource};

type Releases = HashMap<(TenantId, Sha256Digest), Bytes, RandomState>;

/// Releases in memory.
#[derive(Debug, Default)]
pub struct FakeRepository {
    releases: Mutex<Releases>,
    seal: Option<Seal>,
    fetched: Mutex<Vec<Sha256Digest>>,
    identifications: AtomicU64,
    hold: Mutex<Option<(Gate, Gate)>>,
}

impl FakeRepository {
    /// A repository that vouches for what it has.
    #[must_use]
    pub fn sealed() -> Self {
        Self { seal: Some(Seal::new()), ..Self::default() }
    }

    /// A repository that vouches for nothing.
    #[must_use]
    pub fn unsealed() -> Self {
        Self::default()
    }

    /// Gives `tenant` the release `artifact`.
    pub fn put(&self, tenant: &TenantId, artifact: &ComponentArtifact) {
        self.lock().insert((tenant.clone(), artifact.digest()), artifact.bytes().clone());
    }

    /// Exchanges the bytes of a release for others, as damage would.
    pub fn damage(&self, tenant: &TenantId, digest: Sha256Digest) {
        self.lock().insert((tenant.clone(), digest), Bytes::from_static(b"damaged"));
    }

    /// Makes each later fetch open `entered` and wait for `leave`.
    pub fn hold_fetches(&self, entered: Gate, leave: Gate) {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = Some((entered, leave));
    }

    /// How often bytes were read.
    #[must_use]
    pub fn fetches(&self) -> usize {
        self.fetched().len()
    }

    /// What was read, in order.
    #[must_use]
    pub fn fetched(&self) -> Vec<Sha256Digest> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often the sealed source was asked.
    #[must_use]
    pub fn identifications(&self) -> u64 {
        self.identifications.load(Ordering::Relaxed)
    }

    /// The part of this repository that `tenant` may see.
    #[must_use]
    pub fn owned_by(self: &Arc<Self>, tenant: &TenantId) -> OwnedRepository {
        OwnedRepository::new(self.clone(), tenant.clone())
    }

    fn read(
        &self,
        digest: Sha256Digest,
        is_owner: impl Fn(&TenantId) -> bool,
    ) -> Result<ComponentArtifact, PlatformError> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
        let held = self.hold.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((entered, leave)) = held {
            entered.open();
            leave.wait();
        }
        let found = {
            let releases = self.lock();
            releases
                .iter()
                .find(|((owner, known), _)| *known == digest && is_owner(owner))
                .map(|(_, bytes)| bytes.clone())
        };
        let artifact = ComponentArtifact::new(found.ok_or_else(unknown)?);
        if artifact.digest() == digest {
            Ok(artifact)
        } else {
            Err(PlatformError::new(PlatformErrorCode::CorruptArtifact, "the release is not what was published"))
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Releases> {
        self.releases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ArtifactRepository for FakeRepository {
    fn fetch(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ComponentArtifact, PlatformError> {
        self.read(digest, |owner| owner == tenant)
    }

    fn sealed(&self) -> Option<&dyn SealedSource> {
        self.seal.is_some().then_some(self)
    }
}

impl SealedSource for FakeRepository {
    fn identify(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<SealedRelease<'_>, PlatformError> {
        self.identifications.fetch_add(1, Ordering::Relaxed);
        let known = self.lock().contains_key(&(tenant.clone(), digest));
        self.seal.as_ref().filter(|_| known).map(|seal| seal.vouch(digest)).ok_or_else(unknown)
    }

    fn fetch_sealed(&self, release: &SealedRelease<'_>) -> Result<ComponentArtifact, PlatformError> {
        if self.seal.as_ref().is_some_and(|seal| seal.is_on(release)) {
            self.read(release.digest(), |_owner| true)
        } else {
            Err(PlatformError::new(PlatformErrorCode::Internal, "another source vouched for this release"))
        }
    }
}

fn unknown() -> PlatformError {
    PlatformError::new(PlatformErrorCode::NotFound, "there is no such release")
}
