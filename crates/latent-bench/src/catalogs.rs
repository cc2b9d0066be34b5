//! Catalogs of any size for benches: many tenants, services with one deployment each, a thousand releases.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

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

use crate::series::Series;

/// Tenants over which deployments are spread.
pub const TENANTS: usize = 100;
/// Distinct releases that the deployments are of.
pub const RELEASES: usize = 1_000;
/// Resolutions that are timed together, because looking at the clock takes a good part of one.
const BATCH: usize = 8;

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
        Self::of(target())
    }
}

impl Call {
    /// A call of `target` by the default route.
    ///
    /// # Panics
    /// Never: the route has a name.
    #[must_use]
    pub fn of(target: FunctionTarget) -> Self {
        Self { route: RouteName::new(DEFAULT_ROUTE).expect("a plain id"), target }
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

    /// Resolves the call in `view`.
    ///
    /// # Panics
    /// When nothing serves it.
    #[must_use]
    pub fn resolve(&self, call: &Call, view: &CatalogView) -> ResolvedRevision {
        let (Self { tenant, service, activation_id }, Call { route, target }) = (self, call);
        view.resolve(&RouteRequest { tenant, service, route, target, activation_id }).expect("it is deployed")
    }
}

/// Times `calls` resolutions among `deployments`, in an order without a pattern, each with a pin of the view before it.
///
/// # Panics
/// When nothing serves one of them.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub fn sample_resolve(
    pin: impl Fn() -> Arc<CatalogView>,
    call: &Call,
    deployments: usize,
    calls: Range<usize>,
) -> Series {
    let questions: Vec<_> = calls.map(|at| Question::about(scatter(at) % deployments)).collect();
    let mut series = Series::default();
    for batch in questions.chunks_exact(BATCH) {
        let started = Instant::now();
        for question in batch {
            black_box(question.resolve(call, &pin()));
        }
        series.push(started.elapsed() / u32::try_from(BATCH).expect("it is small"));
    }
    series
}

/// A multiplicative step through the deployments, so that neighbours in time are no neighbours in memory.
#[must_use]
pub fn scatter(at: usize) -> usize {
    at.wrapping_mul(2_654_435_761) >> 7
}

/// Whose deployment `at` is, and of which service.
///
/// # Panics
/// Never: both are plain ids.
#[must_use]
pub fn names(at: usize) -> (TenantId, ServiceName) {
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
