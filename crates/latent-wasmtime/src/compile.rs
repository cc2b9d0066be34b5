//! The compiler as a port: component bytes in, an image out. An image is the engine's own serialized form of compiled
//! code, which another engine with the same compatibility value loads by mapping it.
//!
//! Invariant: whatever the bytes do to a compiler comes back as one typed error; the image file is worth something only
//! after success.

mod child;
mod functions;
mod in_process;
mod jail;
mod limits;
mod parent;
mod protocol;
mod tenants;
mod watch;

use std::fs::File;

use latent_core::{PlatformError, TenantId};
use latent_executor::ComponentArtifact;

pub use child::compile_child;
pub use in_process::InProcessCompiler;
pub(crate) use in_process::panicked;
pub use limits::CompileLimits;
pub use parent::{COMPILE_COMMAND, ChildCompiler, ChildOptions};
pub use tenants::FunctionsOptions;

/// Turns component bytes into an image. Two implementations: [`InProcessCompiler`] and [`ChildCompiler`].
pub trait Compiler: Send + Sync {
    /// Compiles `job.artifact` and writes its image to `job.image`. Takes as long as compiling takes: it belongs on a
    /// thread made for that.
    ///
    /// # Errors
    /// `invalid-argument` for bytes that do not validate (`component.malformed`) or that break the compiler
    /// (`compiler.panic`, `compiler.crashed`); `resource-exhausted` (`compiler.limit`) when a limit of the compilation
    /// was reached; `unavailable` when the compiler cannot work at the moment, when it may use less than its settings say
    /// (`compiler.unable`), when the image cannot be written (`compiler.io`), or when it was interrupted. After an error
    /// the image file holds anything.
    fn compile(&self, job: CompileJob<'_>) -> Result<(), PlatformError>;

    /// Makes compilations under way end soon, as `unavailable`, and refuses later ones: for shutdown. A compilation
    /// within this process cannot be interrupted and runs to its end.
    fn interrupt(&self);
}

/// One compilation.
#[derive(Debug, Clone, Copy)]
pub struct CompileJob<'a> {
    /// The component, which has passed the pre-scan.
    pub artifact: &'a ComponentArtifact,
    /// Whose compiled functions may be used again and added to. Without it none are.
    pub tenant: Option<&'a TenantId>,
    /// Where the image goes: an empty file, open for reading and writing, at offset 0.
    pub image: &'a File,
}
