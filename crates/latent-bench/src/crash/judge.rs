//! What must be in a storage after its owner was killed.

use std::collections::{BTreeMap, BTreeSet};

use latent_catalog::PageBounds;
use latent_core::{Sha256Digest, TenantId};
use latent_executor::ArtifactRepository as _;
use latent_storage::Storage;

use super::plan::{Change, Plan};

type Releases = BTreeSet<(TenantId, Sha256Digest)>;
type Deployments = BTreeMap<(TenantId, String, String), (Sha256Digest, u16)>;

/// What was acknowledged, and the one change that was under way.
#[derive(Debug, Default)]
pub struct Expected {
    acknowledged: State,
    under_way: Option<Change>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct State {
    releases: Releases,
    deployments: Deployments,
}

impl Expected {
    /// Follows what a worker with `seed` said before it was killed.
    pub fn follow(&mut self, seed: u64, said: &[String]) -> Result<(), String> {
        let mut plan = Plan::new(seed);
        for line in said {
            match (line.trim_end(), self.under_way.take()) {
                (">", None) => self.under_way = Some(plan.change()),
                ("< done", Some(change)) => self.acknowledged.make(change),
                ("< refused", Some(_)) => (),
                (other, _) => return Err(format!("the worker said {other:?} out of turn")),
            }
        }
        Ok(())
    }

    /// Compares, and goes on from what is there.
    pub fn compare(&mut self, storage: &Storage) -> Result<(), String> {
        storage.audit()?;
        let found = State::of(storage)?;
        let without = std::mem::take(&mut self.acknowledged);
        let under_way = self.under_way.take();
        self.acknowledged = found.clone();
        if found == without {
            return Ok(());
        }
        let mut with = without.clone();
        let Some(change) = under_way else {
            return Err(format!("nothing was under way; acknowledged {without:?}, found {found:?}"));
        };
        let told = format!("{change:.200?}");
        with.make(change);
        if found == with {
            Ok(())
        } else {
            Err(format!("{told} was under way; acknowledged {without:?}, found {found:?}"))
        }
    }
}

impl State {
    fn make(&mut self, change: Change) {
        match change {
            Change::Publish(tenant, component) => {
                self.releases.insert((tenant, Sha256Digest::of(&component)));
            }
            Change::Apply(manifest) => {
                let key = (manifest.tenant, manifest.service.to_string(), manifest.deployment.to_string());
                self.deployments.insert(key, (manifest.release, manifest.weight.get()));
            }
            Change::Delete(tenant, service, deployment) => {
                self.deployments.remove(&(tenant, service.to_string(), deployment.to_string()));
            }
            Change::DeleteRelease(tenant, digest) => {
                self.releases.remove(&(tenant, digest));
            }
            Change::Collect => (),
        }
    }

    /// What `storage` has, every component read and verified.
    fn of(storage: &Storage) -> Result<Self, String> {
        let mut state = Self::default();
        for tenant in (0..3).map(|at| TenantId::new(format!("tenant-{at}")).expect("a plain id")) {
            for record in storage.releases(&tenant, None, PageBounds::default()).releases {
                let digest = record.release.digest();
                storage.fetch(&tenant, digest).map_err(|error| format!("{digest}: {}", error.message()))?;
                state.releases.insert((tenant.clone(), digest));
            }
            let view = storage.view();
            for row in view.list(&tenant, None, None, PageBounds::default()).deployments {
                let key = (tenant.clone(), row.service().to_string(), row.id().to_string());
                state.deployments.insert(key, (row.release().digest(), row.weight().get()));
            }
        }
        Ok(state)
    }
}
