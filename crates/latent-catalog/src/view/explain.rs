//! Where calls go, told to people: the candidates of a route, and why one of them is chosen.
//!
//! Invariant: what is told is what resolving does, on the same view.

use std::sync::Arc;

use latent_core::{PlatformError, ResolvedRevision, RouteName, ServiceName, TenantId};

use super::CatalogView;
use super::service::Service;
use crate::deployment::Deployment;
use crate::port::RouteRequest;
use crate::refusal::RouteRefusal;
use crate::select::{Choice, select_explained};

/// A resolution, and how it came about.
#[derive(Debug, Clone)]
pub struct Explained {
    /// What the request leads to.
    pub resolved: ResolvedRevision,
    /// The candidates of the route, sorted by revision, each with whether it offers the function.
    pub candidates: Vec<(Arc<Deployment>, bool)>,
    /// The choice among those that do.
    pub choice: Choice<Arc<Deployment>>,
}

impl CatalogView {
    /// The deployments that a route chooses among, sorted by revision.
    ///
    /// # Errors
    /// `route-unavailable` when the tenant's service has no such route.
    pub fn candidates(
        &self,
        tenant: &TenantId,
        service: &ServiceName,
        route: &RouteName,
    ) -> Result<impl Iterator<Item = &Arc<Deployment>>, PlatformError> {
        let unknown = || RouteRefusal::Unknown { service, route };
        let found = self.service(tenant, service).ok_or_else(unknown)?;
        let (all, one) = if route.is_default() {
            (Some(found), None)
        } else {
            (None, Some(found.get(route.as_str()).ok_or_else(unknown)?))
        };
        Ok(all.into_iter().flat_map(Service::by_revision).chain(one))
    }

    /// Resolves `request` as [`RouteResolver`](crate::RouteResolver) does, and says how.
    ///
    /// # Errors
    /// As there.
    pub fn explain(&self, request: &RouteRequest<'_>) -> Result<Explained, PlatformError> {
        let RouteRequest { tenant, service, route, target, .. } = *request;
        let offers = |deployment: &Arc<Deployment>| deployment.release.surface().offers(target);
        let candidates = self.candidates(tenant, service, route)?;
        let candidates: Vec<_> = candidates.map(|deployment| (Arc::clone(deployment), offers(deployment))).collect();
        let eligible = || candidates.iter().filter(|(_, eligible)| *eligible).map(|(one, _)| (one.weight, one.clone()));
        let choice =
            select_explained(request, eligible).ok_or(RouteRefusal::Incompatible { service, route, target })?;
        let resolved = choice.chosen.resolved(request, self.generation);
        Ok(Explained { resolved, candidates, choice })
    }
}
