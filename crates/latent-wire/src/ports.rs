//! What the API needs of a node.
//!
//! Invariant: every port answers in the name of one tenant, and nothing of another tenant shows in an answer.

use std::sync::Arc;

use latent_catalog::{Applied, CapsuleManifest, CatalogView, Delete, Deleted, DeploymentManifest, PageBounds, Release};
use latent_core::{PlatformError, Sha256Digest, TenantId};
use latent_node::access::{Authenticator, TenantDirectory};
use latent_node::logs::LogReader;
use latent_node::operations::Operations;
use latent_node::{CleanupSupervisor, LocalActivationManager};

/// The parts of a node that its API speaks for.
#[derive(Clone)]
pub struct NodePorts {
    /// Runs activations.
    pub manager: Arc<LocalActivationManager>,
    /// Takes over those whose transport goes away.
    pub supervisor: Arc<CleanupSupervisor>,
    /// Says who calls.
    pub authenticator: Arc<dyn Authenticator>,
    /// Tenants and credentials.
    pub tenants: Arc<dyn TenantDirectory>,
    /// Components.
    pub releases: Arc<dyn ReleaseStore>,
    /// What is deployed.
    pub deployments: Arc<dyn DeploymentStore>,
    /// What guests wrote.
    pub logs: Arc<dyn LogReader>,
    /// The node itself.
    pub operations: Arc<dyn Operations>,
}

/// A release as its tenant may see it.
#[derive(Debug, Clone)]
pub struct ReleaseView {
    /// Digest, surface and ceilings.
    pub release: Arc<Release>,
    /// The manifest that it was published with.
    pub manifest: CapsuleManifest,
    /// The component's size.
    pub component_bytes: u64,
    /// What it imports, as `package/interface@version`.
    pub imports: Vec<Box<str>>,
    /// The memory that an activation begins with.
    pub declared_memory_bytes: u64,
}

/// Some releases of a tenant, in order of digest.
#[derive(Debug, Clone)]
pub struct ReleasesPage {
    /// The rows.
    pub releases: Vec<ReleaseView>,
    /// After which the next page begins; `None` on the last one.
    pub next: Option<Sha256Digest>,
}

/// Stores components. Methods block on the disk, except where they say otherwise.
pub trait ReleaseStore: Send + Sync {
    /// The largest component that is taken, in bytes. Does not block.
    fn component_bytes_max(&self) -> u64;

    /// Stores a component with its capsule manifest, durably, and says whether it is new to the tenant.
    ///
    /// # Errors
    /// As the storage's.
    fn publish(
        &self,
        tenant: &TenantId,
        manifest: &[u8],
        component: &[u8],
    ) -> Result<(ReleaseView, bool), PlatformError>;

    /// One release. Does not block.
    ///
    /// # Errors
    /// `not-found`.
    fn release(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ReleaseView, PlatformError>;

    /// Some releases, after `after`. Does not block.
    fn releases(&self, tenant: &TenantId, after: Option<Sha256Digest>, bounds: PageBounds) -> ReleasesPage;

    /// Removes a release.
    ///
    /// # Errors
    /// `not-found`; `state-conflict` naming a deployment that uses it.
    fn delete(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<(), PlatformError>;

    /// How many releases the tenant has, and how many bytes it is charged for them. Does not block.
    fn usage(&self, tenant: &TenantId) -> (u64, u64);
}

/// Keeps deployments. Changes block on the disk.
pub trait DeploymentStore: Send + Sync {
    /// The catalog as it is now. Does not block.
    fn view(&self) -> Arc<CatalogView>;

    /// Makes or replaces a deployment, durably.
    ///
    /// # Errors
    /// As the storage's.
    fn apply(&self, manifest: DeploymentManifest, expected_generation: Option<u64>) -> Result<Applied, PlatformError>;

    /// Removes a deployment, durably.
    ///
    /// # Errors
    /// As the storage's.
    fn delete(&self, delete: &Delete) -> Result<Deleted, PlatformError>;
}
