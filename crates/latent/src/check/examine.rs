//! What can be said of one component, short of running it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use latent_core::{PlatformError, PlatformErrorCode, Sha256Digest};
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
    /// It was read, and this machine cannot tell at the moment.
    Unknown {
        /// What was read.
        read: Read,
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

    /// Examines the component at `path`. Dropping the future leaves what it reads behind on a thread of its own.
    pub async fn examine(&self, path: &Path) -> Examined {
        let (artifact, inspection) = match self.inspect(path.to_owned()).await {
            Ok(inspected) => inspected,
            Err(examined) => return *examined,
        };
        let read = Read::of(&artifact);
        match self.compile(path, artifact).await {
            Ok(compiled) => Examined::Taken { read, inspection, compiled },
            Err(error) if is_local(&error) => Examined::Unknown { read, error },
            Err(error) => Examined::Refused { read, inspection: Some(inspection), error },
        }
    }

    /// Reads and inspects on a thread that may block.
    async fn inspect(&self, path: PathBuf) -> Result<(ComponentArtifact, ComponentInspection), Box<Examined>> {
        let backend = self.backend.clone();
        let inspecting = move || {
            let artifact = input::component(&path, backend.settings().component_bytes_max);
            let artifact = artifact.map_err(|failure| Box::new(Examined::Unread(failure)))?;
            match backend.inspect(artifact.bytes()) {
                Ok(inspection) => Ok((artifact, inspection)),
                Err(error) => {
                    let read = Read::of(&artifact);
                    Err(Box::new(Examined::Refused { read, inspection: None, error }))
                }
            }
        };
        let inspected = tokio::task::spawn_blocking(inspecting).await;
        inspected.unwrap_or_else(|_panicked| Err(Box::new(Examined::Unread(Failure::local("reading it failed")))))
    }

    #[expect(clippy::disallowed_methods, reason = "the command measures how long compiling takes")]
    async fn compile(&self, path: &Path, artifact: ComponentArtifact) -> Result<Compiled, PlatformError> {
        let (before, started) = (self.backend.compilations(), Instant::now());
        let (kept, bytes) = (self.backend.has_image(artifact.digest()), artifact.bytes().len() as u64);
        let tenant = preparing::tenant();
        let work = self.backend.prepare(artifact, &tenant);
        let code = if kept { work.await? } else { progress::while_compiling(path, bytes, work).await? };
        let took = (self.backend.compilations() > before).then(|| started.elapsed());
        Ok(Compiled { image_bytes: code.code_bytes(), took })
    }
}

impl Read {
    fn of(artifact: &ComponentArtifact) -> Self {
        Self { digest: artifact.digest(), bytes: artifact.bytes().len() as u64 }
    }
}

/// Whether an error is about this machine at this moment, so that it says nothing about the component.
fn is_local(error: &PlatformError) -> bool {
    error.is_retryable() || error.code() == PlatformErrorCode::Internal
}

impl Examined {
    /// Whether a node would take it.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Taken { .. })
    }
}
