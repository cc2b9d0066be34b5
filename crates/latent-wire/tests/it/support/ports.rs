//! The other ports of a node, in memory: credentials named by their tokens, switches for the operator, logs.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use latent_core::{
    ActivationId, ErrorDetail, PlatformError, PlatformErrorCode, Principal, PrincipalKind, ServiceName, TenantId,
};
use latent_node::access::{
    Access, Authenticator, Credential, NewCredential, Page, Presented, Role, Roles, Tenant, TenantDirectory,
    TenantQuota,
};
use latent_node::logs::{ActivationLogs, LogEntry, LogReader};
use latent_node::operations::{BackupReport, NodeInventory, NodeState, Operations, UsageQuery, UsageSum};

use super::{tenant, wall};

/// Tenants `t` and `u`, and credentials whose token is their id: of `t` one with each role by its name, of `t` with all
/// roles `all`, of `u` with all roles `foreign`.
pub struct Directory {
    tenants: Mutex<BTreeMap<TenantId, TenantQuota>>,
    credentials: Mutex<BTreeMap<Box<str>, Credential>>,
}

impl Directory {
    pub fn new() -> Self {
        let known = [
            ("invoke", "t", vec![Role::Invoke]),
            ("deploy", "t", vec![Role::Deploy]),
            ("operate", "t", vec![Role::Operate]),
            ("all", "t", Role::ALL.to_vec()),
            ("foreign", "u", Role::ALL.to_vec()),
        ];
        let credentials = known.map(|(id, of, roles)| {
            let roles = roles.into_iter().collect();
            (id.into(), credential(id, tenant(of), ServiceName::new("caller").unwrap(), roles))
        });
        let tenants = ["t", "u"].map(|name| (tenant(name), TenantQuota::default()));
        Self { tenants: Mutex::new(tenants.into()), credentials: Mutex::new(credentials.into()) }
    }
}

fn credential(id: &str, tenant: TenantId, subject: ServiceName, roles: Roles) -> Credential {
    Credential { id: id.into(), tenant, subject, roles, created_at: wall(), expires_at: None }
}

fn missing() -> PlatformError {
    PlatformError::new(PlatformErrorCode::NotFound, "there is none of that name")
}

impl Authenticator for Directory {
    fn authenticate(
        &self,
        presented: Option<Presented<'_>>,
        _peer: Option<IpAddr>,
        _now: SystemTime,
    ) -> Result<Arc<Access>, PlatformError> {
        let token = match presented {
            Some(Presented::Bearer(token)) => std::str::from_utf8(token).ok(),
            _ => None,
        };
        let known = self.credentials.lock().unwrap();
        let found = token.and_then(|token| known.get(token));
        let found =
            found.ok_or_else(|| PlatformError::new(PlatformErrorCode::Unauthenticated, "unknown credential"))?;
        let principal =
            Principal { tenant: found.tenant.clone(), subject: found.subject.clone(), kind: PrincipalKind::User };
        Ok(Arc::new(Access { principal, roles: found.roles, credential: found.id.clone() }))
    }

    fn still_holds(&self, access: &Arc<Access>, _now: SystemTime) -> bool {
        self.credentials.lock().unwrap().values().any(|known| known.id == access.credential)
    }
}

impl TenantDirectory for Directory {
    fn apply_tenant(&self, tenant: Tenant) -> Result<Tenant, PlatformError> {
        self.tenants.lock().unwrap().insert(tenant.name.clone(), tenant.quota);
        Ok(tenant)
    }

    fn tenant(&self, name: &TenantId) -> Result<Tenant, PlatformError> {
        let quota = self.tenants.lock().unwrap().get(name).copied().ok_or_else(missing)?;
        Ok(Tenant { name: name.clone(), quota })
    }

    fn tenants(&self, after: Option<&str>, rows: usize) -> Page<Tenant> {
        let all = self.tenants.lock().unwrap();
        let later = all.iter().filter(|(name, _)| after.is_none_or(|after| name.as_str() > after));
        page(later.map(|(name, quota)| Tenant { name: name.clone(), quota: *quota }), rows, |row| row.name.as_str())
    }

    fn delete_tenant(&self, name: &TenantId) -> Result<(), PlatformError> {
        self.tenants.lock().unwrap().remove(name).map(drop).ok_or_else(missing)
    }

    fn create_credential(
        &self,
        new: NewCredential,
        now: SystemTime,
    ) -> Result<(Credential, Option<String>), PlatformError> {
        self.tenant(&new.tenant)?;
        let id = format!("new-{}", new.subject);
        let mut made = credential(&id, new.tenant, new.subject, new.roles);
        made.expires_at = new.lifetime.map(|lifetime| now + lifetime);
        self.credentials.lock().unwrap().insert(made.id.clone(), made.clone());
        Ok((made, new.certificate.is_none().then_some(id)))
    }

