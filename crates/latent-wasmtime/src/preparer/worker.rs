//! The threads that prepare: from where the bytes are, through an image, to code that is ready.
//!
//! Invariant: a worker holds no lock while it reads, compiles or links, and lives through whatever a component does to
//! the compiler.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use latent_core::{PlatformError, PlatformErrorCode, TenantId};
use latent_executor::{ComponentArtifact, PreparationKey, PreparedCode as _};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::jobs::{Begun, JobId, Lane};
use super::{Desk, Prepared, Source};
use crate::compile::{CompileJob, Compiler, panicked};
use crate::images::{ImageStore, anonymous_image, load_image};
use crate::inspect::inspect_whole;
use crate::prepare::{PreparedComponent, compile_error};
use crate::settings::EngineSettings;

/// The name of the threads that compile.
pub const COMPILER_THREAD: &str = "latent-compiler";
const LOADER_THREAD: &str = "latent-loader";

/// Stack of a compiler: the validator and the code generator recurse on their input.
const COMPILER_STACK_BYTES: usize = 64 << 20;
const LOADER_STACK_BYTES: usize = 2 << 20;

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
    /// How often the compiler was asked.
    pub compilations: AtomicU64,
}

/// What looking for code came to.
enum Found {
    /// The code.
    Code(Arc<PreparedComponent>),
    /// None; it has to be compiled from this.
    Source(Source),
}

/// Starts one worker of `lane`.
pub fn start(desk: Arc<Desk>, lane: Lane) -> std::io::Result<JoinHandle<()>> {
    let (name, stack_bytes) = match lane {
        Lane::Load => (LOADER_THREAD, LOADER_STACK_BYTES),
        Lane::Compile => (COMPILER_THREAD, COMPILER_STACK_BYTES),
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes);
    thread.spawn(move || while desk.serve_one(lane) {})
}

impl Desk {
    /// Waits for a job of `lane` and does it. `false` once no more will come.
    fn serve_one(&self, lane: Lane) -> bool {
        let Some(Begun { id, source }) = self.next_job(lane) else { return false };
        let known = self.resident().touch(id.key);
        let work = || match lane {
            Lane::Load => self.workshop.load(id.key, source, known),
            Lane::Compile => self.workshop.compiled(id.key, source, known).map(Found::Code),
        };
        let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_panic| Err(panicked()));
        match done {
            Ok(Found::Code(code)) => self.answer(&id, &Ok(code)),
            Ok(Found::Source(source)) => self.lock().jobs.leave_to_compilers(&id, source),
            Err(error) => self.answer(&id, &Err(error)),
        }
        // There may be something for the compilers now, or a job that was passed over because this code was under way.
        self.more.notify_all();
        true
    }

    fn next_job(&self, lane: Lane) -> Option<Begun<Source>> {
        let mut table = self.lock();
        loop {
            if table.closed {
                return None;
            }
            if let Some(begun) = table.jobs.next(lane) {
                return Some(begun);
            }
            table = self.more.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Keeps what came of the job `id`, and tells those who wait.
    fn answer(&self, id: &JobId, prepared: &Prepared) {
        let mut table = self.lock();
        let waiters = table.jobs.finish(id).waiters;
        let released = match prepared {
            // An image may be on disk now, but what nobody waits for is not kept in memory.
            Ok(_) if waiters.is_empty() => Vec::new(),
            // Under the lock of the jobs, so that nobody finds neither the job nor the code.
            Ok(code) => self.resident().keep(id.key, code.clone(), code.code_bytes()),
            Err(error) => {
                table.refused.remember(id.key, error);
                Vec::new()
            }
        };
        drop(table);
        drop(released);
        for waiter in waiters {
            // A waiter that left does not want the answer.
            let _left = waiter.send(prepared.clone());
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

    /// Looks for code of `key` that needs no compiler: what is `known`, or what an image holds. Bytes that have to be
    /// verified are read first, and once.
    fn load(
        &self,
        key: PreparationKey,
        source: Source,
        known: Option<Arc<PreparedComponent>>,
    ) -> Result<Found, PlatformError> {
        let source = source.verified()?;
        let image = || self.images.as_ref().and_then(|images| images.load(&self.engine, key));
        if let Some(code) = known {
            return Ok(Found::Code(code));
        }
        image().map_or(Ok(Found::Source(source)), |component| self.link(&component).map(Found::Code))
    }

    /// Code of `key`, compiled unless somebody did so in the meantime.
    fn compiled(&self, key: PreparationKey, source: Source, known: Option<Arc<PreparedComponent>>) -> Prepared {
        let source = match self.load(key, source, known)? {
            Found::Code(code) => return Ok(code),
            Found::Source(source) => source,
        };
        let artifact = source.artifact()?;
        inspect_whole(&self.engine, artifact.bytes(), &self.settings)?;
        let component = self.compile(&artifact, key, source.tenant())?;
        self.link(&component)
    }

    fn link(&self, component: &Component) -> Prepared {
        PreparedComponent::new(&self.engine, &self.settings, component).map(Arc::new)
    }

    /// Compiles into an image, maps it, and keeps it on disk if that is wanted and possible.
    fn compile(
        &self,
        artifact: &ComponentArtifact,
        key: PreparationKey,
        tenant: Option<&TenantId>,
    ) -> Result<Component, PlatformError> {
        let staged = self.images.as_ref().and_then(|images| images.stage().ok());
        if let (Some(staged), Some(images)) = (staged, &self.images) {
            match self.compile_into(staged.file(), artifact, tenant) {
                Ok(component) => {
                    // The code is there already. An image that cannot be kept costs the next start a compilation.
                    let _not_kept = images.adopt(staged, key);
                    return Ok(component);
                }
                Err(error) if !error.has_detail("compiler.io") => return Err(error),
                Err(_no_room) => (),
            }
        }
        self.compile_in_memory(artifact, tenant)
    }

    /// Where the disk takes no image it is made in memory, and serves this process only.
    fn compile_in_memory(
        &self,
        artifact: &ComponentArtifact,
        tenant: Option<&TenantId>,
    ) -> Result<Component, PlatformError> {
        let image = anonymous_image().map_err(|error| {
            PlatformError::new(PlatformErrorCode::Unavailable, format_args!("there is no room for an image: {error}"))
                .retryable()
        })?;
        self.compile_into(&image, artifact, tenant)
    }

    fn compile_into(
        &self,
        image: &File,
        artifact: &ComponentArtifact,
        tenant: Option<&TenantId>,
    ) -> Result<Component, PlatformError> {
        self.compilations.fetch_add(1, Ordering::Relaxed);
        self.compiler.compile(CompileJob { artifact, tenant, image })?;
        load_image(&self.engine, image).map_err(|error| compile_error(&error, &self.settings))
    }
}
