//! A store in memory, a clock that stands, and a registry over both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use latent_core::{
    ErrorDetail, ManualWallClock, PlatformError, PlatformErrorCode, ServiceName, Sha256Digest, TenantId,
};
use latent_node::access::{
    Access, Authenticator as _, Credential, NewCredential, Presented, RegistryChange, RegistryStore, Role, Tenant,
    TenantDirectory as _, TenantQuota, TenantRegistry, TenantRegistryConfig, TenantRegistryParts,
};

#[derive(Debug, Default)]
struct Kept {
    documents: BTreeMap<(String, String), Vec<u8>>,
    quotas: BTreeMap<TenantId, u64>,
    holders: BTreeSet<TenantId>,
    is_failing: bool,
    writes: usize,
}

/// Keeps documents for as long as it lives.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Kept>);

impl MemoryStore {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }

    /// Lets every write fail from now on, or work again.
    pub fn fail(&self, is_failing: bool) {
        self.kept().is_failing = is_failing;
    }

    /// Gives a tenant a release, or takes it away.
    pub fn hold(&self, tenant: &TenantId, is_holding: bool) {
        let mut kept = self.kept();
        if is_holding {
            kept.holders.insert(tenant.clone());
        } else {
            kept.holders.remove(tenant);
        }
    }

    pub fn put(&self, kind: &str, key: &str, value: &[u8]) {
        self.kept().documents.insert((kind.to_owned(), key.to_owned()), value.to_vec());
    }

    pub fn quota(&self, tenant: &str) -> Option<u64> {
        self.kept().quotas.get(tenant).copied()
    }

    pub fn writes(&self) -> usize {
        self.kept().writes
    }

    /// All that is kept, as text.
    pub fn text(&self) -> String {
        let kept = self.kept();
        let rows = kept.documents.iter().map(|((kind, key), value)| format!("{kind} {key} {}\n", text(value)));
        rows.collect()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

impl RegistryStore for MemoryStore {
    fn load(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, PlatformError> {
        let kept = self.kept();
        let of_kind = kept.documents.iter().filter(|((of, _), _)| of == kind);
        Ok(of_kind.map(|((_, key), value)| (key.clone(), value.clone())).collect())
    }

    fn write(&self, change: &RegistryChange) -> Result<(), PlatformError> {
        let mut kept = self.kept();
        if kept.is_failing {
            let full = PlatformError::new(PlatformErrorCode::ResourceExhausted, "the disk is full");
            return Err(full.with_detail(ErrorDetail::new("storage.disk-full")).retryable());
        }
        kept.writes += 1;
        for document in &change.documents {
            let key = (document.kind.to_owned(), document.key.clone());
            match &document.value {
                Some(value) => kept.documents.insert(key, value.clone()),
                None => kept.documents.remove(&key),
            };
        }
        for (tenant, bytes) in &change.disk_quotas {
            match bytes {
                Some(bytes) => kept.quotas.insert(tenant.clone(), *bytes),
                None => kept.quotas.remove(tenant),
            };
        }
        Ok(())
    }

    fn holds_anything(&self, tenant: &TenantId) -> bool {
        self.kept().holders.contains(tenant)
    }
}

/// A registry with all that it stands on.
pub struct World {
    pub store: Arc<MemoryStore>,
    pub clock: Arc<ManualWallClock>,
    /// What the sink was told, in order.
    pub told: Arc<Mutex<Vec<Vec<Tenant>>>>,
    pub registry: TenantRegistry,
}

pub fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789)
}

pub fn world() -> World {
    on(Arc::default(), TenantRegistryConfig::default()).unwrap()
}

/// A world of the tenants `acme` and `umbrella`.
pub fn peopled() -> World {
    let world = world();
    for name in ["acme", "umbrella"] {
        world.registry.apply_tenant(named(name)).unwrap();
    }
    world
}

pub fn on(store: Arc<MemoryStore>, config: TenantRegistryConfig) -> Result<World, PlatformError> {
    let clock = Arc::new(ManualWallClock::new(start()));
    let told: Arc<Mutex<Vec<Vec<Tenant>>>> = Arc::default();
    let sink = Arc::clone(&told);
    let parts = TenantRegistryParts {
        store: store.clone(),
        clock: clock.clone(),
        sink: Arc::new(move |tenants| sink.lock().unwrap().push(tenants.to_vec())),
    };
    Ok(World { store, clock, told, registry: TenantRegistry::open(parts, config)? })
}

impl World {
    /// The world after a restart.
    pub fn reopened(&self) -> World {
        on(self.store.clone(), TenantRegistryConfig::default()).unwrap()
    }

    pub fn call(&self, token: &str) -> Result<Arc<Access>, PlatformError> {
        self.call_at(token, start())
    }

    pub fn call_at(&self, token: &str, now: SystemTime) -> Result<Arc<Access>, PlatformError> {
        self.registry.authenticate(Some(Presented::Bearer(token.as_bytes())), None, now)
    }

    pub fn create(&self, of: &str, roles: &[Role]) -> (Credential, String) {
        let (credential, token) = self.registry.create_credential(new(of, roles), start()).unwrap();
        (credential, token.expect("a token was made"))
    }

    /// The names of all tenants and the ids of all credentials.
    pub fn listed(&self) -> (Vec<String>, Vec<String>) {
        let tenants = self.registry.tenants(None, usize::MAX).rows;
        let credentials = self.registry.credentials(None, None, usize::MAX).rows;
        (
            tenants.into_iter().map(|tenant| tenant.name.to_string()).collect(),
            credentials.into_iter().map(|credential| credential.id.to_string()).collect(),
        )
    }
}

pub fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub fn named(name: &str) -> Tenant {
    Tenant { name: tenant(name), quota: TenantQuota::default() }
}

pub fn new(of: &str, roles: &[Role]) -> NewCredential {
    NewCredential {
        tenant: tenant(of),
        subject: ServiceName::new("someone").unwrap(),
        roles: roles.iter().copied().collect(),
        lifetime: None,
        certificate: None,
    }
}

pub fn certificate(of: &str, bytes: &[u8]) -> NewCredential {
    NewCredential { certificate: Some(Sha256Digest::of(bytes)), ..new(of, &[Role::Invoke]) }
}

/// Checks code, kind and retry of a refusal, and answers it.
pub fn refused<T>(answer: Result<T, PlatformError>, code: PlatformErrorCode, kind: &str) -> PlatformError {
    let Err(error) = answer else { panic!("{kind} was expected") };
    assert_eq!(error.code(), code, "{error}");
    assert!(error.has_detail(kind), "{error:?}");
    error
}

pub fn field<'e>(error: &'e PlatformError, name: &str) -> &'e str {
    error.details()[0].field(name).unwrap_or_else(|| panic!("{error:?} has no {name}"))
}