    fn credentials(&self, tenant: Option<&TenantId>, after: Option<&str>, rows: usize) -> Page<Credential> {
        let all = self.credentials.lock().unwrap();
        let wanted = all.values().filter(|one| tenant.is_none_or(|tenant| one.tenant == *tenant));
        let later = wanted.filter(|one| after.is_none_or(|after| &*one.id > after));
        page(later.cloned(), rows, |row| &row.id)
    }

    fn revoke_credential(&self, id: &str) -> Result<(), PlatformError> {
        self.credentials.lock().unwrap().remove(id).map(drop).ok_or_else(missing)
    }
}

fn page<T>(all: impl Iterator<Item = T>, rows: usize, name: impl Fn(&T) -> &str) -> Page<T> {
    let mut kept: Vec<T> = all.take(rows + 1).collect();
    let more = kept.len() > rows;
    kept.truncate(rows);
    let next = kept.last().filter(|_| more).map(|row| name(row).into());
    Page { rows: kept, next }
}

/// The operator's side of a node that is ready until it is drained.
#[derive(Default)]
pub struct Switches {
    draining: AtomicBool,
    /// What is said to be left after a drain.
    pub left: AtomicU64,
    /// What usage was asked for last.
    pub asked: Mutex<Option<UsageQuery>>,
}

impl Operations for Switches {
    fn state(&self) -> NodeState {
        if self.draining.load(Ordering::SeqCst) { NodeState::Draining } else { NodeState::Ready }
    }

    fn admits(&self) -> Result<(), PlatformError> {
        if self.state() == NodeState::Ready {
            return Ok(());
        }
        let kind = ErrorDetail::new("activation.shutting-down");
        Err(PlatformError::new(PlatformErrorCode::Unavailable, "the node drains").with_detail(kind).retryable())
    }

    fn inventory(&self) -> NodeInventory {
        let counts = vec![("continuations", 0), ("journal", 3)];
        NodeInventory { state: self.state(), started_at: wall(), cells: Vec::new(), counts }
    }

    fn drain(&self, _wait: Option<Duration>) -> BoxFuture<'_, u64> {
        self.draining.store(true, Ordering::SeqCst);
        async { self.left.load(Ordering::SeqCst) }.boxed()
    }

    fn resume(&self) -> Result<(), PlatformError> {
        self.draining.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn backup(&self, directory: PathBuf) -> Result<BackupReport, PlatformError> {
        let generation = directory.components().count() as u64;
        Ok(BackupReport { generation, releases: 2, deployments: 2, component_bytes: 10 })
    }

    fn usage(&self, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError> {
        *self.asked.lock().unwrap() = Some(query.clone());
        let sum = UsageSum { service: "s".to_owned(), activations: 7, ..UsageSum::default() };
        Ok((vec![sum], 1))
    }

    fn metrics(&self) -> String {
        "# EOF\n".to_owned()
    }
}

/// Records that tests put there.
#[derive(Default)]
pub struct Logs {
    pub records: Mutex<Vec<(TenantId, LogEntry)>>,
    pub followers_refused: AtomicBool,
}

impl Logs {
    /// A record of the activation `id` of tenant `of`.
    pub fn write(&self, of: &str, id: &str, message: &str) {
        let entry = LogEntry {
            activation_id: ActivationId::new(id).unwrap(),
            service: ServiceName::new("s").ok(),
            at: wall(),
            level: "info",
            message: message.into(),
            fields: vec![("name".into(), "value".into())],
            missed: 0,
        };
        self.records.lock().unwrap().push((tenant(of), entry));
    }

    fn of(&self, tenant: &TenantId) -> Vec<LogEntry> {
        let all = self.records.lock().unwrap();
        all.iter().filter(|(of, _)| of == tenant).map(|(_, entry)| entry.clone()).collect()
    }
}

impl LogReader for Logs {
    fn of_activation(&self, tenant: &TenantId, activation_id: &ActivationId) -> Option<ActivationLogs> {
        let mut records = self.of(tenant);
        records.retain(|entry| entry.activation_id == *activation_id);
        (!records.is_empty()).then_some(ActivationLogs { records, dropped: 2 })
    }

    fn follow(
        &self,
        tenant: &TenantId,
        service: Option<&ServiceName>,
        tail: usize,
    ) -> Option<BoxStream<'static, LogEntry>> {
        let mut records = self.of(tenant);
        records.retain(|entry| service.is_none_or(|service| entry.service.as_ref() == Some(service)));
        let skipped = records.len().saturating_sub(tail);
        let followed = stream::iter(records.into_iter().skip(skipped)).chain(stream::pending());
        (!self.followers_refused.load(Ordering::SeqCst)).then(|| followed.boxed())
    }
}
