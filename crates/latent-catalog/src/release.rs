//! A release as the catalog knows it: which component, what may be called in it, and what its manifest allows.

use latent_core::{BudgetCeilings, ContractSurface, PlatformError, Sha256Digest, Threading};

use crate::manifest::CapsuleManifest;

/// One immutable component with its capsule manifest. Shared by all of a tenant's deployments of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub struct Release {
    surface: ContractSurface,
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
        let surface = manifest.narrow(exported)?;
        Ok(Self { digest, surface, ceilings: manifest.ceilings, threading: manifest.threading })
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
