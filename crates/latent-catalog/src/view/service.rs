//! The deployments of one service, by id and by revision.
//!
//! Invariant: never empty; and a service with several has each in both maps. The common service, with one deployment,
//! is that deployment and nothing else.

use std::sync::Arc;

use latent_core::{DeploymentId, RevisionId};
use rpds::RedBlackTreeMapSync;

use crate::deployment::Deployment;

/// One deployment or several. Cloning shares them.
#[derive(Debug, Clone)]
pub(super) enum Service {
    One(Arc<Deployment>),
    Several(Arc<Several>),
}

#[derive(Debug, Clone)]
pub(super) struct Several {
    by_id: RedBlackTreeMapSync<DeploymentId, Arc<Deployment>>,
    by_revision: RedBlackTreeMapSync<RevisionId, Arc<Deployment>>,
}

impl Service {
    /// How many deployments there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Several(several) => several.by_id.size(),
        }
    }

    /// The deployment of this id.
    pub(super) fn get(&self, id: &str) -> Option<&Arc<Deployment>> {
        match self {
            Self::One(only) => (only.id.as_str() == id).then_some(only),
            Self::Several(several) => several.by_id.get(id),
        }
    }

    /// All deployments, sorted by revision.
    pub(super) fn by_revision(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        let (one, several) = match self {
            Self::One(only) => (Some(only), None),
            Self::Several(several) => (None, Some(several.by_revision.values())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// The service in which `deployment` has been added, or has replaced the one of its id; and whether it was added.
    pub(super) fn with(&self, deployment: Arc<Deployment>) -> (Self, bool) {
        let replaced = self.get(deployment.id.as_str());
        let added = replaced.is_none();
        if let (Self::One(_), Some(_)) = (self, replaced) {
            return (Self::One(deployment), added);
        }
        let mut several = self.several();
        if let Some(replaced) = replaced {
            several.by_revision.remove_mut(&replaced.revision);
        }
        several.put(deployment);
        (Self::Several(Arc::new(several)), added)
    }

    /// The service without `deployment`; `None` when nothing is left.
    pub(super) fn without(&self, deployment: &Deployment) -> Option<Self> {
        let Self::Several(several) = self else { return None };
        let mut rest = Several::clone(several);
        rest.by_id.remove_mut(&deployment.id);
        rest.by_revision.remove_mut(&deployment.revision);
        match (rest.by_id.size(), rest.by_id.first()) {
            (1, Some((_, only))) => Some(Self::One(only.clone())),
            _ => Some(Self::Several(Arc::new(rest))),
        }
    }

    fn several(&self) -> Several {
        match self {
            Self::Several(several) => Several::clone(several),
            Self::One(only) => {
                let (by_id, by_revision) = (RedBlackTreeMapSync::new_sync(), RedBlackTreeMapSync::new_sync());
                let mut several = Several { by_id, by_revision };
                several.put(only.clone());
                several
            }
        }
    }
}

impl Several {
    fn put(&mut self, deployment: Arc<Deployment>) {
        self.by_revision.insert_mut(deployment.revision, deployment.clone());
        self.by_id.insert_mut(deployment.id.clone(), deployment);
    }
}
