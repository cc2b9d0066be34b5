//! Deploys a file as the deployment `main` of its service.
//!
//! Invariant: code is compiled before anything of it is stored, so that what the compiler refuses never answers, and the
//! first call of what it takes waits for nothing.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use latent_catalog::{Deployment, DeploymentManifest, ManifestLimits, Release};
use latent_core::http::HttpIngress;
use latent_core::{DeploymentId, PlatformError, PlatformErrorCode, ServiceName, Sha256Digest, TenantId};
use latent_executor::ComponentArtifact;
use latent_node::access::DEVELOPMENT_TENANT;
use latent_wire::ports::{DeploymentStore as _, ReleaseStore};
use tokio::task::spawn_blocking;

use super::{routing, unless_asked};
use crate::ending::Failure;
use crate::errors::ErrorText;
use crate::input;
use crate::serve::{Asked, Node, Stores};

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

/// What was deployed.
#[derive(Debug)]
pub struct Deployed {
    /// What answers.
    pub release: Arc<Release>,
    /// What that changed.
    pub change: Change,
    /// The HTTP requests that it answers.
    pub http: HttpIngress,
}

/// Deploys for the tenant of development.
pub struct Deployer {
    node: Arc<Node>,
    /// Whether it is for one component alone.
    is_for_one: bool,
    tenant: TenantId,
    published: VecDeque<Sha256Digest>,
}

impl Deployer {
    /// Deploys on `node`, one component or several.
    pub fn new(node: Arc<Node>, is_for_one: bool) -> Self {
        let tenant = TenantId::new(DEVELOPMENT_TENANT).expect("a literal without forbidden characters");
        Self { node, is_for_one, tenant, published: VecDeque::new() }
    }

    /// Deploys the file at `path`. `None` when the node is asked to end before it is compiled.
    pub async fn deploy(
        &mut self,
        path: &Path,
        service: &ServiceName,
        asked: &Asked,
    ) -> Option<Result<Deployed, Failure>> {
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
    async fn store(&mut self, artifact: ComponentArtifact, service: &ServiceName) -> Result<Deployed, Failure> {
        let there = self.there(service);
        let choices = routing::choices(service, self.is_for_one);
        let unchanged = there.as_ref().filter(|there| there.release().digest() == artifact.digest());
        if let Some(there) = unchanged {
            let (release, http) = (there.release().clone(), there.http().cloned().unwrap_or_default());
            let is_kept = release.surface().http_handler().is_none() || !routing::is_made_here(&http, service);
            if is_kept || choices.first() == Some(&http) {
                return Ok(Deployed { release, change: Change::Nothing, http });
            }
        }
        let change = match (&there, unchanged) {
            (None, _) => Change::Made,
            (Some(_), None) => Change::Replaced,
            (Some(_), Some(_)) => Change::Nothing,
        };
        let manifest = manifest(&self.tenant, service, artifact.digest(), there.as_deref())?;
        let (stores, tenant) = (self.node.stores.clone(), self.tenant.clone());
        let storing = spawn_blocking(move || {
            let (release, is_new) = stores.publish(&tenant, b"{}", artifact.bytes())?;
            let http = apply(&stores, manifest, &release.release, choices)?;
            Ok::<_, PlatformError>((release.release, is_new, http))
        });
        let outcome = storing.await.map_err(|_panic| failed())?;
        let (release, is_new, http) = outcome.map_err(|error| refused(&error))?;
        if is_new {
            self.published.push_back(release.digest());
            self.forget().await;
        }
        Ok(Deployed { release, change, http })
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

/// Applies `manifest` with the first of `choices` that no other service has, unless somebody chose its routes before.
fn apply(
    stores: &Stores,
    manifest: DeploymentManifest,
    release: &Release,
    choices: Vec<HttpIngress>,
) -> Result<HttpIngress, PlatformError> {
    if !routing::is_made_here(&manifest.http, &manifest.service) {
        let http = manifest.http.clone();
        return stores.apply(manifest, None).map(|_applied| http);
    }
    let choices = if release.surface().http_handler().is_some() { choices } else { Vec::new() };
    for http in choices {
        match stores.apply(DeploymentManifest { http: http.clone(), ..manifest.clone() }, None) {
            Err(error) if error.code() == PlatformErrorCode::StateConflict => {}
            answer => return answer.map(|_applied| http),
        }
    }
    stores.apply(DeploymentManifest { http: HttpIngress::default(), ..manifest }, None).map(|_| HttpIngress::default())
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
