//! The registry: tenants and credentials as resources, and who calls.
//!
//! Invariant: what a call is judged by was written down before, and holds from the moment the change is answered.
//! Changes take turns at one lock, held across the disk's work; calls never meet it.

pub(super) mod changes;

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use latent_core::{PlatformError, TenantId, WallClock};

use super::book::{Book, Secret};
use super::document;
use super::failures::{FailureLimits, Failures};
use super::model::{Access, Credential, NewCredential, Page, Presented, Tenant};
use super::port::{Authenticator, PolicySink, RegistryStore, TenantDirectory};
use super::refusal;

/// The longest time that a credential with an end may hold: a hundred years.
pub const LIFETIME_MAX: Duration = Duration::from_hours(24 * 36_525);
/// The most rows of one page.
pub const PAGE_ROWS_MAX: usize = 1000;

/// Bounds of a registry. What was accepted under other bounds stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantRegistryConfig {
    /// Tenants. Default 1000. One more is refused.
    pub tenants_max: usize,
    /// Credentials of all tenants, about 1 KiB each. Default 10,000. To make room for one more, expired ones are removed;
    /// then it is refused.
    pub credentials_max: usize,
    /// Calls without a credential that holds.
    pub failures: FailureLimits,
}

impl Default for TenantRegistryConfig {
    fn default() -> Self {
        Self { tenants_max: 1000, credentials_max: 10_000, failures: FailureLimits::default() }
    }
}

/// What a registry is made of.
pub struct TenantRegistryParts {
    /// Where it keeps what it has to remember.
    pub store: Arc<dyn RegistryStore>,
    /// Says which credentials still hold when something is changed.
    pub clock: Arc<dyn WallClock>,
    /// Told of all tenants.
    pub sink: PolicySink,
}

impl fmt::Debug for TenantRegistryParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantRegistryParts").finish_non_exhaustive()
    }
}

/// Keeps tenants and credentials, and says who calls.
pub struct TenantRegistry {
    pub(super) store: Arc<dyn RegistryStore>,
    pub(super) clock: Arc<dyn WallClock>,
    sink: PolicySink,
    config: TenantRegistryConfig,
    book: ArcSwap<Book>,
    turn: Mutex<()>,
    failures: Mutex<Failures>,
}

impl TenantRegistry {
    /// A registry of what `parts.store` holds. The sink has been told when this returns.
    ///
    /// # Errors
    /// `invalid-argument`, detail `access.invalid-config`, for a setting out of its bounds; `corrupt-artifact`, detail
    /// `access.document`, or `incompatible-contract`, detail `access.document-version`, for a document that does not
    /// read; as the store's.
    pub fn open(parts: TenantRegistryParts, config: TenantRegistryConfig) -> Result<Self, PlatformError> {
        config.failures.check().map_err(|(setting, expected)| refusal::invalid_config(setting, expected))?;
        let TenantRegistryParts { store, clock, sink } = parts;
        let book = load(&*store)?;
        sink(&book.all_tenants());
        let failures = Mutex::new(Failures::new(config.failures));
        Ok(Self { store, clock, sink, config, book: ArcSwap::from_pointee(book), turn: Mutex::default(), failures })
    }

    /// The book as it is now.
    pub(super) fn book(&self) -> Arc<Book> {
        self.book.load_full()
    }

    /// Whoever has it may change something.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, peer: Option<IpAddr>, now: SystemTime) -> PlatformError {
        let counted = self.failures.lock().unwrap_or_else(PoisonError::into_inner).count(peer, now);
        counted.map_or_else(refusal::too_many_failures, |()| refusal::unauthenticated())
    }
}

impl Authenticator for TenantRegistry {
    fn authenticate(
        &self,
        presented: Option<Presented<'_>>,
        peer: Option<IpAddr>,
        now: SystemTime,
    ) -> Result<Arc<Access>, PlatformError> {
        let book = self.book.load();
        let found = presented.and_then(Secret::of).and_then(|secret| book.find(&secret));
        match found.filter(|held| held.holds_at(now)) {
            Some(held) => Ok(Arc::clone(&held.access)),
            None => Err(self.failed(peer, now)),
        }
    }

    fn still_holds(&self, access: &Arc<Access>, now: SystemTime) -> bool {
        let book = self.book.load();
        // Another credential of the same name is not the one that was shown.
        book.credential(&access.credential).is_some_and(|held| Arc::ptr_eq(&held.access, access) && held.holds_at(now))
    }
}

impl TenantDirectory for TenantRegistry {
    fn apply_tenant(&self, tenant: Tenant) -> Result<Tenant, PlatformError> {
        self.change_tenant(tenant)
    }

    fn tenant(&self, name: &TenantId) -> Result<Tenant, PlatformError> {
        self.book.load().tenant(name).cloned().ok_or_else(|| refusal::unknown_tenant(name))
    }

    fn tenants(&self, after: Option<&str>, rows: usize) -> Page<Tenant> {
        self.book.load().tenants_after(after, rows.clamp(1, PAGE_ROWS_MAX))
    }

    fn delete_tenant(&self, name: &TenantId) -> Result<(), PlatformError> {
        self.remove_tenant(name)
    }

    fn create_credential(
        &self,
        new: NewCredential,
        now: SystemTime,
    ) -> Result<(Credential, Option<String>), PlatformError> {
        self.add_credential(new, now)
    }

    fn credentials(&self, tenant: Option<&TenantId>, after: Option<&str>, rows: usize) -> Page<Credential> {
        self.book.load().credentials_after(tenant, after, rows.clamp(1, PAGE_ROWS_MAX))
    }

    fn revoke_credential(&self, id: &str) -> Result<(), PlatformError> {
        self.remove_credential(id)
    }
}

impl fmt::Debug for TenantRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let book = self.book.load();
        let peers = self.failures.lock().unwrap_or_else(PoisonError::into_inner).peers();
        f.debug_struct("TenantRegistry")
            .field("tenants", &book.tenant_count())
            .field("credentials", &book.credential_count())
            .field("failing_peers", &peers)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

fn load(store: &dyn RegistryStore) -> Result<Book, PlatformError> {
    let mut book = Book::default();
    for (key, value) in store.load(document::TENANT)? {
        book.put_tenant(document::read_tenant(&key, &value)?);
    }
    for (key, value) in store.load(document::CREDENTIAL)? {
        let held = document::read_credential(&key, &value)?;
        let wrong = |what| Err(refusal::document(document::CREDENTIAL, &key, what));
        if book.tenant(&held.credential.tenant).is_none() {
            return wrong("its tenant is not there");
        }
        if book.find(&held.secret).is_some() {
            return wrong("another one has the same hash");
        }
        book.put_credential(held);
    }
    Ok(book)
}
