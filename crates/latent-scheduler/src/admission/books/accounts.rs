//! What each tenant has reserved, in places that are found by name once and by number from then on.
//!
//! Invariant: a tenant has a place while it has something reserved, so there are never more than live activations.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use latent_core::TenantId;

use super::Usage;

/// Where a tenant's usage is, for as long as it has something reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::admission) struct Account(usize);

#[derive(Debug, Default)]
pub(super) struct Accounts {
    by_name: HashMap<TenantId, Account, RandomState>,
    usages: Vec<Usage>,
    free: Vec<Account>,
}

impl Accounts {
    pub(super) fn find(&self, tenant: &TenantId) -> Option<Account> {
        self.by_name.get(tenant).copied()
    }

    pub(super) fn usage(&self, Account(number): Account) -> Usage {
        self.usages.get(number).copied().unwrap_or_default()
    }

    pub(super) fn usage_mut(&mut self, Account(number): Account) -> Option<&mut Usage> {
        self.usages.get_mut(number)
    }

    /// The place that [`Self::open`] gives next.
    pub(super) fn next(&self) -> Account {
        self.free.last().copied().unwrap_or(Account(self.usages.len()))
    }

    /// Gives a tenant that has no place the next one.
    pub(super) fn open(&mut self, tenant: &TenantId, usage: Usage) {
        let account = self.next();
        match self.free.pop().and_then(|account| self.usage_mut(account)) {
            Some(place) => *place = usage,
            None => self.usages.push(usage),
        }
        self.by_name.insert(tenant.clone(), account);
    }

    /// Takes the place of a tenant that has nothing reserved any more.
    pub(super) fn close(&mut self, tenant: &TenantId) {
        self.free.extend(self.by_name.remove(tenant));
    }

    /// What those that have a place have reserved.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Usage> {
        self.by_name.values().filter_map(|account| self.usages.get(account.0))
    }
}
