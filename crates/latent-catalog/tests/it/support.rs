//! Small deployments and releases, and the requests that find them.

use std::sync::Arc;

use latent_catalog::{
    Apply, CapsuleManifest, Catalog, CatalogLimits, CatalogView, Delete, DeploymentManifest, Release, RouteRequest,
    RouteResolver, Weight,
};
use latent_core::contract::HTTP_HANDLER_CONTRACT;
use latent_core::http::{HttpAuthentication, HttpIngress, HttpRoute};
use latent_core::{
    ActivationId, BudgetCeilings, ContractSurface, DeploymentId, Environment, FunctionSignature, FunctionTarget,
    ImportGrant, PlatformError, ResolvedRevision, RouteName, SecretReferences, ServiceName, Sha256Digest, TenantId,
};

pub const CONTRACT: &str = "example:text/analyze@1.0.0";

pub fn tenant(text: &str) -> TenantId {
    TenantId::new(text).expect("a test's tenant is an id")
}

pub fn service(text: &str) -> ServiceName {
    ServiceName::new(text).expect("a test's service is an id")
}

pub fn deployment(text: &str) -> DeploymentId {
    DeploymentId::new(text).expect("a test's deployment is an id")
}

pub fn target(function: &str) -> FunctionTarget {
    FunctionTarget { contract: CONTRACT.into(), function: function.into() }
}

pub fn weight(value: u16) -> Weight {
    Weight::new(value).expect("a test's weight is within its bounds")
}

/// What a component that exports these functions of [`CONTRACT`] has.
pub fn surface(functions: &[&str]) -> ContractSurface {
    let signature = FunctionSignature { params: vec![], result: None };
    let functions = functions.iter().map(|name| (target(name), signature.clone())).collect();
    ContractSurface { functions, refused: vec![] }
}

/// The release of the component `name`.
pub fn release(name: &str, functions: &[&str]) -> Arc<Release> {
    let digest = Sha256Digest::of(name.as_bytes());
    let release = Release::new(digest, &surface(functions), &CapsuleManifest::default());
    Arc::new(release.expect("an empty manifest offers what there is"))
}

/// A deployment of [`plain`] with nothing special about it.
pub fn manifest(tenant_id: &str, service_name: &str, id: &str) -> DeploymentManifest {
    DeploymentManifest {
        tenant: tenant(tenant_id),
        service: service(service_name),
        deployment: deployment(id),
        release: plain().digest(),
        weight: Weight::default(),
        ceilings: BudgetCeilings::default(),
        imports: ImportGrant::Standard,
        environment: Environment::default(),
        secrets: SecretReferences::default(),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    }
}

/// A release that exports `run`.
pub fn plain() -> Arc<Release> {
    release("plain", &["run"])
}

/// The release of a component that exports `run` and an HTTP handler.
pub fn handler(name: &str) -> Arc<Release> {
    let mut surface = surface(&["run"]);
    let contract = format!("{HTTP_HANDLER_CONTRACT}@0.2.3").into();
    surface.refused.push((FunctionTarget { contract, function: "handle".into() }, "it takes a handle".into()));
    let release = Release::new(Sha256Digest::of(name.as_bytes()), &surface, &CapsuleManifest::default());
    Arc::new(release.expect("an empty manifest offers what there is"))
}

/// Routes, each as `host/path`.
pub fn http(routes: &[&str], authentication: HttpAuthentication) -> HttpIngress {
    let mut routes: Vec<_> =
        routes.iter().map(|route| HttpRoute::parse(route).expect("a test's route is one")).collect();
    routes.sort();
    HttpIngress { routes: routes.into(), authentication }
}

pub fn empty() -> Catalog {
    Catalog::new(CatalogView::empty(CatalogLimits::default()))
}

/// An unconditional apply of `manifest`, with `release` named in it.
pub fn apply_of(manifest: DeploymentManifest, release: Arc<Release>) -> Apply {
    let manifest = DeploymentManifest { release: release.digest(), ..manifest };
    Apply { manifest, release, expected_generation: None }
}

pub fn delete_of(tenant_id: &str, service_name: &str, id: &str) -> Delete {
    Delete {
        tenant: tenant(tenant_id),
        service: service(service_name),
        deployment: deployment(id),
        expected_generation: None,
    }
}

/// Resolves `run` on a route of `text`, a service of `acme`.
pub fn resolve(
    catalog: &(impl RouteResolver + ?Sized),
    route: &str,
    activation: &str,
) -> Result<ResolvedRevision, PlatformError> {
    resolve_in(catalog, ("acme", "text", route), "run", activation)
}

/// Resolves `function` on the route (tenant, service, route).
pub fn resolve_in(
    catalog: &(impl RouteResolver + ?Sized),
    (tenant_id, service_name, route): (&str, &str, &str),
    function: &str,
    activation: &str,
) -> Result<ResolvedRevision, PlatformError> {
    catalog.resolve(&RouteRequest {
        tenant: &tenant(tenant_id),
        service: &service(service_name),
        route: &RouteName::new(route).expect("a test's route is an id"),
        target: &target(function),
        activation_id: &ActivationId::new(activation).expect("a test's activation has an id"),
    })
}
