//! Changes to the registry: decided on the book, written down, then shown.
//!
//! Invariant: all of a change is in one write, so that a stop leaves the book before it or the one after it.

use std::sync::Arc;
use std::time::SystemTime;

use latent_core::{PlatformError, Sha256Digest, TenantId};

use super::{LIFETIME_MAX, TenantRegistry};
use crate::access::book::{Book, Held, Secret};
use crate::access::document;
use crate::access::model::{Credential, NewCredential, Presented, Tenant};
use crate::access::port::RegistryChange;
use crate::access::refusal;
use crate::access::roles::Roles;
use crate::access::token;

/// A credential that is to be put on record, and its token unless it is for a certificate.
pub(in crate::access) struct Made {
    held: Held,
    token: Option<String>,
}

impl TenantRegistry {
    /// Makes those of `tenants` that do not exist yet, all or none, and leaves the others as they are. Says how many it
    /// made.
    ///
    /// # Errors
    /// `resource-exhausted`, detail `access.limit`, beyond the bound on tenants; as the store's.
    pub fn seed(&self, tenants: &[Tenant]) -> Result<usize, PlatformError> {
        let _turn = self.turn();
        let mut next = Book::clone(&self.book());
        let mut change = RegistryChange::default();
        for tenant in tenants {
            if next.tenant(&tenant.name).is_none() {
                change.add_tenant(tenant);
                next.put_tenant(tenant.clone());
            }
        }
        let made = change.documents.len();
        if made > 0 {
            self.check_tenants(&next)?;
            self.store.write(&change)?;
            self.show_tenants(next);
        }
        Ok(made)
    }

    pub(super) fn change_tenant(&self, tenant: Tenant) -> Result<Tenant, PlatformError> {
        let _turn = self.turn();
        let book = self.book();
        if book.tenant(&tenant.name) == Some(&tenant) {
            return Ok(tenant);
        }
        let mut next = Book::clone(&book);
        next.put_tenant(tenant.clone());
        if next.tenant_count() > book.tenant_count() {
            self.check_tenants(&next)?;
        }
        let mut change = RegistryChange::default();
        change.add_tenant(&tenant);
        self.store.write(&change)?;
        self.show_tenants(next);
        Ok(tenant)
    }

    pub(super) fn remove_tenant(&self, name: &TenantId) -> Result<(), PlatformError> {
        let _turn = self.turn();
        let book = self.book();
        if book.tenant(name).is_none() {
            return Err(refusal::unknown_tenant(name));
        }
        if book.needs(self.clock.now(), |credential| credential.tenant == *name) {
            return Err(refusal::last_operator());
        }
        if self.store.holds_anything(name) {
            return Err(refusal::tenant_in_use(name));
        }
        let mut next = Book::clone(&book);
        let mut change = RegistryChange { documents: vec![], disk_quotas: vec![(name.clone(), None)] };
        for held in book.all_credentials().filter(|held| held.credential.tenant == *name) {
            change.documents.push(document::removed(document::CREDENTIAL, &held.credential.id));
            next.remove_credential(&held.credential.id);
        }
        change.documents.push(document::removed(document::TENANT, name.as_str()));
        next.remove_tenant(name);
        self.store.write(&change)?;
        self.show_tenants(next);
        Ok(())
    }

    pub(super) fn add_credential(
        &self,
        new: NewCredential,
        now: SystemTime,
    ) -> Result<(Credential, Option<String>), PlatformError> {
        let mut made = make(token::credential_id()?, new, now)?;
        let _turn = self.turn();
        while self.book().credential(&made.held.credential.id).is_some() {
            made = made.renamed(token::credential_id()?);
        }
        self.put(made, now)
    }

    pub(super) fn remove_credential(&self, id: &str) -> Result<(), PlatformError> {
        let _turn = self.turn();
        let book = self.book();
        let Some(held) = book.credential(id) else { return Err(refusal::unknown_credential(id)) };
        if book.needs(self.clock.now(), |credential| credential.id == held.credential.id) {
            return Err(refusal::last_operator());
        }
        let mut next = Book::clone(&book);
        next.remove_credential(id);
        let documents = vec![document::removed(document::CREDENTIAL, id)];
        self.store.write(&RegistryChange { documents, disk_quotas: vec![] })?;
        self.show(next);
        Ok(())
    }

