//! How components become code: which compiler, and whether images are kept.

use wasmtime::Engine;

use crate::compile::{Compiler, InProcessCompiler};
use crate::images::ImageStore;

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
}

impl Preparation {
    pub(crate) fn compiler(&self, engine: &Engine) -> Box<dyn Compiler> {
        match &self.compiler {
            CompilerChoice::InProcess => Box::new(InProcessCompiler::new(engine)),
        }
    }
}
