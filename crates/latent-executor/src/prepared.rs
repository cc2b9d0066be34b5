//! Prepared code and the affine values that pin it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use latent_core::{ContractSurface, ErrorDetail, ImportGrant, PlatformError, PlatformErrorCode, Sha256Digest};

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

impl ImportName {
    /// Whether this names an interface, which has to be bound, and not a type or another thing of the world itself.
    #[must_use]
    pub fn is_interface(&self) -> bool {
        self.0.contains('/')
    }
}

/// Refuses a component that declares an interface which its deployment does not grant. The standard grant costs nothing.
///
/// # Errors
/// `permission-denied` (`activation.import-not-granted`) naming the first such import.
pub fn refuse_ungranted(imports: &[ImportName], grant: &ImportGrant) -> Result<(), PlatformError> {
    match grant {
        ImportGrant::Standard => Ok(()),
        ImportGrant::Only(_) => {
            let refused = imports.iter().find(|import| import.is_interface() && !grant.allows(&import.0));
            refused.map_or(Ok(()), |import| Err(not_granted(import)))
        }
    }
}

fn not_granted(import: &ImportName) -> PlatformError {
    let message = format_args!(
        "the component imports {import}, which its deployment does not grant; grant it in the deployment's `imports`, \
         or build the component without it"
    );
    PlatformError::new(PlatformErrorCode::PermissionDenied, message)
        .with_detail(ErrorDetail::new("activation.import-not-granted").with("import", import))
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

    /// The code and the pin, for the backend that made them to turn into a use with room of its own.
    #[must_use = "dropping the pin gives it up"]
    pub fn into_parts(self) -> (Arc<dyn PreparedCode>, Box<dyn Any + Send>) {
        (self.code, self.pin)
    }

    /// Turns the readiness into a use by adding the permit of one live instance.
    pub fn into_use(self, permit: Box<dyn Any + Send>) -> PreparedUse {
        PreparedUse { code: self.code, guards: UseGuards { _pin: Some(self.pin), _permit: permit } }
    }
}

/// A pin on prepared code and the permit of one live instance. It outlives the code's place in any cache. Affine:
/// ```compile_fail
/// fn twice(pinned: latent_executor::PreparedUse) { let copy = pinned.clone(); drop((pinned, copy)); }
/// ```
#[must_use = "dropping a use gives up its pin and permit"]
pub struct PreparedUse {
    code: Arc<dyn PreparedCode>,
    guards: UseGuards,
}

/// The pin and the permit of a use without its code. Opaque; affine like the use itself.
#[must_use = "dropping the guards gives up pin and permit"]
pub struct UseGuards {
    _pin: Option<Box<dyn Any + Send>>,
    _permit: Box<dyn Any + Send>,
}

impl PreparedUse {
    /// Pins `code`; `guards` are the backend's own pin and permit, dropped with the use.
    pub fn new(code: Arc<dyn PreparedCode>, guards: Box<dyn Any + Send>) -> Self {
        Self { code, guards: UseGuards { _pin: None, _permit: guards } }
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> &Arc<dyn PreparedCode> {
        &self.code
    }

    /// The code and its guards, for the backend that runs it. The code is to be dropped first.
    pub fn into_parts(self) -> (Arc<dyn PreparedCode>, UseGuards) {
        (self.code, self.guards)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> [ImportName; 4] {
        ["deadline", "wasi:io/streams@0.2.6", "latent:log/log@0.1.0", "wasi:random/random@0.2.0"]
            .map(|name| ImportName(name.into()))
    }

    #[test]
    fn the_standard_grant_lets_every_import_pass() {
        assert_eq!(refuse_ungranted(&declared(), &ImportGrant::Standard), Ok(()));
    }

    #[test]
    fn a_list_that_covers_every_interface_lets_them_pass_whatever_else_is_declared() {
        let all = ["latent:log/log".into(), "wasi:io/streams".into(), "wasi:random/random".into()];
        assert_eq!(refuse_ungranted(&declared(), &ImportGrant::Only(all.into())), Ok(()));
        let type_alone = [ImportName("deadline".into())];
        assert_eq!(refuse_ungranted(&type_alone, &ImportGrant::Only([].into())), Ok(()), "a type is no interface");
    }

    #[test]
    fn the_first_interface_that_is_not_granted_is_named_with_what_to_do() {
        for (granted, refused) in [
            (vec![], "wasi:io/streams@0.2.6"),
            (vec!["wasi:io/streams".into()], "latent:log/log@0.1.0"),
            (vec!["latent:log/log".into(), "wasi:io/streams".into()], "wasi:random/random@0.2.0"),
        ] {
            let error = refuse_ungranted(&declared(), &ImportGrant::Only(granted.into())).expect_err("one is missing");
            assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::PermissionDenied, false));
            assert_eq!(error.details()[0].kind(), "activation.import-not-granted");
            assert_eq!(error.details()[0].field("import"), Some(refused));
            assert!(error.message().contains(refused) && error.message().contains("`imports`"), "{}", error.message());
        }
    }
}