    /// Puts a credential on record, in the place of the one with its id if there is one. Under [`turn`](Self::turn).
    pub(in crate::access) fn put(
        &self,
        made: Made,
        now: SystemTime,
    ) -> Result<(Credential, Option<String>), PlatformError> {
        let Made { held, token } = made;
        let book = self.book();
        let credential = held.credential.clone();
        if book.tenant(&credential.tenant).is_none() {
            return Err(refusal::unknown_tenant(&credential.tenant));
        }
        if let (Secret::Certificate(digest), Some(_)) = (held.secret, book.find(&held.secret)) {
            return Err(refusal::certificate_taken(digest));
        }
        let mut next = Book::clone(&book);
        let mut change = RegistryChange::default();
        let max = self.config.credentials_max;
        if book.credential(&credential.id).is_none() && book.credential_count() >= max {
            for expired in book.all_credentials().filter(|held| !held.holds_at(now)) {
                change.documents.push(document::removed(document::CREDENTIAL, &expired.credential.id));
                next.remove_credential(&expired.credential.id);
            }
            if next.credential_count() >= max {
                return Err(refusal::full("credentials", max));
            }
        }
        change.documents.push(document::credential(&held));
        next.put_credential(held);
        self.store.write(&change)?;
        self.show(next);
        Ok((credential, token))
    }

    fn check_tenants(&self, next: &Book) -> Result<(), PlatformError> {
        let max = self.config.tenants_max;
        if next.tenant_count() > max { Err(refusal::full("tenants", max)) } else { Ok(()) }
    }

    /// Lets calls be judged by `next`.
    fn show(&self, next: Book) {
        self.book.store(Arc::new(next));
    }

    /// The same, and lets admission know of its tenants.
    fn show_tenants(&self, next: Book) {
        let tenants = next.all_tenants();
        self.show(next);
        (self.sink)(&tenants);
    }
}

impl RegistryChange {
    fn add_tenant(&mut self, tenant: &Tenant) {
        self.documents.push(document::tenant(tenant));
        self.disk_quotas.push((tenant.name.clone(), tenant.quota.disk_bytes));
    }
}

impl Made {
    fn renamed(self, id: Box<str>) -> Self {
        let held = Held::new(Credential { id, ..self.held.credential }, self.held.secret);
        Self { held, ..self }
    }

    /// What its holder shows.
    pub(in crate::access) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }
}

/// A credential called `id`.
pub(in crate::access) fn make(id: Box<str>, new: NewCredential, now: SystemTime) -> Result<Made, PlatformError> {
    let NewCredential { tenant, subject, roles, lifetime, certificate } = new;
    if roles == Roles::default() {
        return Err(refusal::no_roles());
    }
    let expires_at = match lifetime {
        Some(found) if found.as_secs() == 0 || found > LIFETIME_MAX => {
            return Err(refusal::lifetime(found, LIFETIME_MAX));
        }
        Some(lifetime) => Some(now.checked_add(lifetime).ok_or_else(|| refusal::lifetime(lifetime, LIFETIME_MAX))?),
        None => None,
    };
    let (secret, token) = secret(certificate)?;
    let (created_at, expires_at) = (document::kept(now), expires_at.map(document::kept));
    let credential = Credential { id, tenant, subject, roles, created_at, expires_at };
    Ok(Made { held: Held::new(credential, secret), token })
}

fn secret(certificate: Option<Sha256Digest>) -> Result<(Secret, Option<String>), PlatformError> {
    if let Some(digest) = certificate {
        return Ok((Secret::Certificate(digest), None));
    }
    let token = token::generate()?;
    let secret = Secret::of(Presented::Bearer(token.as_bytes())).expect("what was made as a token reads as one");
    Ok((secret, Some(token)))
}
