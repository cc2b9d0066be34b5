//! The storage as a source of components: verified on every read, and vouched for without one.
//!
//! Invariant: what is handed out has the digest that was asked for and belongs to the tenant that asked.

use std::io;

use latent_core::{PlatformError, Sha256Digest, TenantId};
use latent_executor::{ArtifactRepository, ComponentArtifact, SealedRelease, SealedSource};

use crate::directory::{Directory, component_name};
use crate::disk::{EntryKind, NotAFile};
use crate::refusal::Refusal;
use crate::storage::Storage;

impl ArtifactRepository for Storage {
    fn fetch(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ComponentArtifact, PlatformError> {
        let bytes = self.index().get(tenant, &digest).map(|held| held.record.component_bytes);
        let bytes = bytes.ok_or(Refusal::UnknownRelease { digest })?;
        Ok(verified(&self.directory, digest, bytes)?)
    }

    fn sealed(&self) -> Option<&dyn SealedSource> {
        Some(self)
    }
}

impl SealedSource for Storage {
    fn identify(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<SealedRelease<'_>, PlatformError> {
        match self.index().get(tenant, &digest) {
            Some(_) => Ok(self.seal.vouch(digest)),
            None => Err(Refusal::UnknownRelease { digest }.into()),
        }
    }

    fn fetch_sealed(&self, release: &SealedRelease<'_>) -> Result<ComponentArtifact, PlatformError> {
        if !self.seal.is_on(release) {
            return Err(Refusal::ForeignSeal.into());
        }
        let digest = release.digest();
        // Whoever was vouched for may have deleted the release since; then its bytes are read under the general bound.
        let bytes = self.index().component_bytes(&digest).unwrap_or(self.limits.component_bytes_max);
        match verified(&self.directory, digest, bytes) {
            Err(Refusal::Corrupt { .. } | Refusal::WrongKind { .. }) if !self.index().is_owned(&digest) => {
                Err(Refusal::UnknownRelease { digest }.into())
            }
            read => Ok(read?),
        }
    }
}

/// Reads a component and checks that it is the one.
pub(crate) fn verified(directory: &Directory, digest: Sha256Digest, bytes: u64) -> Result<ComponentArtifact, Refusal> {
    let corrupt = |what| Refusal::Corrupt { digest, what };
    let read = directory.component(&digest, bytes).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => corrupt("is missing"),
        io::ErrorKind::FileTooLarge => corrupt("has more bytes than were published"),
        // A publication takes the place of anything but a directory.
        _ if NotAFile::within(&error).is_some_and(|found| found != EntryKind::Directory) => {
            corrupt("is no regular file")
        }
        _ => Refusal::io("read", &component_name(&digest))(error),
    })?;
    let artifact = ComponentArtifact::new(read);
    if artifact.digest() == digest { Ok(artifact) } else { Err(corrupt("is not what was published")) }
}
