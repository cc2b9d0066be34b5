//! Prepared components: kept within bounds, compiled once for everyone who waits.
//!
//! Compilation runs on one thread of its own, so that it never holds a serving thread; callers wait for it and may
//! leave. With no entries allowed there is exactly one shared slot for the newest preparation
//! (`activation-containment.md`, "Ownership boundary").

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use foldhash::fast::RandomState;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::{ComponentArtifact, PreparationKey};
use tokio::sync::oneshot;
use wasmtime::Engine;

use crate::prepare::PreparedComponent;
use crate::settings::EngineSettings;

/// The name of the compiler's thread.
pub const COMPILER_THREAD: &str = "latent-compiler";

/// Stack of the compiler thread: the validator and the code generator recurse on their input.
const COMPILER_STACK_BYTES: usize = 64 << 20;

type Prepared = Result<Arc<PreparedComponent>, PlatformError>;

/// The cache and the compiler behind it. Dropping it waits for a compilation that is under way.
pub struct Preparer {
    table: Arc<Mutex<Table>>,
    jobs: Option<SyncSender<(PreparationKey, ComponentArtifact)>>,
    thread: Option<JoinHandle<()>>,
    waiting_max: usize,
}

struct Table {
    kept: HashMap<PreparationKey, Kept, RandomState>,
    kept_bytes: u64,
    entries_max: usize,
    bytes_max: u64,
    uses: u64,
    waiting: HashMap<PreparationKey, Vec<oneshot::Sender<Prepared>>>,
}

struct Kept {
    code: Arc<PreparedComponent>,
    used: u64,
}

/// Either the code, or a place to wait for it.
pub enum Lookup {
    /// It was kept.
    Kept(Arc<PreparedComponent>),
    /// It is being compiled.
    Compiling(oneshot::Receiver<Prepared>),
}

impl Preparer {
    /// Starts the compiler thread.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(engine: &Engine, settings: &EngineSettings) -> std::io::Result<Self> {
        let table = Arc::new(Mutex::new(Table {
            kept: HashMap::default(),
            kept_bytes: 0,
            entries_max: settings.prepared_entries_max as usize,
            bytes_max: settings.prepared_bytes_max,
            uses: 0,
            waiting: HashMap::new(),
        }));
        let waiting_max = settings.preparations_max as usize;
        let (jobs, queue) = sync_channel(waiting_max.max(1));
        let thread =
            std::thread::Builder::new().name(COMPILER_THREAD.to_owned()).stack_size(COMPILER_STACK_BYTES).spawn({
                let (table, engine, settings) = (table.clone(), engine.clone(), settings.clone());
                move || compile_all(&table, &engine, &settings, &queue)
            })?;
        Ok(Self { table, jobs: Some(jobs), thread: Some(thread), waiting_max })
    }

    /// Finds `artifact` under `key`, or joins or begins its compilation.
    ///
    /// # Errors
    /// `resource-exhausted` when too many preparations wait already.
    pub fn look_up(&self, key: PreparationKey, artifact: &ComponentArtifact) -> Result<Lookup, PlatformError> {
        let mut table = self.lock();
        if let Some(code) = table.touch(key) {
            return Ok(Lookup::Kept(code));
        }
        if table.waiters() >= self.waiting_max {
            return Err(queue_full(self.waiting_max));
        }
        let (answer, receiver) = oneshot::channel();
        if let Some(waiters) = table.waiting.get_mut(&key) {
            waiters.push(answer);
            return Ok(Lookup::Compiling(receiver));
        }
        let jobs = self.jobs.as_ref().expect("the queue is open as long as its owner lives");
        match jobs.try_send((key, artifact.clone())) {
            Ok(()) => {
                table.waiting.insert(key, vec![answer]);
                Ok(Lookup::Compiling(receiver))
            }
            Err(TrySendError::Full(_)) => Err(queue_full(self.waiting_max)),
            Err(TrySendError::Disconnected(_)) => Err(compiler_gone()),
        }
    }

    /// Entries and bytes that are kept.
    #[must_use]
    pub fn kept(&self) -> (u64, u64) {
        let table = self.lock();
        (table.kept.len() as u64, table.kept_bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Its panics are caught around each compilation; there is nothing to pass on.
            let _panic = thread.join();
        }
    }
}

impl Table {
    fn touch(&mut self, key: PreparationKey) -> Option<Arc<PreparedComponent>> {
        self.uses += 1;
        let kept = self.kept.get_mut(&key)?;
        kept.used = self.uses;
        Some(kept.code.clone())
    }

    /// How many wait. Those that left are forgotten here, which gives their places to others; what they asked for is
    /// compiled and kept all the same.
    fn waiters(&mut self) -> usize {
        let waiting = self.waiting.values_mut();
        waiting
            .map(|waiters| {
                waiters.retain(|waiter| !waiter.is_closed());
                waiters.len()
            })
            .sum()
    }

    /// Keeps `code`, then lets the least recently used go until the bounds hold. The newest always stays. What is let
    /// go is returned, to be dropped outside the lock; runs that pinned it keep it alive.
    fn keep(&mut self, key: PreparationKey, code: Arc<PreparedComponent>) -> Vec<Kept> {
        self.uses += 1;
        self.kept_bytes += code.code_bytes();
        let replaced = self.kept.insert(key, Kept { code, used: self.uses });
        let mut released: Vec<Kept> = replaced.into_iter().collect();
        self.kept_bytes -= released.iter().map(|kept| kept.code.code_bytes()).sum::<u64>();
        while self.kept.len() > 1 && (self.kept.len() > self.entries_max || self.kept_bytes > self.bytes_max) {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| *key);
            let Some(least) = oldest.and_then(|key| self.kept.remove(&key)) else { break };
            self.kept_bytes -= least.code.code_bytes();
            released.push(least);
        }
        released
    }
}

fn compile_all(
    table: &Mutex<Table>,
    engine: &Engine,
    settings: &EngineSettings,
    queue: &Receiver<(PreparationKey, ComponentArtifact)>,
) {
    while let Ok((key, artifact)) = queue.recv() {
        let compiled = catch_unwind(AssertUnwindSafe(|| PreparedComponent::new(engine, settings, &artifact)));
        let result = compiled.unwrap_or_else(|_panic| Err(compiler_panicked())).map(Arc::new);
        let (waiters, released) = {
            let mut table = lock(table);
            let released = result.as_ref().map_or_else(|_| Vec::new(), |code| table.keep(key, code.clone()));
            (table.waiting.remove(&key).unwrap_or_default(), released)
        };
        drop(released);
        for waiter in waiters {
            // A waiter that left does not want the answer.
            let _left = waiter.send(result.clone());
        }
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn queue_full(max: usize) -> PlatformError {
    PlatformError::new(PlatformErrorCode::ResourceExhausted, "too many components wait for the compiler")
        .retryable()
        .with_detail(ErrorDetail::new("compiler.queue-full").with("preparations_max", max))
}

/// The compiler thread is gone, which only the end of its owner brings about.
pub fn compiler_gone() -> PlatformError {
    PlatformError::new(PlatformErrorCode::Unavailable, "the compiler has stopped").retryable()
}

/// The bytes are at fault, or the compiler is: in either case the component cannot be had.
fn compiler_panicked() -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, "the compiler fails on this component")
        .with_detail(ErrorDetail::new("compiler.panic"))
}
