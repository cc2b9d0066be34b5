//! Releases and deployments in memory, over the node's own catalog.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use latent_catalog::{
    ActivationCatalog, ActivationCatalogSource, Applied, Apply, CapsuleManifest, Catalog, CatalogLimits, CatalogView,
    Delete, Deleted, DeploymentManifest, ManifestLimits, PageBounds, Release,
};
use latent_core::{
    ContractSurface, ErrorDetail, FunctionSignature, FunctionTarget, PlatformError, PlatformErrorCode, Sha256Digest,
    TenantId,
};
use latent_executor::ComponentArtifact;
use latent_executor::fake::{FakeRepository, Gate};
use latent_wire::ports::{DeploymentStore, ReleaseStore, ReleaseView, ReleasesPage};

/// Every component exports `f` here, and `g` in this contract and in [`OTHER_CONTRACT`].
pub const CONTRACT: &str = "test:wire/api@1.0.0";
pub const OTHER_CONTRACT: &str = "test:wire/other@1.0.0";

const COMPONENT_BYTES_MAX: u64 = 1024;

pub struct Store {
    catalog: Catalog,
    repository: Arc<FakeRepository>,
    releases: Mutex<BTreeMap<(TenantId, Sha256Digest), ReleaseView>>,
    /// What a publish does on its way, for tests that hold it there.
    pub held: Mutex<Option<(Gate, Gate)>>,
}

impl Store {
    pub fn new(repository: Arc<FakeRepository>) -> Self {
        let catalog = Catalog::new(CatalogView::empty(CatalogLimits::default()));
        Self { catalog, repository, releases: Mutex::default(), held: Mutex::default() }
    }

    pub fn put(&self, tenant: &TenantId, component: &[u8]) -> Sha256Digest {
        let artifact = ComponentArtifact::new(component.to_vec());
        self.repository.put(tenant, &artifact);
        let digest = artifact.digest();
        let manifest = CapsuleManifest::default();
        let view = ReleaseView {
            release: Arc::new(Release::new(digest, &surface(), &manifest).unwrap()),
            manifest,
            component_bytes: component.len() as u64,
            imports: vec!["latent:log/log@1.0.0".into()],
            declared_memory_bytes: 65_536,
        };
        self.releases.lock().unwrap().insert((tenant.clone(), digest), view);
        digest
    }

    pub fn deploy(&self, tenant: &str, service: &str, deployment: &str, release: Sha256Digest, weight: u16) {
        let json = format!(
            r#"{{"tenant":"{tenant}","service":"{service}","deployment":"{deployment}","release":"{release}","weight":{weight}}}"#
        );
        let manifest = DeploymentManifest::from_json(json.as_bytes(), &ManifestLimits::default()).unwrap();
        DeploymentStore::apply(self, manifest, None).unwrap();
    }

    /// How many releases there are, of all tenants.
    pub fn count(&self) -> usize {
        self.releases.lock().unwrap().len()
    }
}

fn surface() -> ContractSurface {
    let named = [(CONTRACT, "f"), (CONTRACT, "g"), (OTHER_CONTRACT, "g")];
    let functions = named.map(|(contract, function)| {
        let target = FunctionTarget { contract: contract.into(), function: function.into() };
        (target, FunctionSignature { params: vec![], result: None })
    });
    ContractSurface { functions: functions.into(), refused: vec![] }
}

impl ActivationCatalogSource for Store {
    fn pin(&self) -> Arc<dyn ActivationCatalog> {
        self.catalog.view()
    }
}

impl ReleaseStore for Store {
    fn component_bytes_max(&self) -> u64 {
        COMPONENT_BYTES_MAX
    }

    fn publish(
        &self,
        tenant: &TenantId,
        manifest: &[u8],
        component: &[u8],
    ) -> Result<(ReleaseView, bool), PlatformError> {
        CapsuleManifest::from_json(manifest, &ManifestLimits::default())?;
        let held = self.held.lock().unwrap().clone();
        if let Some((entered, leave)) = held {
            entered.open();
            leave.wait();
        }
        let before = self.count();
        let digest = self.put(tenant, component);
        Ok((self.release(tenant, digest)?, self.count() > before))
    }

    fn release(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<ReleaseView, PlatformError> {
        let found = self.releases.lock().unwrap().get(&(tenant.clone(), digest)).cloned();
        found.ok_or_else(|| {
            let detail = ErrorDetail::new("storage.unknown-release").with("release", digest);
            PlatformError::new(PlatformErrorCode::NotFound, "there is no such release").with_detail(detail)
        })
    }

    fn releases(&self, tenant: &TenantId, after: Option<Sha256Digest>, bounds: PageBounds) -> ReleasesPage {
        let all = self.releases.lock().unwrap();
        let own = all.iter().filter(|((of, digest), _)| of == tenant && after.is_none_or(|after| *digest > after));
        let mut rows: Vec<_> = own.take(bounds.rows_max + 1).map(|(_, view)| view.clone()).collect();
        let more = rows.len() > bounds.rows_max;
        rows.truncate(bounds.rows_max);
        let next = rows.last().filter(|_| more).map(|row| row.release.digest());
        ReleasesPage { releases: rows, next }
    }

    fn delete(&self, tenant: &TenantId, digest: Sha256Digest) -> Result<(), PlatformError> {
        self.release(tenant, digest)?;
        if self.catalog.view().of_tenant(tenant).any(|deployment| deployment.release().digest() == digest) {
            return Err(PlatformError::new(PlatformErrorCode::StateConflict, "a deployment uses the release"));
        }
        self.releases.lock().unwrap().remove(&(tenant.clone(), digest));
        Ok(())
    }

    fn usage(&self, tenant: &TenantId) -> (u64, u64) {
        let all = self.releases.lock().unwrap();
        let own = all.iter().filter(|((of, _), _)| of == tenant);
        own.fold((0, 0), |(count, bytes), (_, view)| (count + 1, bytes + view.component_bytes))
    }
}

impl DeploymentStore for Store {
    fn view(&self) -> Arc<CatalogView> {
        self.catalog.view()
    }

    fn apply(&self, manifest: DeploymentManifest, expected_generation: Option<u64>) -> Result<Applied, PlatformError> {
        let release = self.release(&manifest.tenant, manifest.release)?.release;
        Ok(self.catalog.apply(Apply { manifest, release, expected_generation })?)
    }

    fn delete(&self, delete: &Delete) -> Result<Deleted, PlatformError> {
        Ok(self.catalog.delete(delete)?)
    }
}
