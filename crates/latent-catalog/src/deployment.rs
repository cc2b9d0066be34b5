//! A deployment as the catalog holds it: immutable, replaced as a whole by the next apply.

use std::sync::Arc;

use latent_core::http::HttpIngress;
use latent_core::{DeploymentId, ResolvedRevision, RevisionId, RevisionPolicy, ServiceName, TenantId};

use crate::manifest::{DeploymentManifest, Weight};
use crate::port::RouteRequest;
use crate::release::Release;

/// One deployment at the generation that wrote it. Texts, release and policy are shared with its neighbours where
/// they are equal.
///
/// Laid out as written: what resolving a call reads comes first and lies together.
#[derive(Debug)]
#[repr(C)]
pub struct Deployment {
    pub(crate) release: Arc<Release>,
    pub(crate) id: DeploymentId,
    pub(crate) revision: RevisionId,
    pub(crate) weight: Weight,
    pub(crate) policy: Arc<RevisionPolicy>,
    pub(crate) generation: u64,
    pub(crate) tenant: TenantId,
    pub(crate) service: ServiceName,
    /// `None` of the many that are not reached over HTTP.
    pub(crate) http: Option<Arc<HttpIngress>>,
}

impl Deployment {
    /// Whose it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The service that it serves.
    #[must_use]
    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    /// Its name within the service.
    #[must_use]
    pub fn id(&self) -> &DeploymentId {
        &self.id
    }

    /// The component.
    #[must_use]
    pub fn release(&self) -> &Arc<Release> {
        &self.release
    }

    /// What its revision allows.
    #[must_use]
    pub fn policy(&self) -> &Arc<RevisionPolicy> {
        &self.policy
    }

    /// Its revision.
    #[must_use]
    pub fn revision(&self) -> RevisionId {
        self.revision
    }

    /// The generation of the catalog that wrote it. Never used again, not by a deployment of the same name either.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Its share of the default route.
    #[must_use]
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// Which HTTP requests lead to its service because of it; `None`: none do.
    #[must_use]
    pub fn http(&self) -> Option<&HttpIngress> {
        self.http.as_deref()
    }

    /// The manifest that was applied.
    #[must_use]
    pub fn manifest(&self) -> DeploymentManifest {
        DeploymentManifest {
            tenant: self.tenant.clone(),
            service: self.service.clone(),
            deployment: self.id.clone(),
            release: self.release.digest(),
            weight: self.weight,
            ceilings: self.policy.admission.deployment,
            imports: self.policy.execution.imports.clone(),
            environment: self.policy.execution.environment.clone(),
            secrets: self.policy.execution.secrets.clone(),
            http: self.http().cloned().unwrap_or_default(),
            outgoing: self.policy.execution.outgoing.clone(),
        }
    }

    /// What an activation keeps after its request has led to this deployment. The request's own texts are shared, so
    /// that calls of one tenant do not all count on the catalog's.
    pub(crate) fn resolved(&self, request: &RouteRequest<'_>, route_generation: u64) -> ResolvedRevision {
        ResolvedRevision {
            tenant: request.tenant.clone(),
            service: request.service.clone(),
            route: request.route.clone(),
            deployment: self.id.clone(),
            revision: self.revision,
            release: self.release.digest(),
            route_generation,
        }
    }
}
