//! Preparation: code that is kept, or compiled once for everyone who waits.
//!
//! Callers never compile and never touch the disk: that is what a fixed number of worker threads are for, one that loads
//! and some that compile. Invariant: a
//! job that runs keeps what it holds until it ends, whoever left meanwhile; what nobody waits for any more is not kept
//! in memory (`activation-lifecycle.md`, "Preparation and capability binding").

mod jobs;
mod refused;
mod resident;
mod worker;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use latent_core::{PlatformError, PlatformErrorCode, Sha256Digest, TenantId};
use latent_executor::{ComponentArtifact, OwnedRepository, PreparationKey};
use tokio::sync::oneshot;

use crate::prepare::PreparedComponent;
use crate::settings::EngineSettings;
use jobs::{JobBounds, JobId, Jobs, Lane, Waiter};
use refused::Refused;
use resident::{Resident, ResidentBounds};
pub use worker::{COMPILER_THREAD, Workshop};

type Prepared = Result<Arc<PreparedComponent>, PlatformError>;

/// Background preparations that may be queued. Choosing the next job looks at all that are queued.
const BACKGROUND_MAX: usize = 1_024;

/// Where a preparation's bytes come from.
#[derive(Clone)]
pub enum Source {
    /// The caller has them.
    Bytes {
        /// The component.
        artifact: ComponentArtifact,
        /// For whom it is compiled, if that is known.
        tenant: Option<TenantId>,
    },
    /// They are fetched when they are needed.
    Repository {
        /// From where.
        repository: OwnedRepository,
        /// The component.
        digest: Sha256Digest,
        /// Whether they are fetched and verified even if the code is at hand.
        verified: bool,
    },
}

/// The preparations of one backend. Dropping it interrupts the compiler and joins the workers.
pub struct Preparer {
    desk: Arc<Desk>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

/// What callers and workers share.
struct Desk {
    /// Met by every call, so that nothing is done under it but looking up. Taken last.
    resident: Mutex<Resident<Arc<PreparedComponent>>>,
    table: Mutex<Table>,
    /// Told when there may be a job for some lane, or no more will come.
    more: Condvar,
    workshop: Workshop,
}

/// What is met only by calls that find no code, and by workers.
struct Table {
    refused: Refused,
    jobs: Jobs<Source, oneshot::Sender<Prepared>>,
    closed: bool,
}

/// Either the code, or a place to wait for it. Dropping the receiver gives the place up.
pub enum Lookup {
    /// It was kept.
    Kept(Arc<PreparedComponent>),
    /// It is being prepared.
    Preparing(oneshot::Receiver<Prepared>),
}

impl Preparer {
    /// Starts the workers.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(workshop: Workshop, settings: &EngineSettings) -> std::io::Result<Self> {
        let bounds = ResidentBounds {
            entries_max: settings.prepared_entries_max as usize,
            bytes_max: settings.prepared_bytes_max,
            mappings_max: settings.prepared_mappings_max as usize,
        };
        let compilers = settings.compilers.max(1);
        let jobs = JobBounds {
            waiters_max: settings.preparations_max as usize,
            waiters_per_tenant_max: settings.preparations_per_tenant_max as usize,
            background_max: BACKGROUND_MAX,
            // All but one, so that no tenant keeps the others from compiling.
            compilations_per_tenant_max: (compilers as usize).saturating_sub(1).max(1),
        };
        let table = Table { refused: Refused::default(), jobs: Jobs::new(jobs), closed: false };
        let desk = Desk {
            resident: Mutex::new(Resident::new(bounds)),
            table: Mutex::new(table),
            more: Condvar::new(),
            workshop,
        };
        let desk = Arc::new(desk);
        // From here on, so that those which were started end if another cannot be.
        let mut preparer = Self { desk: desk.clone(), workers: Mutex::default() };
        let workers = preparer.workers.get_mut().unwrap_or_else(PoisonError::into_inner);
        workers.push(worker::start(desk.clone(), Lane::Load)?);
        for _ in 0..compilers {
            workers.push(worker::start(desk.clone(), Lane::Compile)?);
        }
        Ok(preparer)
    }

    /// Ends it: what runs is interrupted, what waits is given up, and the workers are joined, which blocks. Who asks
    /// afterwards is told that the compiler has stopped. Whoever gives this preparer sources that keep its own owner has to
    /// end it so, because neither would end by itself while something is prepared.
    pub fn close(&self) {
        self.give_up();
        self.desk.more.notify_all();
        self.desk.workshop.interrupt();
        let workers = std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        // A worker that lets go of the last source may be the last owner, and cannot wait for itself.
        let this = std::thread::current().id();
        for worker in workers.into_iter().filter(|worker| worker.thread().id() != this) {
            // Its panics are caught around each preparation; there is nothing to pass on.
            let _panic = worker.join();
        }
        // What the loader left to the compilers meanwhile.
        self.give_up();
    }

