//! What can be said of one component, short of running it.

use std::path::Path;
use std::time::{Duration, Instant};

use latent_core::{PlatformError, Sha256Digest};
use latent_executor::{ComponentArtifact, ComponentInspection, ComponentInspector as _};
use latent_wasmtime::WasmtimeBackend;

use crate::ending::Failure;
use crate::{input, preparing, progress};

/// Examines components with one backend.
pub struct Examiner {
    backend: WasmtimeBackend,
}

/// What came of examining one file.
pub enum Examined {
    /// It cannot be read, or its text is no component.
    Unread(Failure),
    /// It was read, and a node would not take it.
    Refused {
        /// What was read.
        read: Read,
        /// What it says of itself, if it came that far.
        inspection: Option<ComponentInspection>,
        /// Why not.
        error: PlatformError,
    },
    /// A node would take it.
    Taken {
        /// What was read.
        read: Read,
        /// What it says of itself.
        inspection: ComponentInspection,
        /// What it is compiled to.
        compiled: Compiled,
    },
}

/// A file that was read.
#[derive(Debug, Clone, Copy)]
pub struct Read {
    /// The component's digest.
    pub digest: Sha256Digest,
    /// Its bytes.
    pub bytes: u64,
}

/// A component's image.
#[derive(Debug, Clone, Copy)]
pub struct Compiled {
    /// Bytes of the image, which are mapped while the component is in use.
    pub image_bytes: u64,
    /// How long compiling took; nothing when the image was there already.
    pub took: Option<Duration>,
}

impl Examiner {
    /// An examiner that asks `backend`, which has prepared nothing yet.
    pub fn new(backend: WasmtimeBackend) -> Self {
        Self { backend }
    }

    /// Examines the component at `path`.
    pub async fn examine(&self, path: &Path) -> Examined {
        let artifact = match input::component(path, self.backend.settings().component_bytes_max) {
            Ok(artifact) => artifact,
            Err(failure) => return Examined::Unread(failure),
        };
        let read = Read { digest: artifact.digest(), bytes: artifact.bytes().len() as u64 };
        let inspection = match self.backend.inspect(artifact.bytes()) {
            Ok(inspection) => inspection,
            Err(error) => return Examined::Refused { read, inspection: None, error },
        };
        match self.compile(path, artifact).await {
            Ok(compiled) => Examined::Taken { read, inspection, compiled },
            Err(error) => Examined::Refused { read, inspection: Some(inspection), error },
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the command measures how long compiling takes")]
    async fn compile(&self, path: &Path, artifact: ComponentArtifact) -> Result<Compiled, PlatformError> {
        let kept = self.backend.has_image(artifact.digest());
        let started = Instant::now();
        let bytes = artifact.bytes().len() as u64;
        let tenant = preparing::tenant();
        let work = self.backend.prepare(artifact, &tenant);
        let code = if kept {
            work.await?
        } else {
            progress::while_compiling(&path.display().to_string(), bytes, work).await?
        };
        let took = (!kept).then(|| started.elapsed());
        Ok(Compiled { image_bytes: code.code_bytes(), took })
    }
}

impl Examined {
    /// Whether a node would take it.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Taken { .. })
    }
}
