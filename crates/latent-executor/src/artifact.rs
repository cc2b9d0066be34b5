//! Component bytes as they travel: shared, immutable, known by their digest.

use bytes::Bytes;
use latent_core::Sha256Digest;

/// One component's bytes and their SHA-256. Cloning shares the bytes; nothing is hashed twice.
#[derive(Debug, Clone)]
pub struct ComponentArtifact {
    digest: Sha256Digest,
    bytes: Bytes,
}

impl ComponentArtifact {
    /// Takes `bytes` and hashes them once.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { digest: Sha256Digest::of(&bytes), bytes }
    }

    /// The digest of the bytes.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}