    fn give_up(&self) {
        let mut table = self.desk.lock();
        table.closed = true;
        let given_up = table.jobs.give_up();
        drop(table);
        drop(given_up);
    }

    /// Finds the code of `key`, or joins or begins its preparation from `source`.
    ///
    /// # Errors
    /// `resource-exhausted` when too many wait already; what the last attempt came to, if the component itself is at fault.
    pub fn look_up(&self, key: PreparationKey, source: impl FnOnce() -> Source) -> Result<Lookup, PlatformError> {
        if let Some(code) = self.desk.resident().touch(key) {
            return Ok(Lookup::Kept(code));
        }
        // Whatever is kept from here on is found by the worker that takes the job.
        let table = self.desk.lock();
        if let Some(error) = table.refused.get(key) {
            return Err(error.clone());
        }
        self.wait(table, key, source())
    }

    /// Waits for the code of `key` from a repository that vouches for nothing: its bytes are fetched and verified whether
    /// or not the code is kept.
    ///
    /// # Errors
    /// `resource-exhausted` when too many wait already.
    pub fn verify(&self, key: PreparationKey, source: Source) -> Result<Lookup, PlatformError> {
        self.wait(self.desk.lock(), key, source)
    }

    /// Prepares an image of `key` when nothing else is to do. Only with images on disk is there anything to gain; without,
    /// and when too many are queued already, the answer is `false`.
    pub fn in_background(&self, key: PreparationKey, source: Source) -> bool {
        if !self.desk.workshop.keeps_images() {
            return false;
        }
        let mut table = self.desk.lock();
        if table.closed {
            return false;
        }
        let queued = table.jobs.in_background(source.job(key), Lane::Load, || source);
        drop(table);
        self.desk.more.notify_all();
        queued
    }

    /// Entries and bytes that are kept.
    #[must_use]
    pub fn kept(&self) -> (u64, u64) {
        self.desk.resident().usage()
    }

    /// How often a compiler was asked.
    #[must_use]
    pub fn compilations(&self) -> u64 {
        self.desk.workshop.compilations.load(Ordering::Relaxed)
    }

    /// Preparations that are queued or under way.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        self.desk.lock().jobs.len() as u64
    }

    /// The images that the workers use.
    #[must_use]
    pub fn workshop(&self) -> &Workshop {
        &self.desk.workshop
    }

    fn wait(
        &self,
        mut table: MutexGuard<'_, Table>,
        key: PreparationKey,
        source: Source,
    ) -> Result<Lookup, PlatformError> {
        if table.closed {
            return Err(compiler_gone());
        }
        let (answer, receiver) = oneshot::channel();
        let loadable = self.desk.workshop.keeps_images() || source.is_verified();
        let lane = if loadable { Lane::Load } else { Lane::Compile };
        table.jobs.wait(source.job(key), lane, || source, answer)?;
        drop(table);
        self.desk.more.notify_all();
        Ok(Lookup::Preparing(receiver))
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Source {
    fn job(&self, key: PreparationKey) -> JobId {
        match self {
            Self::Bytes { tenant, .. } => JobId { key, tenant: tenant.clone(), verified: false },
            Self::Repository { repository, verified, .. } => {
                JobId { key, tenant: Some(repository.tenant().clone()), verified: *verified }
            }
        }
    }

    fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Bytes { tenant, .. } => tenant.as_ref(),
            Self::Repository { repository, .. } => Some(repository.tenant()),
        }
    }

    fn is_verified(&self) -> bool {
        matches!(self, Self::Repository { verified: true, .. })
    }

    /// The same source, with its bytes in hand if they have to be verified whatever comes. Blocks on the disk then.
    fn verified(self) -> Result<Self, PlatformError> {
        if !self.is_verified() {
            return Ok(self);
        }
        Ok(Self::Bytes { artifact: self.artifact()?, tenant: self.tenant().cloned() })
    }

    /// The bytes. Blocks on the disk where they are fetched.
    fn artifact(&self) -> Result<ComponentArtifact, PlatformError> {
        match self {
            Self::Bytes { artifact, .. } => Ok(artifact.clone()),
            Self::Repository { repository, digest, .. } => repository.fetch(*digest),
        }
    }
}

impl Waiter for oneshot::Sender<Prepared> {
    fn is_gone(&self) -> bool {
        self.is_closed()
    }
}

impl Desk {
    fn resident(&self) -> MutexGuard<'_, Resident<Arc<PreparedComponent>>> {
        self.resident.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The workers are gone, which only the end of their owner brings about.
pub fn compiler_gone() -> PlatformError {
    PlatformError::new(PlatformErrorCode::Unavailable, "the compiler has stopped").retryable()
}
