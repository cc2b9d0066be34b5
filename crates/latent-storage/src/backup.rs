//! Copies of a storage: made while it is in use, verified, and put back.
//!
//! Invariant: a copy is recognised as a storage only once it is complete, because its format file is written last.
//! Nothing is copied that was not verified.

use std::path::Path;
use std::sync::Arc;

use latent_catalog::CatalogLimits;
use latent_core::PlatformError;
use redb::ReadTransaction;

use crate::directory::Directory;
use crate::disk::{Disk, RealDisk};
use crate::limits::StorageLimits;
use crate::records::{Contents, Edit, Failure, Overlay, Records, Summary};
use crate::refusal::Refusal;
use crate::repository::verified;
use crate::storage::{Storage, assemble};
use crate::writer::{Latest, refusal};

/// Records that are written in one transaction.
const BATCH_RECORDS: usize = 8192;

/// What was found whole, or copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The generation of the catalog.
    pub generation: u64,
    /// Releases, each counted for each tenant that has it.
    pub releases: u64,
    /// Deployments.
    pub deployments: usize,
    /// Component files.
    pub components: u64,
    /// Their bytes.
    pub component_bytes: u64,
}

impl Storage {
    /// Copies the storage, as it is at one moment, into `target`, which is empty or not there. Changes go on meanwhile.
    /// Components are copied rather than linked, so that damage to the one does not harm the other.
    ///
    /// # Errors
    /// `invalid-argument` when `target` has something in it or lies within a storage, this one or another;
    /// `corrupt-artifact` naming a component that is damaged; `resource-exhausted` or `unavailable` when the
    /// disk fails. `target` is as it was before then; what cannot be removed is no storage.
    pub fn backup(&self, target: impl AsRef<Path>) -> Result<Verified, PlatformError> {
        let target = Directory::begin(self.directory.disk(), target.as_ref())?;
        let _kept = self.copying();
        let snapshot = self.writer().snapshot()?;
        copy(&snapshot, &self.directory, target, &self.limits)
    }
}

/// Verifies every record and every component of a storage that nobody has open, and changes nothing in it.
///
/// # Errors
/// As [`Storage::open`], and `corrupt-artifact` naming the first component that is missing or damaged.
pub fn verify(directory: impl AsRef<Path>, limits: &StorageLimits) -> Result<Verified, PlatformError> {
    verify_on(Arc::new(RealDisk), directory, limits)
}

/// [`verify`], on another disk than that of the operating system.
///
/// # Errors
/// As [`verify`].
pub fn verify_on(
    disk: Arc<dyn Disk>,
    directory: impl AsRef<Path>,
    limits: &StorageLimits,
) -> Result<Verified, PlatformError> {
    let directory = Directory::look(disk, directory.as_ref())?;
    let snapshot = look(&directory, limits)?;
    let contents = Contents::read(&snapshot.1).map_err(refusal(&directory.database_file()))?;
    check(contents, &directory, |_, _| Ok(()))
}

/// Copies a storage that nobody has open, such as a backup, into `target`, which is empty or not there, verifying all
/// of it.
///
/// # Errors
/// As [`verify`] and [`Storage::backup`].
pub fn restore(
    from: impl AsRef<Path>,
    target: impl AsRef<Path>,
    limits: &StorageLimits,
) -> Result<Verified, PlatformError> {
    restore_on(Arc::new(RealDisk), from, target, limits)
}

/// [`restore`], on another disk than that of the operating system.
///
/// # Errors
/// As [`restore`].
pub fn restore_on(
    disk: Arc<dyn Disk>,
    from: impl AsRef<Path>,
    target: impl AsRef<Path>,
    limits: &StorageLimits,
) -> Result<Verified, PlatformError> {
    let from = Directory::look(disk.clone(), from.as_ref())?;
    let snapshot = look(&from, limits)?;
    let target = Directory::begin(disk, target.as_ref())?;
    copy(&snapshot.1, &from, target, limits)
}

/// The database of a directory, read through a layer that keeps its file as it is.
fn look(directory: &Directory, limits: &StorageLimits) -> Result<(Records, ReadTransaction), PlatformError> {
    let file = directory.database_file();
    let blocks = directory.database()?.ok_or_else(|| Refusal::damaged(&file, "it is missing"))?;
    let layer = Overlay::new(blocks).map_err(Refusal::io("read", &file))?;
    let records = Records::look(layer, limits.database_cache_bytes).map_err(refusal(&file))?;
    let snapshot = records.snapshot().map_err(refusal(&file))?;
    Latest::of(directory)?.check(&records.summary().map_err(refusal(&file))?, &file)?;
    Ok((records, snapshot))
}

/// Copies into `target`, of which nothing is left when that fails.
fn copy(
    snapshot: &ReadTransaction,
    from: &Directory,
    target: Directory,
    limits: &StorageLimits,
) -> Result<Verified, PlatformError> {
    let copied = fill(snapshot, from, &target, limits);
    if copied.is_err() {
        target.abandon();
    }
    copied
}

fn fill(
    snapshot: &ReadTransaction,
    from: &Directory,
    target: &Directory,
    limits: &StorageLimits,
) -> Result<Verified, PlatformError> {
    let contents = Contents::read(snapshot).map_err(refusal(&from.database_file()))?;
    let (staged, blocks) = target.stage_database()?;
    copy_records(snapshot, Records::open(blocks, limits.database_cache_bytes), &contents.summary)
        .map_err(refusal(&target.database_file()))?;
    target.place_database(staged)?;
    let copied = check(contents, from, |digest, bytes| {
        let staged = target.stage(bytes)?;
        target.name(staged, &digest)
    })?;
    target.complete()?;
    Ok(copied)
}

/// Writes all records of `snapshot`, whose summary is `wanted`, into a new database.
fn copy_records(snapshot: &ReadTransaction, new: Result<Records, Failure>, wanted: &Summary) -> Result<(), Failure> {
    let new = new?;
    new.initialise()?;
    let (mut summary, mut batch) = (new.summary()?, Vec::new());
    let mut failed = None;
    crate::records::visit(snapshot, |table, key, value| {
        batch.push(Edit { table, key: key.to_vec(), value: Some(value.to_vec()) });
        if batch.len() >= BATCH_RECORDS && failed.is_none() {
            match new.write(std::mem::take(&mut batch), &summary, wanted.generation) {
                Ok(after) => summary = after,
                Err(failure) => failed = Some(failure.into_failure()),
            }
        }
        Ok(())
    })?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    summary = new.write(batch, &summary, wanted.generation).map_err(crate::records::WriteFailure::into_failure)?;
    if summary.has_same_records(wanted) {
        return Ok(());
    }
    Err(Failure::Damaged("its copy has other records".to_owned()))
}

/// Checks that records go together and that every component is there, and shows each component to `each`.
fn check(
    contents: Contents,
    directory: &Directory,
    mut each: impl FnMut(latent_core::Sha256Digest, &[u8]) -> Result<(), Refusal>,
) -> Result<Verified, PlatformError> {
    let (index, view) = assemble(contents, CatalogLimits::default(), directory)?;
    for (digest, bytes) in index.components() {
        each(digest, verified(directory, digest, bytes)?.bytes())?;
    }
    let counts = index.counts();
    Ok(Verified {
        generation: latent_catalog::ActivationCatalog::generation(&view),
        releases: counts.releases,
        deployments: view.len(),
        components: counts.components,
        component_bytes: counts.component_bytes,
    })
}
