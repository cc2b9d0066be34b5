//! A repository of which one release is read only when the run says so: what wants it is preparing until then.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use latent_core::{PlatformError, Sha256Digest, TenantId};
use latent_executor::{ArtifactRepository, ComponentArtifact, SealedRelease, SealedSource};

/// Another repository, behind a door for one release.
pub struct StallingRepository {
    inner: Arc<dyn ArtifactRepository>,
    stalled: Sha256Digest,
    open: Mutex<bool>,
    changed: Condvar,
}

impl StallingRepository {
    /// `inner`, with the door before `stalled` closed.
    #[must_use]
    pub fn new(inner: Arc<dyn ArtifactRepository>, stalled: Sha256Digest) -> Self {
        Self { inner, stalled, open: Mutex::new(false), changed: Condvar::new() }
    }

    /// Opens the door, or closes it for those that come later.
    pub fn set_open(&self, open: bool) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = open;
        self.changed.notify_all();
    }

    fn pass(&self, digest: Sha256Digest) {
        if digest == self.stalled {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.changed.wait_while(open, |open| !*open).unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl ArtifactRepository for StallingRepository {
    fn fetch(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ComponentArtifact, PlatformError> {
        self.pass(digest);
        self.inner.fetch(tenant, digest)
    }

    fn sealed(&self) -> Option<&dyn SealedSource> {
        self.inner.sealed().map(|_| self as &dyn SealedSource)
    }
}

impl SealedSource for StallingRepository {
    fn identify(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<SealedRelease<'_>, PlatformError> {
        self.source().identify(tenant, digest)
    }

    fn fetch_sealed(&self, release: &SealedRelease<'_>) -> Result<ComponentArtifact, PlatformError> {
        self.pass(release.digest());
        self.source().fetch_sealed(release)
    }
}

impl StallingRepository {
    fn source(&self) -> &dyn SealedSource {
        self.inner.sealed().expect("it is asked as a sealed source only where there is one")
    }
}
