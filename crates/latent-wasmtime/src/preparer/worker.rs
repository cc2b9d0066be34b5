//! The threads that prepare: from where the bytes are, through an image, to code that is ready.
//!
//! Invariant: a worker holds no lock while it reads, compiles or links, and lives through whatever a component does to
//! the compiler.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, TenantId};
use latent_executor::{ComponentArtifact, PreparationKey, PreparedCode as _};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::jobs::Begun;
use super::{Desk, Prepared, Source};
use crate::compile::{CompileJob, Compiler};

use crate::images::{ImageStore, Staged, anonymous_image, load_image};
use crate::inspect::inspect_whole;
use crate::prepare::{PreparedComponent, compile_error};
use crate::settings::EngineSettings;

/// The name of the workers' threads.
pub const COMPILER_THREAD: &str = "latent-compiler";

/// Stack of a worker: the validator and the code generator recurse on their input.
const WORKER_STACK_BYTES: usize = 64 << 20;

/// What a worker needs.
pub struct Workshop {
    /// The engine that the code is for.
    pub engine: Engine,
    /// The limits of that engine.
    pub settings: EngineSettings,
    /// Turns bytes into an image.
    pub compiler: Box<dyn Compiler>,
    /// Where images are kept, if they are.
    pub images: Option<ImageStore>,
}

/// Where an image is being made.
enum Canvas {
    /// In the store, to be kept there.
    Kept(Staged),
    /// In memory only.
    Passing(File),
}

/// Starts one worker.
pub fn start(desk: Arc<Desk>) -> std::io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(COMPILER_THREAD.to_owned()).stack_size(WORKER_STACK_BYTES);
    thread.spawn(move || while desk.serve_one() {})
}

impl Desk {
    /// Waits for a job and does it. `false` once no more will come.
    fn serve_one(&self) -> bool {
        let Some(Begun { id, source }) = self.next_job() else { return false };
        let known = self.lock().resident.touch(id.key);
        let prepared = catch_unwind(AssertUnwindSafe(|| self.workshop.serve(id.key, &source, known)));
        let prepared = prepared.unwrap_or_else(|_panic| Err(worker_panicked()));
        let mut table = self.lock();
        let waiters = table.jobs.finish(&id).waiters;
        let released = match &prepared {
            // An image may be on disk now, but what nobody waits for is not kept in memory.
            Ok(_) if waiters.is_empty() => Vec::new(),
            Ok(code) => table.resident.keep(id.key, code.clone(), code.code_bytes()),
            Err(error) => {
                table.refused.remember(id.key, error);
                Vec::new()
            }
        };
        drop(table);
        drop(released);
        // Another worker may have passed over a job because this code was under way.
        self.more.notify_all();
        for waiter in waiters {
            // A waiter that left does not want the answer.
            let _left = waiter.send(prepared.clone());
        }
        true
    }

    fn next_job(&self) -> Option<Begun<Source>> {
        let mut table = self.lock();
        loop {
            if table.closed {
                return None;
            }
            if let Some(begun) = table.jobs.next() {
                return Some(begun);
            }
            table = self.more.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Workshop {
    /// Whether images are kept on disk.
    pub fn keeps_images(&self) -> bool {
        self.images.is_some()
    }

    /// Makes compilations that are under way end soon, where that is possible.
    pub fn interrupt(&self) {
        self.compiler.interrupt();
    }

    /// Prepares `key`: from what is `known`, from an image on disk, or from the bytes.
    fn serve(&self, key: PreparationKey, source: &Source, known: Option<Arc<PreparedComponent>>) -> Prepared {
        let verified = if source.is_verified() { Some(source.artifact()?) } else { None };
        if let Some(code) = known {
            return Ok(code);
        }
        if let Some(component) = self.images.as_ref().and_then(|images| images.load(&self.engine, key)) {
            return self.link(&component, key);
        }
        let artifact = verified.map_or_else(|| source.artifact(), Ok)?;
        inspect_whole(&self.engine, artifact.bytes(), &self.settings)?;
        let component = self.compile(&artifact, key, source.tenant())?;
        self.link(&component, key)
    }

    fn link(&self, component: &Component, key: PreparationKey) -> Prepared {
        PreparedComponent::new(&self.engine, &self.settings, component, key.digest()).map(Arc::new)
    }

    /// Compiles into an image, maps it, and keeps it on disk if that is wanted and possible.
    fn compile(
        &self,
        artifact: &ComponentArtifact,
        key: PreparationKey,
        tenant: Option<&TenantId>,
    ) -> Result<Component, PlatformError> {
        let canvas = self.canvas()?;
        self.compiler.compile(CompileJob { artifact, tenant, image: canvas.file() })?;
        let component =
            load_image(&self.engine, canvas.file()).map_err(|error| compile_error(&error, &self.settings))?;
        if let (Canvas::Kept(staged), Some(images)) = (canvas, &self.images) {
            // The code is there already. An image that cannot be kept costs the next start a compilation.
            let _not_kept = images.adopt(staged, key);
        }
        Ok(component)
    }

    /// On a full or read-only disk images are made in memory, and serve this process only.
    fn canvas(&self) -> Result<Canvas, PlatformError> {
        if let Some(Ok(staged)) = self.images.as_ref().map(ImageStore::stage) {
            return Ok(Canvas::Kept(staged));
        }
        anonymous_image().map(Canvas::Passing).map_err(|error| {
            PlatformError::new(PlatformErrorCode::Unavailable, format_args!("there is no room for an image: {error}"))
                .retryable()
        })
    }
}

impl Canvas {
    fn file(&self) -> &File {
        match self {
            Self::Kept(staged) => staged.file(),
            Self::Passing(file) => file,
        }
    }
}

/// The bytes are at fault, or the engine is: in either case the component cannot be had.
fn worker_panicked() -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, "the compiler fails on this component")
        .with_detail(ErrorDetail::new("compiler.panic"))
}
