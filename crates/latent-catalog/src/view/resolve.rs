//! What activations ask of a view: where a route leads, and what the revision there allows.
//!
//! Invariant: an unknown route never falls back to another, and every answer is of the view's own generation.

use std::sync::Arc;

use latent_core::{PlatformError, ResolvedRevision, RevisionPolicy};

use super::CatalogView;
use crate::deployment::Deployment;
use crate::port::{ActivationCatalog, HttpService, RevisionPolicySource, RouteRequest, RouteResolver};
use crate::refusal::RouteRefusal;
use crate::select::select;

impl RouteResolver for CatalogView {
    fn resolve(&self, request: &RouteRequest<'_>) -> Result<ResolvedRevision, PlatformError> {
        let RouteRequest { tenant, service: name, route, target, .. } = *request;
        let service = self.service(tenant, name);
        let service = service.ok_or(RouteRefusal::Unknown { service: name, route })?;
        let offers = |deployment: &&Arc<Deployment>| deployment.release.surface().offers(target);
        let selected = if route.is_default() {
            select(request, || service.by_revision().filter(offers).map(|deployment| (deployment.weight, deployment)))
        } else {
            let named = service.get(route.as_str());
            Some(named.ok_or(RouteRefusal::Unknown { service: name, route })?).filter(offers)
        };
        let selected = selected.ok_or(RouteRefusal::Incompatible { service: name, route, target })?;
        Ok(selected.resolved(request, self.generation))
    }
}

impl RevisionPolicySource for CatalogView {
    fn policy(&self, revision: &ResolvedRevision) -> Result<Arc<RevisionPolicy>, PlatformError> {
        let service = self.service(&revision.tenant, &revision.service);
        let found = service.and_then(|service| service.get(revision.deployment.as_str()));
        match found.filter(|deployment| deployment.revision == revision.revision) {
            Some(deployment) => Ok(deployment.policy.clone()),
            None => {
                Err(RouteRefusal::UnknownRevision { service: &revision.service, revision: revision.revision }.into())
            }
        }
    }
}

impl ActivationCatalog for CatalogView {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn http_route(&self, host: &str, path: &str) -> Option<HttpService> {
        self.http.find(host, path).cloned()
    }
}
