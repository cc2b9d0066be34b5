//! What the edge asks of tenants and credentials, and where they are kept.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use latent_core::{PlatformError, TenantId};

use super::model::{Access, Credential, NewCredential, Page, Presented, Tenant};

/// Decides who calls. Called for every call, by many threads at once; does not block.
pub trait Authenticator: Send + Sync {
    /// What `presented`, which came from `peer`, stands for at `now`.
    ///
    /// # Errors
    /// `unauthenticated`, the same for nothing, a wrong, a revoked and an expired credential; retryable
    /// `resource-exhausted` for a peer that failed too often.
    fn authenticate(
        &self,
        presented: Option<Presented<'_>>,
        peer: Option<IpAddr>,
        now: SystemTime,
    ) -> Result<Arc<Access>, PlatformError>;

    /// Whether the credential that was shown for `access` still holds at `now`. Asked by what goes on after a call began.
    fn still_holds(&self, access: &Arc<Access>, now: SystemTime) -> bool;
}

/// Tenants and credentials as resources. Changes are durable when they return, and hold from then on. Methods that
/// change something block on the disk.
pub trait TenantDirectory: Send + Sync {
    /// Makes a tenant, or gives it another quota.
    ///
    /// # Errors
    /// `resource-exhausted` beyond the node's bound or on a full disk; `unavailable` when the disk fails.
    fn apply_tenant(&self, tenant: Tenant) -> Result<Tenant, PlatformError>;

    /// One tenant.
    ///
    /// # Errors
    /// `not-found`.
    fn tenant(&self, name: &TenantId) -> Result<Tenant, PlatformError>;

    /// At most `rows` tenants whose names come after `after`.
    fn tenants(&self, after: Option<&str>, rows: usize) -> Page<Tenant>;

    /// Removes a tenant with its credentials.
    ///
    /// # Errors
    /// `not-found`; `state-conflict` while it has releases or deployments, or is the last with a credential of role
    /// `operate`.
    fn delete_tenant(&self, name: &TenantId) -> Result<(), PlatformError>;

    /// Makes a credential, and its token unless it is for a certificate.
    ///
    /// # Errors
    /// `not-found` for the tenant; `invalid-argument` without a role; `already-exists` for a certificate that has one;
    /// as [`apply_tenant`](Self::apply_tenant) otherwise.
    fn create_credential(
        &self,
        new: NewCredential,
        now: SystemTime,
    ) -> Result<(Credential, Option<String>), PlatformError>;

    /// At most `rows` credentials, of one tenant or of all, whose ids come after `after`.
    fn credentials(&self, tenant: Option<&TenantId>, after: Option<&str>, rows: usize) -> Page<Credential>;

    /// Removes a credential.
    ///
    /// # Errors
    /// `not-found`; `state-conflict` for the last of role `operate`.
    fn revoke_credential(&self, id: &str) -> Result<(), PlatformError>;
}

/// One document of a registry to be written, or with no value, removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryDocument {
    /// What kind of document it is: one of [`REGISTRY_KINDS`].
    pub kind: &'static str,
    /// Its name within the kind, at most 256 bytes.
    pub key: String,
    /// Its bytes, less than 16 KiB.
    pub value: Option<Vec<u8>>,
}

/// The kinds of documents that a registry keeps.
pub const REGISTRY_KINDS: [&str; 2] = ["tenant", "credential"];

/// Documents and quotas that are written together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistryChange {
    /// In this order.
    pub documents: Vec<RegistryDocument>,
    /// What these tenants may store, in bytes; `None`: as much as any tenant.
    pub disk_quotas: Vec<(TenantId, Option<u64>)>,
}

/// Keeps what a registry has to remember. Methods block on the disk, except `holds_anything`.
pub trait RegistryStore: Send + Sync {
    /// All documents of a kind with their keys.
    ///
    /// # Errors
    /// As the storage's.
    fn load(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, PlatformError>;

    /// Makes a change: durable when this returns, and none of it when it fails.
    ///
    /// # Errors
    /// As the storage's.
    fn write(&self, change: &RegistryChange) -> Result<(), PlatformError>;

    /// Whether a tenant has releases or deployments.
    fn holds_anything(&self, tenant: &TenantId) -> bool;
}

/// Told of all tenants, in order of name, at the start and after each change to them, before the change is answered.
/// Called by one thread at a time; must not call back.
pub type PolicySink = Arc<dyn Fn(&[Tenant]) + Send + Sync>;
