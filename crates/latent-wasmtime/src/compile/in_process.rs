//! Compiling on the calling thread: for embedding and for tests. It has no limits of its own and cannot be interrupted;
//! a node compiles in a child.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use wasmtime::Engine;

use super::{CompileJob, Compiler};
use crate::inspect::malformed;

/// Compiles with the engine that will run the code.
pub struct InProcessCompiler {
    engine: Engine,
}

impl InProcessCompiler {
    /// A compiler for `engine`.
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }
}

impl Compiler for InProcessCompiler {
    fn compile(&self, job: CompileJob<'_>) -> Result<(), PlatformError> {
        let compiled = catch_unwind(AssertUnwindSafe(|| self.engine.precompile_component(job.artifact.bytes())));
        let image = compiled.map_err(|_panic| panicked())?.map_err(|error| invalid(&error.root_cause()))?;
        let mut file = job.image;
        file.write_all(&image).map_err(|error| unwritable(&error))
    }

    fn interrupt(&self) {}
}

/// The compiler says that the bytes are no component.
pub fn invalid(reason: &dyn std::fmt::Display) -> PlatformError {
    malformed(format_args!("the component does not validate or compile: {reason}"))
}

/// The bytes are at fault, or the compiler is: in either case the component cannot be had.
pub fn panicked() -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, "the compiler fails on this component")
        .with_detail(ErrorDetail::new("compiler.panic"))
}

/// The image cannot be written: the disk is full, perhaps.
pub fn unwritable(error: &dyn std::fmt::Display) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Unavailable, format_args!("cannot write the compiled image: {error}"))
        .retryable()
        .with_detail(ErrorDetail::new("compiler.io").with("reason", error))
}
