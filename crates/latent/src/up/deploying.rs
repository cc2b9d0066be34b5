//! Deploys a file as the deployment `main` of its service.
//!
//! Invariant: code is compiled before anything of it is stored, so that what the compiler refuses never answers, and the
//! first call of what it takes waits for nothing.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use latent_catalog::{Deployment, DeploymentManifest, ManifestLimits, Release};
use latent_core::{DeploymentId, PlatformError, ServiceName, Sha256Digest, TenantId};
use latent_executor::ComponentArtifact;
use latent_node::access::DEVELOPMENT_TENANT;
use latent_wire::ports::{DeploymentStore as _, ReleaseStore};
use tokio::task::spawn_blocking;

use super::unless_asked;
use crate::ending::Failure;
use crate::errors::ErrorText;
use crate::input;
use crate::serve::{Asked, Node};

/// The deployment of every service.
const DEPLOYMENT: &str = "main";
/// Releases of its own that a node keeps, the newest ones: calls under way may still need the code of the one before.
const RELEASES_KEPT: usize = 16;

/// What a deployment changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The service is new.
    Made,
    /// Another component answers from now on.
    Replaced,
    /// The component is what it was.
    Nothing,
}

/// Deploys for the tenant of development.
pub struct Deployer {
    node: Arc<Node>,
    tenant: TenantId,
    published: VecDeque<Sha256Digest>,
}

impl Deployer {
    /// Deploys on `node`.
    pub fn new(node: Arc<Node>) -> Self {
        let tenant = TenantId::new(DEVELOPMENT_TENANT).expect("a literal without forbidden characters");
        Self { node, tenant, published: VecDeque::new() }
    }

    /// Deploys the file at `path`. `None` when the node is asked to end before it is compiled.
    pub async fn deploy(
        &mut self,
        path: &Path,
        service: &ServiceName,
        asked: &Asked,
    ) -> Option<Result<(Arc<Release>, Change), Failure>> {
        let artifact = match self.read(path.to_owned()).await {
            Ok(artifact) => artifact,
            Err(failure) => return Some(Err(failure)),
        };
        let prepared = unless_asked(asked, self.node.backend.prepare(artifact.clone(), &self.tenant)).await?;
        Some(match prepared {
            Ok(_kept) => self.store(artifact, service).await,
            Err(error) => Err(refused(&error)),
        })
    }

    async fn read(&self, path: PathBuf) -> Result<ComponentArtifact, Failure> {
        let bytes_max = self.node.stores.component_bytes_max();
        spawn_blocking(move || input::component(&path, bytes_max)).await.map_err(|_panic| failed())?
    }

    /// Stores the component and lets it answer.
    async fn store(
        &mut self,
        artifact: ComponentArtifact,
        service: &ServiceName,
    ) -> Result<(Arc<Release>, Change), Failure> {
        let there = self.there(service);
        if let Some(there) = there.as_ref().filter(|there| there.release().digest() == artifact.digest()) {
            return Ok((there.release().clone(), Change::Nothing));
        }
        let change = if there.is_some() { Change::Replaced } else { Change::Made };
        let manifest = manifest(&self.tenant, service, artifact.digest(), there.as_deref())?;
        let (stores, tenant) = (self.node.stores.clone(), self.tenant.clone());
        let storing = spawn_blocking(move || {
            let (release, is_new) = stores.publish(&tenant, b"{}", artifact.bytes())?;
            stores.apply(manifest, None)?;
            Ok::<_, PlatformError>((release.release, is_new))
        });
        let outcome = storing.await.map_err(|_panic| failed())?;
        let (release, is_new) = outcome.map_err(|error| refused(&error))?;
        if is_new {
            self.published.push_back(release.digest());
            self.forget().await;
        }
        Ok((release, change))
    }

    fn there(&self, service: &ServiceName) -> Option<Arc<Deployment>> {
        let main = DeploymentId::new(DEPLOYMENT).expect("a literal without forbidden characters");
        self.node.storage.view().get(&self.tenant, service, &main).cloned()
    }

    /// Deletes the oldest releases that this has published, beyond those that are kept.
    async fn forget(&mut self) {
        while self.published.len() > RELEASES_KEPT {
            let Some(oldest) = self.published.pop_front() else { return };
            let (stores, tenant) = (self.node.stores.clone(), self.tenant.clone());
            // One that a deployment refers to is kept; it is somebody's choice then.
            let _kept = spawn_blocking(move || ReleaseStore::delete(&*stores, &tenant, oldest)).await;
        }
    }
}

/// The manifest of the deployment: as it is, with another release; a new one where there is none.
fn manifest(
    tenant: &TenantId,
    service: &ServiceName,
    release: Sha256Digest,
    there: Option<&Deployment>,
) -> Result<DeploymentManifest, Failure> {
    if let Some(there) = there {
        return Ok(DeploymentManifest { release, ..there.manifest() });
    }
    let json = serde_json::json!({
        "service": service.as_str(), "deployment": DEPLOYMENT, "release": format!("sha256:{release}"),
    });
    let read = DeploymentManifest::from_json_of(json.to_string().as_bytes(), &ManifestLimits::default(), tenant);
    read.map_err(|error| refused(&PlatformError::from(error)))
}

fn refused(error: &PlatformError) -> Failure {
    Failure::local(ErrorText(error).to_string())
}

fn failed() -> Failure {
    Failure::local("the node failed while it deployed the file; report this")
}
