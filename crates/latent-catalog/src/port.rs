//! The seams through which activations read the catalog. A node's catalog implements them, and so does whatever a
//! test puts in its place.
//!
//! Invariant: everything that one pinned catalog answers belongs to one generation.

use std::sync::Arc;

use latent_core::http::HttpAuthentication;
use latent_core::{
    ActivationId, FunctionTarget, PlatformError, ResolvedRevision, RevisionPolicy, RouteName, ServiceName, TenantId,
};

/// What an activation asks of the routes.
#[derive(Debug, Clone, Copy)]
pub struct RouteRequest<'a> {
    /// Whose service is called.
    pub tenant: &'a TenantId,
    /// The service.
    pub service: &'a ServiceName,
    /// The route: the default one, or a deployment's own.
    pub route: &'a RouteName,
    /// The function that is called.
    pub target: &'a FunctionTarget,
    /// The effective activation id, which is the routing key. An idempotency key never is.
    pub activation_id: &'a ActivationId,
}

/// Leads from a request to a revision.
pub trait RouteResolver: Send + Sync {
    /// Resolves `request`. The same request always leads to the same revision.
    ///
    /// # Errors
    /// `route-unavailable` when the tenant's service has no such route; `incompatible-contract` when it has, but none
    /// of its candidates offers the function.
    fn resolve(&self, request: &RouteRequest<'_>) -> Result<ResolvedRevision, PlatformError>;
}

/// Knows what a revision allows.
pub trait RevisionPolicySource: Send + Sync {
    /// The policy of a revision that the same catalog resolved.
    ///
    /// # Errors
    /// `not-found` when this catalog has no such revision.
    fn policy(&self, revision: &ResolvedRevision) -> Result<Arc<RevisionPolicy>, PlatformError>;
}

/// The service that answers an HTTP request, and who may make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpService {
    /// Whose it is.
    pub tenant: TenantId,
    /// The service. Its default route leads to the revision, as for a call.
    pub service: ServiceName,
    /// Who may make requests.
    pub authentication: HttpAuthentication,
}

/// Routes and policies at one generation. Immutable.
pub trait ActivationCatalog: RouteResolver + RevisionPolicySource {
    /// Which generation it is; later ones are greater.
    fn generation(&self) -> u64;

    /// The service with the most specific rule for `host`, as [`canonical_host`](latent_core::http::canonical_host)
    /// writes it, and `path`, without its query: an exact host before a domain, a longer domain before a shorter one,
    /// any host last; among those of one host the longest prefix. Segments are compared as
    /// [`path_segments`](latent_core::http::path_segments) has them. A catalog without such rules has none.
    fn http_route(&self, host: &str, path: &str) -> Option<HttpService> {
        let (_, _) = (host, path);
        None
    }
}

/// Where the current catalog comes from.
pub trait ActivationCatalogSource: Send + Sync {
    /// The current catalog, which stays as it is for as long as it is held. Never waits for a writer.
    fn pin(&self) -> Arc<dyn ActivationCatalog>;
}
