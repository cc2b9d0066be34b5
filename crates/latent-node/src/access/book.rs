//! All tenants and credentials, as they are at one moment.
//!
//! Invariant: every credential belongs to a tenant that is there, and no two have one secret.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::SystemTime;

use latent_core::{Principal, PrincipalKind, Sha256Digest, TenantId};
use subtle::ConstantTimeEq as _;

use super::model::{Access, Credential, Page, Presented, Tenant};
use super::roles::Role;
use super::token;

/// What a credential is recognised by.
#[derive(Clone, Copy)]
pub(super) enum Secret {
    /// The SHA-256 of a token.
    Token(Sha256Digest),
    /// The SHA-256 of a certificate, which is public.
    Certificate(Sha256Digest),
}

impl fmt::Debug for Secret {
    /// Without the hash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate(_) => "Certificate",
        })
    }
}

impl Secret {
    /// What `presented` is looked up by; `None` if it can be nobody's.
    pub(super) fn of(presented: Presented<'_>) -> Option<Self> {
        match presented {
            Presented::Bearer(bytes) => token::digest(bytes).map(Self::Token),
            Presented::Certificate(digest) => Some(Self::Certificate(digest)),
        }
    }

    fn digest(&self) -> &Sha256Digest {
        match self {
            Self::Token(digest) | Self::Certificate(digest) => digest,
        }
    }

    /// Where it is found. Part of a hash, whose bits nobody chooses, so that the look-up tells nothing.
    fn place(&self) -> u64 {
        let (first, _) = self.digest().as_bytes().split_first_chunk().expect("a SHA-256 has eight bytes");
        u64::from_ne_bytes(*first)
    }

    /// In a time that does not depend on where they differ.
    fn is(&self, other: &Self) -> bool {
        let same_kind = matches!(self, Self::Token(_)) == matches!(other, Self::Token(_));
        same_kind & bool::from(self.digest().as_bytes().ct_eq(other.digest().as_bytes()))
    }
}

/// A credential on record.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) credential: Credential,
    pub(super) secret: Secret,
    /// Made once, so that a call copies a pointer.
    pub(super) access: Arc<Access>,
}

impl Held {
    pub(super) fn new(credential: Credential, secret: Secret) -> Self {
        let principal = Principal {
            tenant: credential.tenant.clone(),
            subject: credential.subject.clone(),
            kind: PrincipalKind::User,
        };
        let access = Access { principal, roles: credential.roles, credential: credential.id.clone() };
        Self { credential, secret, access: Arc::new(access) }
    }

    pub(super) fn holds_at(&self, now: SystemTime) -> bool {
        self.credential.expires_at.is_none_or(|end| now < end)
    }
}

/// Tenants and credentials.
#[derive(Debug, Clone, Default)]
pub(super) struct Book {
    tenants: BTreeMap<TenantId, Tenant>,
    credentials: BTreeMap<Box<str>, Arc<Held>>,
    secrets: HashMap<u64, Vec<Arc<Held>>>,
}

impl Book {
    pub(super) fn tenant(&self, name: &TenantId) -> Option<&Tenant> {
        self.tenants.get(name)
    }

    pub(super) fn credential(&self, id: &str) -> Option<&Arc<Held>> {
        self.credentials.get(id)
    }

    pub(super) fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    pub(super) fn credential_count(&self) -> usize {
        self.credentials.len()
    }

    pub(super) fn all_tenants(&self) -> Vec<Tenant> {
        self.tenants.values().cloned().collect()
    }

    pub(super) fn all_credentials(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.credentials.values()
    }

    /// Whose secret it is, whether or not it still holds.
    pub(super) fn find(&self, secret: &Secret) -> Option<&Arc<Held>> {
        self.secrets.get(&secret.place())?.iter().find(|held| held.secret.is(secret))
    }

    /// Whether somebody could operate the node at `now`, and nobody could without those that are `gone`.
    pub(super) fn needs(&self, now: SystemTime, gone: impl Fn(&Credential) -> bool) -> bool {
        let operators = || {
            let holds = |held: &&Arc<Held>| held.credential.roles.has(Role::Operate) && held.holds_at(now);
            self.credentials.values().filter(holds)
        };
        operators().next().is_some() && operators().all(|held| gone(&held.credential))
    }

    pub(super) fn put_tenant(&mut self, tenant: Tenant) {
        self.tenants.insert(tenant.name.clone(), tenant);
    }

    pub(super) fn remove_tenant(&mut self, name: &TenantId) {
        self.tenants.remove(name);
    }

    /// Adds a credential, or puts it in the place of the one with its id.
    pub(super) fn put_credential(&mut self, held: Held) {
        self.remove_credential(&held.credential.id.clone());
        let held = Arc::new(held);
        self.secrets.entry(held.secret.place()).or_default().push(Arc::clone(&held));
        self.credentials.insert(held.credential.id.clone(), held);
    }

    pub(super) fn remove_credential(&mut self, id: &str) {
        let Some(removed) = self.credentials.remove(id) else { return };
        let place = removed.secret.place();
        if let Some(all) = self.secrets.get_mut(&place) {
            all.retain(|held| !Arc::ptr_eq(held, &removed));
            if all.is_empty() {
                self.secrets.remove(&place);
            }
        }
    }

    pub(super) fn tenants_after(&self, after: Option<&str>, rows: usize) -> Page<Tenant> {
        let mut rest =
            self.tenants.range::<str, _>((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        let taken: Vec<_> = rest.by_ref().take(rows).map(|(_, tenant)| tenant.clone()).collect();
        let next = rest.next().and(taken.last()).map(|last| last.name.as_str().into());
        Page { rows: taken, next }
    }

    pub(super) fn credentials_after(
        &self,
        tenant: Option<&TenantId>,
        after: Option<&str>,
        rows: usize,
    ) -> Page<Credential> {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self
            .credentials
            .range::<str, _>((begin, Bound::Unbounded))
            .map(|(_, held)| &held.credential)
            .filter(|credential| tenant.is_none_or(|wanted| *wanted == credential.tenant));
        let taken: Vec<_> = rest.by_ref().take(rows).cloned().collect();
        let next = rest.next().and(taken.last()).map(|last| last.id.clone());
        Page { rows: taken, next }
    }
}
