//! How components become code: which compiler, and whether images are kept.

use latent_core::{PlatformError, PlatformErrorCode};
use wasmtime::Engine;

use crate::compile::{ChildCompiler, ChildOptions, Compiler, InProcessCompiler};
use crate::images::ImageStore;
use crate::settings::EngineSettings;

/// How components are prepared. The default compiles in this process and keeps no images.
#[derive(Default)]
pub struct Preparation {
    /// Where code is generated.
    pub compiler: CompilerChoice,
    /// Where images are kept, so that a component is compiled once for many starts.
    pub images: Option<ImageStore>,
}

/// Where code is generated.
#[derive(Default)]
pub enum CompilerChoice {
    /// On a thread of this process, without limits: for components that are trusted, and for tests.
    #[default]
    InProcess,
    /// In a process of its own for each component, under limits: the node's choice.
    Child(ChildOptions),
}

impl Preparation {
    /// Takes the parts out: the compiler, which generates code for `engine`, and the store of images.
    pub(crate) fn into_parts(
        self,
        engine: &Engine,
        settings: &EngineSettings,
    ) -> Result<(Box<dyn Compiler>, Option<ImageStore>), PlatformError> {
        let compiler: Box<dyn Compiler> = match self.compiler {
            CompilerChoice::InProcess => Box::new(InProcessCompiler::new(engine)),
            CompilerChoice::Child(options) => {
                let child = ChildCompiler::new(options, engine, settings);
                Box::new(child.map_err(|error| {
                    PlatformError::new(PlatformErrorCode::Internal, format_args!("the compiler cannot start: {error}"))
                })?)
            }
        };
        Ok((compiler, self.images))
    }
}
