//! A release as the catalog knows it: which component, what may be called in it, and what its manifest allows.

use std::collections::HashSet;
use std::sync::Arc;

use latent_core::{BudgetCeilings, ContractSurface, PlatformError, Sha256Digest, Threading};

use crate::manifest::CapsuleManifest;

/// Surfaces, one copy of each. Versions of one component mostly have the same, and whoever calls many of them then reads
/// memory that is in a cache.
#[derive(Debug, Default)]
pub struct Surfaces(HashSet<Arc<ContractSurface>, foldhash::quality::RandomState>);

/// One immutable component with its capsule manifest. Shared by all of a tenant's deployments of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub struct Release {
    surface: Arc<ContractSurface>,
    digest: Sha256Digest,
    ceilings: BudgetCeilings,
    threading: Threading,
}

impl Release {
    /// The component `digest`, which exports `exported` and of which `manifest` offers a part.
    ///
    /// # Errors
    /// `incompatible-contract` when the manifest offers something that the component does not export.
    pub fn new(
        digest: Sha256Digest,
        exported: &ContractSurface,
        manifest: &CapsuleManifest,
    ) -> Result<Self, PlatformError> {
        let surface = Arc::new(manifest.narrow(exported)?);
        Ok(Self { digest, surface, ceilings: manifest.ceilings, threading: manifest.threading })
    }

    /// The same, with the copy of its surface that is in `surfaces`. It is put there if there is none.
    #[must_use]
    pub fn sharing(mut self, surfaces: &mut Surfaces) -> Self {
        if let Some(known) = surfaces.0.get(&self.surface) {
            self.surface = known.clone();
        } else {
            surfaces.0.insert(self.surface.clone());
        }
        self
    }

    /// The component's digest.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// What may be called.
    #[must_use]
    pub fn surface(&self) -> &ContractSurface {
        &self.surface
    }

    /// The most that the manifest lets one activation have.
    #[must_use]
    pub fn ceilings(&self) -> BudgetCeilings {
        self.ceilings
    }

    /// What the cell must offer.
    #[must_use]
    pub fn threading(&self) -> Threading {
        self.threading
    }
}

#[cfg(test)]
mod tests {
    use latent_core::FunctionTarget;

    use super::*;

    fn release(of: &[u8], refused: &str) -> Release {
        let surface =
            ContractSurface { functions: Vec::new(), refused: vec![(FunctionTarget::http_handler(), refused.into())] };
        Release::new(Sha256Digest::of(of), &surface, &CapsuleManifest::default()).unwrap()
    }

    #[test]
    fn releases_with_equal_surfaces_hold_one() {
        let mut surfaces = Surfaces::default();
        let [first, second, other] =
            [(b"1", "handles"), (b"2", "handles"), (b"3", "streams")].map(|(of, refused)| release(of, refused));
        let [shared, again, another] = [&first, &second, &other].map(|release| release.clone().sharing(&mut surfaces));
        assert!(Arc::ptr_eq(&shared.surface, &again.surface));
        assert!(!Arc::ptr_eq(&shared.surface, &another.surface));
        assert_eq!([shared, again, another], [first, second, other], "and are what they were");
    }
}
