//! The repository of a node that has one component, which was read before the node was built.
//!
//! Invariant: the bytes never change, so that the seal is true without looking at them.

use latent_core::{PlatformError, PlatformErrorCode, Sha256Digest, TenantId};
use latent_executor::{ArtifactRepository, ComponentArtifact, Seal, SealedRelease, SealedSource};

/// One tenant's one release, in memory.
#[derive(Debug)]
pub struct OneRelease {
    tenant: TenantId,
    artifact: ComponentArtifact,
    seal: Seal,
}

impl OneRelease {
    /// The release `artifact` of `tenant`. Its digest was computed when it was read.
    pub fn new(tenant: TenantId, artifact: ComponentArtifact) -> Self {
        Self { tenant, artifact, seal: Seal::new() }
    }

    /// The component.
    pub fn artifact(&self) -> &ComponentArtifact {
        &self.artifact
    }

    fn has(&self, tenant: &TenantId, digest: Sha256Digest) -> bool {
        *tenant == self.tenant && digest == self.artifact.digest()
    }
}

impl ArtifactRepository for OneRelease {
    fn fetch(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ComponentArtifact, PlatformError> {
        if self.has(tenant, digest) { Ok(self.artifact.clone()) } else { Err(unknown()) }
    }

    fn sealed(&self) -> Option<&dyn SealedSource> {
        Some(self)
    }
}

impl SealedSource for OneRelease {
    fn identify(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<SealedRelease<'_>, PlatformError> {
        if self.has(tenant, digest) { Ok(self.seal.vouch(digest)) } else { Err(unknown()) }
    }

    fn fetch_sealed(&self, release: &SealedRelease<'_>) -> Result<ComponentArtifact, PlatformError> {
        if self.seal.is_on(release) {
            return Ok(self.artifact.clone());
        }
        Err(PlatformError::new(PlatformErrorCode::Internal, "another source vouched for this release"))
    }
}

fn unknown() -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::NotFound,
        "the command has no such release; it has the component it was given",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    #[test]
    fn the_tenants_own_release_is_vouched_for_and_read_and_no_other_is() {
        let artifact = ComponentArtifact::new(&b"component"[..]);
        let ours = OneRelease::new(tenant("ours"), artifact.clone());
        let release = ours.identify(&tenant("ours"), artifact.digest()).unwrap();
        assert_eq!(ours.fetch_sealed(&release).unwrap().bytes(), artifact.bytes());
        assert_eq!(ours.fetch(&tenant("ours"), artifact.digest()).unwrap().bytes(), artifact.bytes());
        for (asks, digest) in [("theirs", artifact.digest()), ("ours", Sha256Digest::of(b"another"))] {
            let refused = [
                ours.identify(&tenant(asks), digest).map(drop).unwrap_err(),
                ours.fetch(&tenant(asks), digest).map(drop).unwrap_err(),
            ];
            assert!(refused.iter().all(|error| error.code() == PlatformErrorCode::NotFound), "{refused:?}");
        }
    }

    #[test]
    fn what_another_source_vouched_for_is_not_read() {
        let artifact = ComponentArtifact::new(&b"component"[..]);
        let [ours, theirs] = [(); 2].map(|()| OneRelease::new(tenant("t"), artifact.clone()));
        let foreign = theirs.identify(&tenant("t"), artifact.digest()).unwrap();
        assert_eq!(ours.fetch_sealed(&foreign).map(drop).unwrap_err().code(), PlatformErrorCode::Internal);
    }
}
