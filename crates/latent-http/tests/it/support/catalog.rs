//! The node's own catalog, beside a table of routes.

use std::sync::{Arc, Mutex};

use latent_catalog::{
    ActivationCatalog, ActivationCatalogSource, Apply, CapsuleManifest, Catalog, CatalogLimits, CatalogView,
    DeploymentManifest, HttpService, ManifestLimits, Release, RevisionPolicySource, RouteRequest, RouteResolver,
};
use latent_core::http::{HttpAuthentication, HttpRoute};
use latent_core::{
    ContractSurface, FunctionTarget, PlatformError, ResolvedRevision, RevisionPolicy, ServiceName, TenantId,
};
use latent_executor::ComponentArtifact;
use latent_executor::fake::FakeRepository;

/// Rules in order: the first that covers a request has it.
#[derive(Default)]
pub struct Routes {
    rules: Mutex<Vec<(HttpRoute, HttpService)>>,
    catalog: Option<Catalog>,
}

impl Routes {
    pub fn new() -> Self {
        Self { rules: Mutex::default(), catalog: Some(Catalog::new(CatalogView::empty(CatalogLimits::default()))) }
    }

    /// Leads `host/path` to a service.
    pub fn route(&self, host: &str, path: &str, (tenant, service): (&str, &str), authentication: HttpAuthentication) {
        let route = HttpRoute { host: latent_core::http::HostPattern::parse(host).unwrap(), path: path.into() };
        let service = HttpService {
            tenant: TenantId::new(tenant).unwrap(),
            service: ServiceName::new(service).unwrap(),
            authentication,
        };
        self.rules.lock().unwrap().push((route, service));
    }

    /// Deploys a component that handles HTTP.
    pub fn deploy(
        &self,
        repository: &FakeRepository,
        (tenant, service, deployment): (&str, &str, &str),
        weight: u16,
        wall_limit_ms: Option<u64>,
    ) {
        let artifact = ComponentArtifact::new(deployment.as_bytes().to_vec());
        repository.put(&TenantId::new(tenant).unwrap(), &artifact);
        let release = artifact.digest();
        let capsule = CapsuleManifest::default();
        let release_of = Arc::new(Release::new(release, &surface(), &capsule).unwrap());
        let ceilings =
            wall_limit_ms.map(|limit| format!(r#","ceilings":{{"wall-limit-ms":{limit}}}"#)).unwrap_or_default();
        let json = format!(
            r#"{{"tenant":"{tenant}","service":"{service}","deployment":"{deployment}","release":"{release}","weight":{weight}{ceilings}}}"#
        );
        let manifest = DeploymentManifest::from_json(json.as_bytes(), &ManifestLimits::default()).unwrap();
        let catalog = self.catalog.as_ref().unwrap();
        catalog.apply(Apply { manifest, release: release_of, expected_generation: None }).unwrap();
    }
}

fn surface() -> ContractSurface {
    let handler = FunctionTarget { contract: "wasi:http/incoming-handler@0.2.0".into(), function: "handle".into() };
    ContractSurface { functions: vec![], refused: vec![(handler, "it takes handles".into())] }
}

impl ActivationCatalogSource for Routes {
    fn pin(&self) -> Arc<dyn ActivationCatalog> {
        let view = self.catalog.as_ref().unwrap().view();
        Arc::new(Pinned { view, rules: self.rules.lock().unwrap().clone() })
    }
}

struct Pinned {
    view: Arc<CatalogView>,
    rules: Vec<(HttpRoute, HttpService)>,
}

impl RouteResolver for Pinned {
    fn resolve(&self, request: &RouteRequest<'_>) -> Result<ResolvedRevision, PlatformError> {
        self.view.resolve(request)
    }
}

impl RevisionPolicySource for Pinned {
    fn policy(&self, revision: &ResolvedRevision) -> Result<Arc<RevisionPolicy>, PlatformError> {
        self.view.policy(revision)
    }
}

impl ActivationCatalog for Pinned {
    fn generation(&self) -> u64 {
        self.view.generation()
    }

    fn http_route(&self, host: &str, path: &str) -> Option<HttpService> {
        let covers = |(route, _): &&(HttpRoute, HttpService)| route.host.matches(host) && route.covers(path);
        self.rules.iter().find(covers).map(|(_, service)| service.clone())
    }
}
