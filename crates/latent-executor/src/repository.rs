//! Where component bytes come from: the repository port, and the sealed source through which warm preparation reads
//! nothing.
//!
//! Invariant: whatever a repository hands out has the digest that was asked for, and belongs to the tenant that asked.

use std::sync::Arc;

use latent_core::{PlatformError, Sha256Digest, TenantId};

use crate::artifact::ComponentArtifact;

/// Keeps releases. Every method answers as if other tenants' releases did not exist.
pub trait ArtifactRepository: Send + Sync {
    /// Reads a tenant's component whole and verifies it: the fully verified path. Blocks on the disk, so it is called on
    /// threads made for that.
    ///
    /// # Errors
    /// `not-found` when the tenant has no such release; `corrupt-artifact` when what is stored is not what was
    /// published or is missing; `unavailable` when it cannot be read at the moment.
    fn fetch(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ComponentArtifact, PlatformError>;

    /// The sealed source of this repository, if it has one. Without it every preparation fetches.
    fn sealed(&self) -> Option<&dyn SealedSource> {
        None
    }
}

/// Vouches for releases without reading them: what it identifies was verified when it was adopted, and nobody else
/// writes where it is kept (`activation-lifecycle.md`, "Preparation and capability binding").
pub trait SealedSource: Send + Sync {
    /// Looks a tenant's release up in memory: no component is read or hashed, no manifest or contract walked through.
    ///
    /// # Errors
    /// `not-found` when the tenant has no such release.
    fn identify(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<SealedRelease<'_>, PlatformError>;

    /// Reads and verifies a release that this source has identified. Blocks on the disk.
    ///
    /// # Errors
    /// `internal` for a release that another source identified; otherwise as [`ArtifactRepository::fetch`].
    fn fetch_sealed(&self, release: &SealedRelease<'_>) -> Result<ComponentArtifact, PlatformError>;
}

/// The capability to vouch for releases. Its owner keeps it to itself; whoever lacks it makes no [`SealedRelease`] that
/// the owner accepts.
#[derive(Debug, Default)]
pub struct Seal {
    /// Two seals must not share an address, so that this type has a size.
    _place: u8,
}

impl Seal {
    /// A seal of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Vouches for `digest`: it was verified and cannot have changed since.
    #[must_use]
    pub fn vouch(&self, digest: Sha256Digest) -> SealedRelease<'_> {
        SealedRelease { seal: self, digest }
    }

    /// Whether `release` carries this seal.
    #[must_use]
    pub fn is_on(&self, release: &SealedRelease<'_>) -> bool {
        std::ptr::eq(self, release.seal)
    }
}

/// A release that its source vouches for.
#[derive(Debug, Clone, Copy)]
pub struct SealedRelease<'s> {
    seal: &'s Seal,
    digest: Sha256Digest,
}

impl SealedRelease<'_> {
    /// The component.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }
}

/// A repository as one tenant may use it: owned, so that a preparation can outlive the call that asked for it.
#[derive(Clone)]
pub struct OwnedRepository {
    repository: Arc<dyn ArtifactRepository>,
    tenant: TenantId,
}

impl OwnedRepository {
    /// The part of `repository` that `tenant` may see.
    #[must_use]
    pub fn new(repository: Arc<dyn ArtifactRepository>, tenant: TenantId) -> Self {
        Self { repository, tenant }
    }

    /// Whose part it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Asks the sealed source, if there is one, whether the tenant has `digest`. `false` says that nobody vouches and
    /// that the bytes have to be fetched.
    ///
    /// # Errors
    /// As [`SealedSource::identify`].
    pub fn vouches_for(&self, digest: Sha256Digest) -> Result<bool, PlatformError> {
        match self.repository.sealed() {
            Some(source) => source.identify(&self.tenant, digest).map(|_sealed| true),
            None => Ok(false),
        }
    }

    /// Reads and verifies `digest`, through the sealed source if there is one. Blocks on the disk.
    ///
    /// # Errors
    /// As [`ArtifactRepository::fetch`].
    pub fn fetch(&self, digest: Sha256Digest) -> Result<ComponentArtifact, PlatformError> {
        match self.repository.sealed() {
            Some(source) => source.fetch_sealed(&source.identify(&self.tenant, digest)?),
            None => self.repository.fetch(&self.tenant, digest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_knows_its_own_releases_only() {
        let (ours, theirs) = (Seal::new(), Seal::new());
        let digest = Sha256Digest::of(b"component");
        let release = ours.vouch(digest);
        assert_eq!(release.digest(), digest);
        assert!(ours.is_on(&release) && !theirs.is_on(&release));
    }
}
