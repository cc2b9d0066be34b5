//! Catalogs of any size for benches: many tenants, services with one deployment each, a thousand releases.

use std::sync::Arc;

use latent_catalog::{
    Apply, CapsuleManifest, Catalog, CatalogLimits, CatalogView, DeploymentManifest, Release, RouteRequest,
    RouteResolver as _, Weight,
};
use latent_core::http::HttpIngress;
use latent_core::{
    ActivationId, BudgetCeilings, ContractSurface, DeploymentId, Environment, FunctionSignature, FunctionTarget,
    ImportGrant, ResolvedRevision, RouteName, SecretReferences, ServiceName, Sha256Digest, TenantId, id::DEFAULT_ROUTE,
};
use latent_storage::Storage;

/// Tenants over which deployments are spread.
pub const TENANTS: usize = 100;
/// Distinct releases that the deployments are of.
pub const RELEASES: usize = 1_000;

/// Releases, and what is deployed of them.
pub struct Spread {
    releases: Vec<Arc<Release>>,
}

/// What one call asks the catalog.
pub struct Question {
    tenant: TenantId,
    service: ServiceName,
    activation_id: ActivationId,
}

/// What every call has in common. A node has just read it, so that it is at hand.
pub struct Call {
    route: RouteName,
    target: FunctionTarget,
}

impl Default for Call {
    fn default() -> Self {
        Self { route: RouteName::new(DEFAULT_ROUTE).expect("a plain id"), target: target() }
    }
}

impl Default for Spread {
    fn default() -> Self {
        let surface = surface();
        let release = |at: usize| {
            let digest = Sha256Digest::of(&at.to_le_bytes());
            Release::new(digest, &surface, &CapsuleManifest::default()).expect("an empty manifest offers what there is")
        };
        Self { releases: (0..RELEASES).map(|at| Arc::new(release(at))).collect() }
    }
}

impl Spread {
    /// The release of deployment `at`.
    #[must_use]
    pub fn release(&self, at: usize) -> &Arc<Release> {
        &self.releases[at % RELEASES]
    }

    /// The manifest of deployment `at` of `release`.
    #[must_use]
    pub fn manifest(at: usize, release: Sha256Digest) -> DeploymentManifest {
        let (tenant, service) = names(at);
        DeploymentManifest {
            tenant,
            service,
            deployment: DeploymentId::new(format!("deployment-{at:06}")).expect("a plain id"),
            release,
            weight: Weight::default(),
            ceilings: BudgetCeilings::default(),
            imports: ImportGrant::Standard,
            environment: Environment::default(),
            secrets: SecretReferences::default(),
            http: HttpIngress::default(),
            outgoing: Box::default(),
        }
    }

    /// Deployment `at`, to be applied whatever is there.
    #[must_use]
    pub fn apply(&self, at: usize) -> Apply {
        let release = self.release(at).clone();
        Apply { manifest: Self::manifest(at, release.digest()), release, expected_generation: None }
    }

    /// Publishes every release for every tenant that deploys it, and applies `deployments`.
    ///
    /// # Panics
    /// When the storage refuses.
    pub fn store(storage: &Storage, deployments: usize) {
        let component = |at: usize| (at % RELEASES).to_le_bytes();
        // Deployment `at` of tenant `at % TENANTS` has release `at % RELEASES`, so that each release has one tenant.
        for at in 0..RELEASES {
            storage.publish(&names(at).0, b"{}", &component(at)).expect("it is published");
        }
        for at in 0..deployments {
            let manifest = Self::manifest(at, Sha256Digest::of(&component(at)));
            storage.apply(manifest, None).expect("it is applied");
        }
    }

    /// A catalog of `deployments`.
    ///
    /// # Panics
    /// When they exceed the default limits.
    #[must_use]
    pub fn catalog(&self, deployments: usize) -> Catalog {
        let catalog = Catalog::new(CatalogView::empty(CatalogLimits::default()));
        for at in 0..deployments {
            catalog.apply(self.apply(at)).expect("there is room for all");
        }
        catalog
    }
}

impl Question {
    /// A call of deployment `at`.
    #[must_use]
    pub fn about(at: usize) -> Self {
        let (tenant, service) = names(at);
        Self { tenant, service, activation_id: ActivationId::new(format!("activation-{at}")).expect("a plain id") }
    }

    /// Pins the current view and resolves the call in it.
    ///
    /// # Panics
    /// When nothing serves it.
    #[must_use]
    pub fn resolve(&self, call: &Call, catalog: &Catalog) -> ResolvedRevision {
        let (Self { tenant, service, activation_id }, Call { route, target }) = (self, call);
        catalog.view().resolve(&RouteRequest { tenant, service, route, target, activation_id }).expect("it is deployed")
    }
}

fn names(at: usize) -> (TenantId, ServiceName) {
    let tenant = TenantId::new(format!("tenant-{:03}", at % TENANTS)).expect("a plain id");
    (tenant, ServiceName::new(format!("service-{at:06}")).expect("a plain id"))
}

fn target() -> FunctionTarget {
    FunctionTarget { contract: "example:text/analyze@1.0.0".into(), function: "run".into() }
}

/// What every release exports.
#[must_use]
pub fn surface() -> ContractSurface {
    ContractSurface {
        functions: vec![(target(), FunctionSignature { params: Vec::new(), result: None })],
        refused: Vec::new(),
    }
}
