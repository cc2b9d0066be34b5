//! The catalog at one generation: an immutable map from tenants to services to deployments.
//!
//! Invariant: a change makes another view and leaves this one as it is. The two share all but the nodes on the way
//! to what changed.

mod check;
mod explain;
mod http;
mod page;
mod resolve;
mod restore;
mod service;

use std::sync::Arc;

use latent_core::{AdmissionPolicy, DeploymentId, ExecutionPolicy, RevisionPolicy, ServiceName, TenantId};
use rpds::HashTrieMapSync;

use crate::deployment::Deployment;
use crate::manifest::DeploymentManifest;
use crate::refusal::ChangeRefusal;
use crate::release::Release;
use crate::revision::revision_id;
use crate::share::Policies;

use check::{check, expect};
pub use explain::Explained;
use http::HttpRules;
pub use page::{DeploymentCursor, DeploymentPage, PageBounds};
pub use restore::Restored;
use service::Service;

type Hasher = foldhash::quality::RandomState;
type Services = HashTrieMapSync<ServiceName, Service, Hasher>;

/// Bounds of a catalog. An apply beyond one is refused; what is there already can always be replaced or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogLimits {
    /// Deployments of all tenants together. Default 1,000,000, about 400 bytes each.
    pub deployments_max: usize,
    /// Deployments of one service. Default 10,000. The choice on a default route takes time in proportion.
    pub deployments_per_service_max: usize,
}

impl Default for CatalogLimits {
    fn default() -> Self {
        Self { deployments_max: 1_000_000, deployments_per_service_max: 10_000 }
    }
}

/// A deployment to be made or replaced.
#[derive(Debug, Clone)]
pub struct Apply {
    /// What is wanted.
    pub manifest: DeploymentManifest,
    /// The release that the manifest names.
    pub release: Arc<Release>,
    /// At which generation the deployment must be: zero, that there is none; absent, any.
    pub expected_generation: Option<u64>,
}

/// A deployment to be removed.
#[derive(Debug, Clone)]
pub struct Delete {
    /// Whose it is.
    pub tenant: TenantId,
    /// Its service.
    pub service: ServiceName,
    /// Its id.
    pub deployment: DeploymentId,
    /// At which generation the deployment must be; absent, any.
    pub expected_generation: Option<u64>,
}

/// What an apply did.
#[derive(Debug)]
pub struct Applied {
    /// The deployment as it is now. Its generation is also the catalog's.
    pub deployment: Arc<Deployment>,
    /// The deployment as it was, if there was one.
    pub replaced: Option<Arc<Deployment>>,
}

/// What a delete did.
#[derive(Debug)]
pub struct Deleted {
    /// The catalog's generation, now without the deployment.
    pub generation: u64,
    /// The deployment as it was.
    pub deployment: Arc<Deployment>,
}

/// The catalog at one generation.
#[derive(Debug, Clone)]
pub struct CatalogView {
    generation: u64,
    deployments: usize,
    tenants: HashTrieMapSync<TenantId, Services, Hasher>,
    http: HttpRules,
    hasher: Hasher,
    limits: CatalogLimits,
}

impl CatalogView {
    /// An empty catalog, at generation zero.
    #[must_use]
    pub fn empty(limits: CatalogLimits) -> Self {
        let hasher = Hasher::default();
        let tenants = HashTrieMapSync::new_with_hasher_and_ptr_kind(hasher.clone());
        let http = HttpRules::new(&hasher);
        Self { generation: 0, deployments: 0, tenants, http, hasher, limits }
    }

