//! A scripted inspector, small components and deployments, and everything a storage holds as one comparable value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use latent_catalog::{Delete, DeploymentManifest, PageBounds, Weight};
use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, ContractSurface, DeploymentId, Environment, FunctionSignature, FunctionTarget, ImportGrant,
    PlatformError, PlatformErrorCode, SecretReferences, ServiceName, Sha256Digest, TenantId,
};
use latent_executor::{ArtifactRepository as _, ComponentInspection, ComponentInspector, ImportName};
use latent_storage::{Storage, StorageLimits, StorageOptions};

use crate::disk::MemoryDisk;

pub const CONTRACT: &str = "example:text/analyze@1.0.0";
/// The kinds of documents of a furnished storage.
pub const KINDS: [&str; 2] = ["note", "letter"];
pub const TENANTS: [&str; 3] = ["acme", "umbrella", "initech"];

const HANDLER_CONTRACT: &str = "wasi:http/incoming-handler@0.2.3";

/// Takes whatever begins with `component` and says that it exports `run` and imports a clock; one that is called `web`
/// has an HTTP handler too.
#[derive(Debug, Default)]
pub struct Scripted {
    pub inspections: AtomicU64,
}

impl ComponentInspector for Scripted {
    fn inspect(&self, bytes: &[u8]) -> Result<ComponentInspection, PlatformError> {
        self.inspections.fetch_add(1, Ordering::Relaxed);
        if !bytes.starts_with(b"component") {
            return Err(PlatformError::new(PlatformErrorCode::InvalidArgument, "the bytes are no component"));
        }
        let target = FunctionTarget { contract: CONTRACT.into(), function: "run".into() };
        let handler = FunctionTarget { contract: HANDLER_CONTRACT.into(), function: "handle".into() };
        let is_handler = bytes.starts_with(b"component web");
        Ok(ComponentInspection {
            surface: ContractSurface {
                functions: vec![(target, FunctionSignature { params: vec![], result: None })],
                refused: is_handler.then(|| (handler, "it takes a handle".into())).into_iter().collect(),
            },
            imports: vec![ImportName("wasi:clocks/monotonic-clock@0.2.6".into())],
            declared_memory_bytes: 1 << 16,
        })
    }
}

pub fn options() -> StorageOptions {
    StorageOptions::new(Arc::new(Scripted::default()))
}

pub fn options_with(change: impl FnOnce(&mut StorageLimits)) -> StorageOptions {
    let mut options = options();
    change(&mut options.limits);
    options
}

/// Where storages lie on a disk in memory.
pub const ROOT: &str = "/data/latent";

pub fn open(disk: &MemoryDisk) -> Result<Storage, PlatformError> {
    open_at(disk, ROOT)
}

pub fn open_at(disk: &MemoryDisk, root: impl AsRef<Path>) -> Result<Storage, PlatformError> {
    Storage::open_on(Arc::new(disk.clone()), root, options())
}

/// A new storage on a disk in memory.
pub fn fresh() -> (MemoryDisk, Storage) {
    let disk = MemoryDisk::default();
    let storage = open(&disk).expect("an empty disk takes a storage");
    (disk, storage)
}

