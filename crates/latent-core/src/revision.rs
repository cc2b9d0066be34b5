//! What a route leads to: a revision, pinned by the activation that resolved it.
//!
//! A revision is a release together with a deployment's configuration, its weight left out. An activation keeps
//! the resolved revision for life; later deployments cannot redirect it.

use std::fmt;

use crate::digest::Sha256Digest;
use crate::id::{DeploymentId, RouteName, ServiceName, TenantId};

/// Names one revision by what it consists of. Written as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RevisionId(Sha256Digest);

impl RevisionId {
    /// The revision with this digest.
    #[must_use]
    pub const fn new(digest: Sha256Digest) -> Self {
        Self(digest)
    }

    /// The digest over release and configuration.
    #[must_use]
    pub const fn digest(&self) -> &Sha256Digest {
        &self.0
    }
}

impl fmt::Display for RevisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The outcome of routing one activation (`activation-lifecycle.md`, "Resolution and lifecycle"). Cloning shares
/// every text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRevision {
    /// Whose service it is.
    pub tenant: TenantId,
    /// The service that was called.
    pub service: ServiceName,
    /// The route that was asked for.
    pub route: RouteName,
    /// The deployment that was selected.
    pub deployment: DeploymentId,
    /// The revision that this deployment had.
    pub revision: RevisionId,
    /// The component that runs.
    pub release: Sha256Digest,
    /// The generation of the catalog in which all of this was so.
    pub route_generation: u64,
}