    /// How many deployments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.deployments
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deployments == 0
    }

    /// One deployment.
    #[must_use]
    pub fn get(&self, tenant: &TenantId, service: &ServiceName, id: &DeploymentId) -> Option<&Arc<Deployment>> {
        self.service(tenant, service)?.get(id.as_str())
    }

    /// A tenant's deployments, in no order.
    pub fn of_tenant(&self, tenant: &TenantId) -> impl Iterator<Item = &Arc<Deployment>> {
        self.tenants.get(tenant).into_iter().flat_map(Services::values).flat_map(Service::by_revision)
    }

    /// What `apply` would do, without doing it.
    ///
    /// # Errors
    /// Why it would be refused.
    pub fn preview(&self, apply: Apply) -> Result<Applied, ChangeRefusal> {
        self.applied(apply, &mut Policies::new()).map(|(_, applied)| applied)
    }

    /// The view in which `apply` has been done.
    pub(crate) fn applied(&self, apply: Apply, policies: &mut Policies) -> Result<(Self, Applied), ChangeRefusal> {
        let Apply { manifest, release, expected_generation } = apply;
        check(&manifest, &release)?;
        let replaced = self.get(&manifest.tenant, &manifest.service, &manifest.deployment).cloned();
        expect(expected_generation, replaced.as_ref(), &manifest.deployment)?;
        if replaced.is_none() {
            self.check_room(&manifest.tenant, &manifest.service)?;
        }
        let generation = self.next_generation()?;
        let deployment = Arc::new(self.deployment(manifest, release, generation, policies));
        let mut next = Self { generation, ..self.clone() };
        if let Some(replaced) = &replaced {
            next.http.take(replaced);
        }
        next.http.put(&deployment)?;
        next.put(deployment.clone());
        Ok((next, Applied { deployment, replaced }))
    }

    /// The view in which `delete` has been done.
    pub(crate) fn deleted(&self, delete: &Delete) -> Result<(Self, Deleted), ChangeRefusal> {
        let found = self.get(&delete.tenant, &delete.service, &delete.deployment).cloned();
        expect(delete.expected_generation, found.as_ref(), &delete.deployment)?;
        let Some(deployment) = found else {
            return Err(ChangeRefusal::NotFound {
                service: delete.service.clone(),
                deployment: delete.deployment.clone(),
            });
        };
        let generation = self.next_generation()?;
        let mut next = Self { generation, ..self.clone() };
        next.http.take(&deployment);
        next.take(&deployment);
        Ok((next, Deleted { generation, deployment }))
    }

    /// The policy of every deployment.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &Arc<RevisionPolicy>> {
        let deployments = self.tenants.values().flat_map(Services::values).flat_map(Service::by_revision);
        deployments.map(|deployment| &deployment.policy)
    }

    fn service(&self, tenant: &TenantId, service: &ServiceName) -> Option<&Service> {
        self.tenants.get(tenant)?.get(service)
    }

    fn next_generation(&self) -> Result<u64, ChangeRefusal> {
        self.generation.checked_add(1).ok_or(ChangeRefusal::GenerationsExhausted)
    }

    fn check_room(&self, tenant: &TenantId, service: &ServiceName) -> Result<(), ChangeRefusal> {
        let CatalogLimits { deployments_max, deployments_per_service_max } = self.limits;
        if self.deployments >= deployments_max {
            return Err(ChangeRefusal::CatalogFull { deployments_max });
        }
        if self.service(tenant, service).map_or(0, Service::len) >= deployments_per_service_max {
            return Err(ChangeRefusal::ServiceFull { deployments_max: deployments_per_service_max });
        }
        Ok(())
    }

    /// The deployment that `manifest` describes, with the texts of its neighbours where they are equal.
    fn deployment(
        &self,
        manifest: DeploymentManifest,
        release: Arc<Release>,
        generation: u64,
        policies: &mut Policies,
    ) -> Deployment {
        let revision = revision_id(&manifest);
        let admission = AdmissionPolicy {
            capsule: release.ceilings(),
            deployment: manifest.ceilings,
            threading: release.threading(),
        };
        let execution = ExecutionPolicy {
            imports: manifest.imports,
            environment: manifest.environment,
            secrets: manifest.secrets,
            outgoing: manifest.outgoing,
        };
        let policy = policies.share(RevisionPolicy { admission, execution });
        let known = self.tenants.get_key_value(&manifest.tenant);
        let service = known.and_then(|(_, services)| services.get_key_value(&manifest.service));
        Deployment {
            service: service.map_or(manifest.service, |(name, _)| name.clone()),
            tenant: known.map_or(manifest.tenant, |(tenant, _)| tenant.clone()),
            id: manifest.deployment,
            release,
            policy,
            revision,
            generation,
            weight: manifest.weight,
            http: (!manifest.http.routes.is_empty()).then(|| Arc::new(manifest.http)),
        }
    }

    /// Adds `deployment`, or replaces the one of its name.
    fn put(&mut self, deployment: Arc<Deployment>) {
        let (tenant, name) = (deployment.tenant.clone(), deployment.service.clone());
        if let Some(services) = self.tenants.get_mut(&tenant) {
            let (service, added) = match services.get(&name) {
                Some(service) => service.with(deployment),
                None => (Service::One(deployment), true),
            };
            services.insert_mut(name, service);
            self.deployments += usize::from(added);
        } else {
            let mut services = Services::new_with_hasher_and_ptr_kind(self.hasher.clone());
            services.insert_mut(name, Service::One(deployment));
            self.tenants.insert_mut(tenant, services);
            self.deployments += 1;
        }
    }

    /// Removes `deployment`, which is there, and whatever is empty without it.
    fn take(&mut self, deployment: &Deployment) {
        let services = self.tenants.get_mut(&deployment.tenant).expect("a deployment's tenant is in its view");
        match services.get(&deployment.service).and_then(|service| service.without(deployment)) {
            Some(rest) => services.insert_mut(deployment.service.clone(), rest),
            None => {
                services.remove_mut(&deployment.service);
            }
        }
        if services.is_empty() {
            self.tenants.remove_mut(&deployment.tenant);
        }
        self.deployments -= 1;
    }
}