pub fn in_root(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

pub fn tenant(text: &str) -> TenantId {
    TenantId::new(text).expect("a test's tenant is an id")
}

/// The bytes of the component called `name`.
pub fn component(name: &str) -> Vec<u8> {
    format!("component {name}").into_bytes()
}

pub fn digest(name: &str) -> Sha256Digest {
    Sha256Digest::of(&component(name))
}

/// Publishes the component called `name` without a manifest of its own.
pub fn publish(storage: &Storage, owner: &str, name: &str) -> Result<bool, PlatformError> {
    Ok(storage.publish(&tenant(owner), b"{}", &component(name))?.created)
}

/// A deployment `id` of service `text` that runs the component called `name`.
pub fn manifest(owner: &str, id: &str, name: &str) -> DeploymentManifest {
    DeploymentManifest {
        tenant: tenant(owner),
        service: ServiceName::new("text").expect("text is an id"),
        deployment: DeploymentId::new(id).expect("a test's deployment is an id"),
        release: digest(name),
        weight: Weight::default(),
        ceilings: BudgetCeilings::default(),
        imports: ImportGrant::Standard,
        environment: Environment::default(),
        secrets: SecretReferences::default(),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    }
}

/// Applies [`manifest`]; answers its generation.
pub fn apply(storage: &Storage, owner: &str, id: &str, name: &str) -> Result<u64, PlatformError> {
    Ok(storage.apply(manifest(owner, id, name), None)?.deployment.generation())
}

pub fn delete(storage: &Storage, owner: &str, id: &str) -> Result<u64, PlatformError> {
    let DeploymentManifest { tenant, service, deployment, .. } = manifest(owner, id, "any");
    Ok(storage.delete(&Delete { tenant, service, deployment, expected_generation: None })?.generation)
}

/// Everything that a storage answers about [`TENANTS`]. Components are fetched, so that each is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub generation: u64,
    /// Capsule manifest and bytes of the component, by tenant and digest.
    pub releases: BTreeMap<(String, Sha256Digest), (String, Vec<u8>)>,
    /// Manifest and generation, by tenant, service and id.
    pub deployments: BTreeMap<(String, String, String), (String, u64)>,
    pub quotas: BTreeMap<String, u64>,
    pub documents: Vec<(String, Vec<u8>)>,
}

pub fn held(storage: &Storage) -> Held {
    held_by(storage, &TENANTS.map(tenant))
}

pub fn held_by(storage: &Storage, tenants: &[TenantId]) -> Held {
    storage.audit().expect("the counters add up");
    let view = storage.view();
    let generation = latent_catalog::ActivationCatalog::generation(&*view);
    let mut held = Held {
        generation,
        releases: BTreeMap::new(),
        deployments: BTreeMap::new(),
        quotas: BTreeMap::new(),
        documents: KINDS.into_iter().flat_map(|kind| storage.documents(kind)).collect(),
    };
    for tenant in tenants {
        for release in all_releases(storage, tenant) {
            let digest = release.release.digest();
            let artifact = storage.fetch(tenant, digest).expect("what is listed is served");
            let value = (release.manifest.to_json(), artifact.bytes().to_vec());
            held.releases.insert((tenant.to_string(), digest), value);
        }
        for deployment in view.of_tenant(tenant) {
            let key = (tenant.to_string(), deployment.service().to_string(), deployment.id().to_string());
            held.deployments.insert(key, (deployment.manifest().to_json(), deployment.generation()));
        }
        held.quotas.insert(tenant.to_string(), storage.usage(tenant).quota_bytes);
    }
    held
}

/// All of a tenant's releases, two a page.
pub fn all_releases(storage: &Storage, tenant: &TenantId) -> Vec<Arc<latent_storage::ReleaseRecord>> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = storage.releases(tenant, after, PageBounds { rows_max: 2, ..PageBounds::default() });
        all.extend(page.releases);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// Two tenants, one of them with the other's component too, deployments at several generations, and a quota.
pub fn furnish(storage: &Storage) {
    for (owner, name) in [("acme", "one"), ("acme", "two"), ("acme", "spare"), ("umbrella", "one")] {
        publish(storage, owner, name).expect("a small component is published");
    }
    for (owner, id, name) in [("acme", "blue", "one"), ("acme", "green", "two"), ("umbrella", "blue", "one")] {
        apply(storage, owner, id, name).expect("a deployment is applied");
    }
    storage.set_quota(&tenant("umbrella"), Some(5000)).expect("a quota is set");
    storage.put_document("note", "first", Some(b"dear reader")).expect("a document is written");
    storage.put_document("letter", "first", Some(b"")).expect("an empty document is written");
}
