//! Building a view from what was written down, in any order and without a copy for each deployment.

use std::sync::Arc;

use super::check::check;
use super::{CatalogLimits, CatalogView};
use crate::manifest::DeploymentManifest;
use crate::refusal::RestoreRefusal;
use crate::release::Release;
use crate::share::Policies;

/// One deployment as it was written down.
#[derive(Debug, Clone)]
pub struct Restored {
    /// The manifest that was applied.
    pub manifest: DeploymentManifest,
    /// The release that it names.
    pub release: Arc<Release>,
    /// The generation that wrote it.
    pub generation: u64,
}

impl CatalogView {
    /// The view at `generation` with these deployments.
    ///
    /// # Errors
    /// [`RestoreRefusal`] for the first deployment that cannot have been in it. Limits are for new deployments; what
    /// was accepted before is not refused.
    pub fn restore(
        generation: u64,
        deployments: impl IntoIterator<Item = Restored>,
        limits: CatalogLimits,
    ) -> Result<Self, RestoreRefusal> {
        let mut view = Self { generation, ..Self::empty(limits) };
        let mut policies = Policies::new();
        for Restored { manifest, release, generation: written } in deployments {
            check(&manifest, &release).map_err(RestoreRefusal::Invalid)?;
            if !(1..=generation).contains(&written) {
                return Err(RestoreRefusal::Generation { found: written, catalog: generation });
            }
            let before = view.len();
            let deployment = Arc::new(view.deployment(manifest, release, written, &mut policies));
            view.http.put(&deployment).map_err(RestoreRefusal::Invalid)?;
            view.put(deployment.clone());
            if view.len() == before {
                let (tenant, service) = (deployment.tenant.clone(), deployment.service.clone());
                return Err(RestoreRefusal::Repeated(tenant, service, deployment.id.clone()));
            }
        }
        Ok(view)
    }
}
