//! The storage: one directory, its database, and what both hold, in memory.
//!
//! Invariant: what readers see was committed before they see it. Changes take turns at one lock, held across the
//! disk's work; readers never meet it. Changes to deployments that come meanwhile are then made together.

mod collect;
mod deploy;
mod documents;
mod publish;
mod question;
mod turns;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use latent_catalog::{ActivationCatalogSource, Catalog, CatalogLimits, CatalogView, Restored};
use latent_core::PlatformError;
use latent_executor::{ComponentInspector, Seal};

use crate::directory::Directory;
use crate::disk::{Disk, RealDisk};
use crate::index::Index;
use crate::limits::{StorageLimits, StorageOptions};
use crate::records::Contents;
use crate::refusal::Refusal;
use crate::writer::Writer;
use deploy::{Change, Done};
use turns::Turns;

pub use collect::Collected;
pub use documents::{DOCUMENT_NAME_BYTES_MAX, DocumentEdit};
pub use publish::Published;
pub use question::{ReleasePage, StorageInventory, Usage};

/// Releases, deployments and documents in a directory that nobody else uses while this value lives. Methods block on the disk
/// unless they say otherwise, and may be called by many threads at once.
pub struct Storage {
    pub(crate) directory: Arc<Directory>,
    pub(crate) limits: StorageLimits,
    pub(crate) seal: Seal,
    inspector: Arc<dyn ComponentInspector>,
    catalog: Arc<Catalog>,
    index: RwLock<Index>,
    writer: Mutex<Writer>,
    /// Changes to deployments on their way to the writer.
    turns: Turns<Change, Result<Done, PlatformError>>,
    /// Shared by backups, and held alone by whoever removes component files.
    copying: RwLock<()>,
}

impl Storage {
    /// Opens the storage in `directory`, making one if the directory is empty or not there.
    ///
    /// # Errors
    /// `unavailable` when another process has it open, or the disk fails; `invalid-argument` for a directory with other
    /// files, and for a new one within a storage; `incompatible-contract` for another format; `corrupt-artifact` when
    /// something that was written is not what it was, or a name belongs to something that is no file. Each
    /// names the directory or file, and what to do.
    pub fn open(directory: impl AsRef<Path>, options: StorageOptions) -> Result<Self, PlatformError> {
        Self::open_on(Arc::new(RealDisk), directory, options)
    }

    /// [`open`](Self::open), on another disk than that of the operating system.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(
        disk: Arc<dyn Disk>,
        directory: impl AsRef<Path>,
        options: StorageOptions,
    ) -> Result<Self, PlatformError> {
        let StorageOptions { limits, catalog, inspector } = options;
        let directory = Arc::new(Directory::open(disk, directory.as_ref())?);
        let (writer, contents) = Writer::open(directory.clone(), limits.database_cache_bytes)?;
        let (index, view) = assemble(contents, catalog, &directory)?;
        Ok(Self {
            directory,
            limits,
            seal: Seal::new(),
            inspector,
            catalog: Arc::new(Catalog::new(view)),
            index: RwLock::new(index),
            writer: Mutex::new(writer),
            turns: Turns::default(),
            copying: RwLock::default(),
        })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.root()
    }

    /// Where activations find routes and policies.
    #[must_use]
    pub fn catalog(&self) -> Arc<dyn ActivationCatalogSource> {
        self.catalog.clone()
    }

    /// The catalog as it is now. Does not block.
    #[must_use]
    pub fn view(&self) -> Arc<CatalogView> {
        self.catalog.view()
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps component files from being removed.
    pub(crate) fn copying(&self) -> RwLockReadGuard<'_, ()> {
        self.copying.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").field("path", &self.path()).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What was written down, as it is kept in memory.
pub(crate) fn assemble(
    contents: Contents,
    limits: CatalogLimits,
    directory: &Directory,
) -> Result<(Index, CatalogView), PlatformError> {
    let mut index = Index::default();
    for (tenant, bytes) in contents.quotas {
        index.set_quota(&tenant, Some(bytes));
    }
    for (tenant, record, record_bytes) in contents.releases {
        index.insert(&tenant, Arc::new(record), record_bytes);
    }
    for document in contents.documents {
        index.documents.set(&document.kind, &document.key, Some(document.value));
    }
    let mut restored = Vec::with_capacity(contents.deployments.len());
    for record in contents.deployments {
        let manifest = record.manifest;
        let Some(release) = index.refer(&manifest.tenant, &manifest.release) else {
            let what = format_args!("deployment {} runs a release that is not in it", manifest.deployment);
            return Err(Refusal::damaged(&directory.database_file(), what).into());
        };
        restored.push(Restored { manifest, release, generation: record.generation });
    }
    let view = CatalogView::restore(contents.summary.generation, restored, limits)?;
    Ok((index, view))
}
