//! Tenants, quotas and credentials as they are asked for and shown. Invariant: nothing in here holds a secret.

use std::fmt;
use std::time::{Duration, SystemTime};

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, Principal, ServiceName, Sha256Digest, TenantId};

use super::roles::{Role, Roles};

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

impl Access {
    /// Says whether the credential may be used for what needs `role`.
    ///
    /// # Errors
    /// `permission-denied`, detail `access.role-missing` with `role`.
    pub fn require(&self, role: Role) -> Result<(), PlatformError> {
        if self.roles.has(role) {
            return Ok(());
        }
        let message = format_args!("this needs the role {role}, which the credential lacks; use one that has it");
        let detail = ErrorDetail::new("access.role-missing").with("role", role);
        Err(PlatformError::new(PlatformErrorCode::PermissionDenied, message).with_detail(detail))
    }
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
