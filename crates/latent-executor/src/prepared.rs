//! Prepared code and the affine values that pin it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use latent_core::{ContractSurface, Sha256Digest};

/// Names prepared code: the component's digest and everything about the engine that makes the result differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PreparationKey {
    digest: Sha256Digest,
    compatibility: u64,
}

impl PreparationKey {
    /// A key for a component under an engine with this compatibility hash.
    #[must_use]
    pub const fn new(digest: Sha256Digest, compatibility: u64) -> Self {
        Self { digest, compatibility }
    }

    /// The component.
    #[must_use]
    pub const fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// Which engine: two engines with the same value can run one another's code.
    #[must_use]
    pub const fn compatibility(&self) -> u64 {
        self.compatibility
    }
}

/// The name of an import as the component declares it, such as `wasi:clocks/monotonic-clock@0.2.0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImportName(pub Box<str>);

impl fmt::Display for ImportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Compiled, linked code of one component, as a backend keeps it. Immutable and shared.
pub trait PreparedCode: Any + Send + Sync {
    /// What can be called.
    fn surface(&self) -> &ContractSurface;

    /// Every import that the component declares, optional ones included.
    fn imports(&self) -> &[ImportName];

    /// Bytes of linear memory below which no instance can be made: what its largest memory begins with.
    fn declared_memory_bytes(&self) -> u64;

    /// Bytes of compiled code, data and metadata, mapped once for all that use it.
    fn code_bytes(&self) -> u64;
}

/// Code that is ready to run: pinned, with all its imports known, but with no store, instance or cell.
#[must_use = "dropping a readiness gives up its pin"]
pub struct PreparedReadiness {
    code: Arc<dyn PreparedCode>,
    pin: Box<dyn Any + Send>,
}

impl PreparedReadiness {
    /// Pins `code`; `pin` is the backend's own guard, dropped with the readiness.
    pub fn new(code: Arc<dyn PreparedCode>, pin: Box<dyn Any + Send>) -> Self {
        Self { code, pin }
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> &Arc<dyn PreparedCode> {
        &self.code
    }

    /// Turns the readiness into a use by adding the permit of one live instance.
    pub fn into_use(self, permit: Box<dyn Any + Send>) -> PreparedUse {
        PreparedUse { code: self.code, _guards: Box::new((self.pin, permit)) }
    }
}

/// A pin on prepared code and the permit of one live instance. It outlives the code's place in any cache. Affine:
/// ```compile_fail
/// fn twice(pinned: latent_executor::PreparedUse) { let copy = pinned.clone(); drop((pinned, copy)); }
/// ```
#[must_use = "dropping a use gives up its pin and permit"]
pub struct PreparedUse {
    code: Arc<dyn PreparedCode>,
    _guards: Box<dyn Any + Send>,
}

impl PreparedUse {
    /// Pins `code`; `guards` are the backend's own pin and permit, dropped with the use.
    pub fn new(code: Arc<dyn PreparedCode>, guards: Box<dyn Any + Send>) -> Self {
        Self { code, _guards: guards }
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> &Arc<dyn PreparedCode> {
        &self.code
    }
}

/// A use, together with the complete list of what has to be bound for it.
#[must_use = "dropping a prepared activation gives up its use"]
pub struct PreparedActivation {
    pinned: PreparedUse,
}

impl PreparedActivation {
    /// Completes a use.
    pub fn new(pinned: PreparedUse) -> Self {
        Self { pinned }
    }

    /// The use.
    pub fn prepared_use(&self) -> &PreparedUse {
        &self.pinned
    }

    /// Every import that the component declares, optional ones included.
    #[must_use]
    pub fn imports(&self) -> &[ImportName] {
        self.pinned.code.imports()
    }

    /// Hands the use to whoever runs it.
    pub fn into_use(self) -> PreparedUse {
        self.pinned
    }
}
