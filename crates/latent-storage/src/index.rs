//! Who owns which release, and the documents, in memory: what every question about them is answered from.
//!
//! Invariant: the counters are those of the releases listed, which `audit` counts out.

mod documents;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use latent_catalog::Release;
use latent_core::{Sha256Digest, TenantId};

use crate::record::ReleaseRecord;
pub(crate) use documents::Documents;

/// All releases, by tenant.
#[derive(Debug, Default)]
pub(crate) struct Index {
    owners: HashMap<TenantId, Owner>,
    components: HashMap<Sha256Digest, Component>,
    counts: Counts,
    pub(crate) documents: Documents,
}

/// What an inventory says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Releases, each counted for each tenant that has it.
    pub(crate) releases: u64,
    /// What tenants are charged.
    pub(crate) charged_bytes: u64,
    /// Components that somebody owns, each once.
    pub(crate) components: u64,
    /// Bytes of those.
    pub(crate) component_bytes: u64,
}

#[derive(Debug, Default)]
struct Owner {
    releases: BTreeMap<Sha256Digest, Held>,
    charged_bytes: u64,
    quota_bytes: Option<u64>,
}

/// One release of one tenant.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) record: Arc<ReleaseRecord>,
    /// Bytes of its record.
    pub(crate) record_bytes: u64,
    /// Deployments that use it.
    pub(crate) deployments: u64,
}

/// One component, however many own it.
#[derive(Debug)]
struct Component {
    owners: u64,
    bytes: u64,
}

/// What a tenant has, and may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) releases: usize,
    pub(crate) charged_bytes: u64,
    pub(crate) quota_bytes: Option<u64>,
}

impl Held {
    /// What its tenant is charged: the component and what is remembered of it.
    pub(crate) fn charged_bytes(&self) -> u64 {
        self.record.component_bytes.saturating_add(self.record_bytes)
    }
}

impl Index {
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn tenants(&self) -> usize {
        self.owners.len()
    }

    /// A tenant's release.
    pub(crate) fn get(&self, tenant: &TenantId, digest: &Sha256Digest) -> Option<&Held> {
        self.owners.get(tenant)?.releases.get(digest)
    }

    pub(crate) fn owned(&self, tenant: &TenantId) -> Owned {
        self.owners.get(tenant).map_or(Owned { releases: 0, charged_bytes: 0, quota_bytes: None }, |owner| Owned {
            releases: owner.releases.len(),
            charged_bytes: owner.charged_bytes,
            quota_bytes: owner.quota_bytes,
        })
    }

    /// A tenant's releases after `after`, in the order of their digests.
    pub(crate) fn after(&self, tenant: &TenantId, after: Option<Sha256Digest>) -> impl Iterator<Item = &Held> {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let releases = self.owners.get(tenant).map(|owner| owner.releases.range((begin, Bound::Unbounded)));
        releases.into_iter().flatten().map(|(_, held)| held)
    }

    /// Whether anybody owns the component.
    pub(crate) fn is_owned(&self, digest: &Sha256Digest) -> bool {
        self.components.contains_key(digest)
    }

    /// The size of a component that somebody owns.
    pub(crate) fn component_bytes(&self, digest: &Sha256Digest) -> Option<u64> {
        self.components.get(digest).map(|component| component.bytes)
    }

    /// Every component that somebody owns, with its size.
    pub(crate) fn components(&self) -> impl Iterator<Item = (Sha256Digest, u64)> {
        self.components.iter().map(|(digest, component)| (*digest, component.bytes))
    }

    /// Adds a release that its tenant does not have yet.
    pub(crate) fn insert(&mut self, tenant: &TenantId, record: Arc<ReleaseRecord>, record_bytes: u64) {
        let (digest, bytes) = (record.release.digest(), record.component_bytes);
        let held = Held { record, record_bytes, deployments: 0 };
        let charged = held.charged_bytes();
        let owner = self.owners.entry(tenant.clone()).or_default();
        owner.charged_bytes += charged;
        owner.releases.insert(digest, held);
        let component = self.components.entry(digest).or_insert_with(|| {
            self.counts.components += 1;
            self.counts.component_bytes += bytes;
            Component { owners: 0, bytes }
        });
        component.owners += 1;
        self.counts.releases += 1;
        self.counts.charged_bytes += charged;
    }

    /// Removes a release, if its tenant has it.
    pub(crate) fn remove(&mut self, tenant: &TenantId, digest: &Sha256Digest) {
        let Some(owner) = self.owners.get_mut(tenant) else { return };
        let Some(held) = owner.releases.remove(digest) else { return };
        let charged = held.charged_bytes();
        owner.charged_bytes -= charged;
        self.counts.releases -= 1;
        self.counts.charged_bytes -= charged;
        self.forget_if_bare(tenant);
        if let Some(component) = self.components.get_mut(digest) {
            component.owners -= 1;
            if component.owners == 0 {
                self.counts.components -= 1;
                self.counts.component_bytes -= component.bytes;
                self.components.remove(digest);
            }
        }
    }

    /// Counts one more deployment of a release, if its tenant has it.
    pub(crate) fn refer(&mut self, tenant: &TenantId, digest: &Sha256Digest) -> Option<Arc<Release>> {
        let held = self.owners.get_mut(tenant)?.releases.get_mut(digest)?;
        held.deployments += 1;
        Some(held.record.release.clone())
    }

    /// Counts one deployment less.
    pub(crate) fn unrefer(&mut self, tenant: &TenantId, digest: &Sha256Digest) {
        if let Some(held) = self.owners.get_mut(tenant).and_then(|owner| owner.releases.get_mut(digest)) {
            held.deployments = held.deployments.saturating_sub(1);
        }
    }

    /// Gives a tenant its own quota, or with `None` the one that everybody has.
    pub(crate) fn set_quota(&mut self, tenant: &TenantId, bytes: Option<u64>) {
        self.owners.entry(tenant.clone()).or_default().quota_bytes = bytes;
        self.forget_if_bare(tenant);
    }

    fn forget_if_bare(&mut self, tenant: &TenantId) {
        let bare = |owner: &Owner| owner.releases.is_empty() && owner.quota_bytes.is_none();
        if self.owners.get(tenant).is_some_and(bare) {
            self.owners.remove(tenant);
        }
    }

    /// Counts everything anew; `deployments` counts those of one release of a tenant.
    pub(crate) fn audit(&self, deployments: impl Fn(&TenantId, &Sha256Digest) -> u64) -> Result<(), String> {
        let mut counts = Counts { components: self.components.len() as u64, ..Counts::default() };
        counts.component_bytes = self.components.values().map(|component| component.bytes).sum();
        for (tenant, owner) in &self.owners {
            let charged: u64 = owner.releases.values().map(Held::charged_bytes).sum();
            if owner.charged_bytes != charged {
                return Err(format!("tenant {tenant} is charged {} bytes and has {charged}", owner.charged_bytes));
            }
            let miscounted = |(digest, held): &(&Sha256Digest, &Held)| held.deployments != deployments(tenant, digest);
            if let Some((digest, held)) = owner.releases.iter().find(miscounted) {
                return Err(format!("release {digest} of tenant {tenant} has not {} deployments", held.deployments));
            }
            counts.releases += owner.releases.len() as u64;
            counts.charged_bytes += charged;
        }
        let owners: u64 = self.components.values().map(|component| component.owners).sum();
        if counts != self.counts || owners != counts.releases {
            return Err(format!("{counts:?} with {owners} owners are there, {:?} were counted", self.counts));
        }
        Ok(())
    }
}
