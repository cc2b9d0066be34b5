//! How many of something the node and each tenant have at once.
//!
//! Invariant: what is counted is exactly the [`Held`] that live; nobody has more than its cap.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latent_core::TenantId;

/// The most at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    /// Of all tenants together.
    pub(super) node: usize,
    /// Of one tenant.
    pub(super) tenant: usize,
}

#[derive(Debug)]
pub(super) struct Counts {
    caps: Caps,
    open: Mutex<Open>,
}

/// `all` is the sum of `tenants`, in which nobody has zero.
#[derive(Debug, Default)]
struct Open {
    all: usize,
    tenants: HashMap<TenantId, usize>,
}

impl Counts {
    pub(super) fn new(caps: Caps) -> Arc<Self> {
        Arc::new(Self { caps, open: Mutex::default() })
    }

    /// Counts one more of `tenant`, unless it or the node has as many as it may.
    pub(super) fn hold(self: &Arc<Self>, tenant: &TenantId) -> Option<Held> {
        let mut open = self.lock();
        let own = open.tenants.get(tenant).copied().unwrap_or_default();
        if open.all >= self.caps.node || own >= self.caps.tenant {
            return None;
        }
        open.all += 1;
        open.tenants.insert(tenant.clone(), own + 1);
        Some(Held { counts: Arc::clone(self), tenant: tenant.clone() })
    }

    /// How many there are, and of how many tenants.
    pub(super) fn open(&self) -> (usize, usize) {
        let open = self.lock();
        (open.all, open.tenants.len())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that is counted, until this is dropped.
#[derive(Debug)]
#[must_use]
pub(super) struct Held {
    counts: Arc<Counts>,
    tenant: TenantId,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = self.counts.lock();
        open.all -= 1;
        let own = open.tenants.get(&self.tenant).copied().unwrap_or_default();
        if own > 1 {
            open.tenants.insert(self.tenant.clone(), own - 1);
        } else {
            open.tenants.remove(&self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_more_than_its_cap_and_all_is_given_back() {
        let tenant = |name: &str| TenantId::new(name).expect("an id");
        let counts = Counts::new(Caps { node: 3, tenant: 2 });
        let first = [counts.hold(&tenant("a")), counts.hold(&tenant("a"))].map(|held| held.expect("within the cap"));
        assert!(counts.hold(&tenant("a")).is_none());
        let other = counts.hold(&tenant("b")).expect("another tenant's");
        assert!(counts.hold(&tenant("c")).is_none());
        assert_eq!(counts.open(), (3, 2));
        drop(first);
        assert_eq!(counts.open(), (1, 1));
        drop(other);
        assert_eq!(counts.open(), (0, 0));
        assert!(counts.lock().tenants.is_empty());
    }
}
