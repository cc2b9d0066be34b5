//! Who may do what: roles, credentials and tenants, as the edge asks for them.
//!
//! Invariant: a principal comes only from here, never from what a caller says of itself (reference, section 9).

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use latent_core::{PlatformError, Principal, ServiceName, Sha256Digest, TenantId};

/// What a credential may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Invoke, and see and cancel the tenant's activations and read their logs.
    Invoke,
    /// Publish releases and change deployments of the tenant.
    Deploy,
    /// Operate the node: tenants, credentials, inventory, drain, backup, everybody's usage.
    Operate,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Invoke, Self::Deploy, Self::Operate];

    /// The role's name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invoke => "invoke",
            Self::Deploy => "deploy",
            Self::Operate => "operate",
        }
    }

    /// The role called `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles(u8);

impl Roles {
    /// Whether `role` is among them.
    #[must_use]
    pub const fn has(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// The roles in the order of [`Role::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        Self(roles.into_iter().fold(0, |set, role| set | 1 << role as u8))
    }
}

/// What a caller showed to prove who it is.
#[derive(Clone, Copy)]
pub enum Presented<'a> {
    /// The token of `authorization: Bearer`, byte for byte.
    Bearer(&'a [u8]),
    /// The SHA-256 of a client certificate whose chain was verified.
    Certificate(Sha256Digest),
}

impl fmt::Debug for Presented<'_> {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bearer(_) => "Bearer",
            Self::Certificate(_) => "Certificate",
        })
    }
}

/// What a credential stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who calls, in the name of which tenant.
    pub principal: Principal,
    /// What for.
    pub roles: Roles,
    /// Which credential it was; no secret.
    pub credential: Box<str>,
}

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
}

/// How much a tenant may have. `None` restricts nothing that the node does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantQuota {
    /// Activations at once, waiting ones included.
    pub live: Option<u64>,
    /// Of those, activations without a cell.
    pub queued: Option<u64>,
    /// Units of fuel that live activations may have reserved together.
    pub fuel: Option<u64>,
    /// Bytes of guest memory that they may have reserved together.
    pub memory_bytes: Option<u64>,
    /// Bytes of one payload.
    pub payload_bytes: Option<u64>,
    /// The highest priority.
    pub priority: Option<u8>,
    /// Bytes of releases and their records on disk.
    pub disk_bytes: Option<u64>,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its name.
    pub name: TenantId,
    /// Its quota.
    pub quota: TenantQuota,
}

/// A credential as it may be shown: without its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its name.
    pub id: Box<str>,
    /// Its one tenant.
    pub tenant: TenantId,
    /// Who the principal is.
    pub subject: ServiceName,
    /// What it may be used for.
    pub roles: Roles,
    /// When it was made.
    pub created_at: SystemTime,
    /// Until when it holds; `None`: until it is revoked.
    pub expires_at: Option<SystemTime>,
}

/// A credential to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// Its one tenant, which exists.
    pub tenant: TenantId,
    /// Who the principal is.
    pub subject: ServiceName,
    /// What it may be used for; at least one.
    pub roles: Roles,
    /// How long it holds.
    pub lifetime: Option<Duration>,
    /// A client certificate's SHA-256 instead of a token.
    pub certificate: Option<Sha256Digest>,
}

/// A part of a list, in order of name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// After which name the next page begins; `None` on the last one.
    pub next: Option<Box<str>>,
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
