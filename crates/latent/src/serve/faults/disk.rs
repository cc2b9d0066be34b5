//! A disk that fails at a chosen write, over the one of the operating system.
//!
//! Invariant: what fails has no effect, but for a write of bytes, of which half may be there.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latent_storage::disk::{Blocks, Disk, DiskLock, EntryKind, Presence, UnsyncedDisk};

/// What fails, counted from the last [`FailingDisk::fail`] on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This write and all after it, until [`FailingDisk::mend`]: the disk is full.
    From(u64),
    /// This write alone.
    Once(u64),
}

/// The disk. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct FailingDisk(Arc<Mutex<Course>>);

#[derive(Debug, Default)]
struct Course {
    writes: u64,
    fault: Option<Fault>,
    failures: u64,
}

impl FailingDisk {
    /// Counts from here on, and fails as `fault` says.
    pub fn fail(&self, fault: Fault) {
        *self.course() = Course { writes: 0, fault: Some(fault), failures: 0 };
    }

    /// Works again.
    pub fn mend(&self) {
        self.course().fault = None;
    }

    /// How many writes failed since the last [`fail`](Self::fail).
    pub fn failures(&self) -> u64 {
        self.course().failures
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, done: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.write_or(done, || ())
    }

    /// Does the write, or what of it is done where it fails.
    fn write_or<T>(&self, done: impl FnOnce() -> io::Result<T>, partly: impl FnOnce()) -> io::Result<T> {
        let mut course = self.course();
        course.writes += 1;
        let kind = match course.fault {
            Some(Fault::From(from)) if course.writes >= from => io::ErrorKind::StorageFull,
            Some(Fault::Once(at)) if course.writes == at => io::ErrorKind::Other,
            _ => {
                drop(course);
                return done();
            }
        };
        course.failures += 1;
        drop(course);
        partly();
        Err(kind.into())
    }
}

impl Disk for FailingDisk {
    fn list(&self, directory: &Path) -> io::Result<Option<Vec<OsString>>> {
        UnsyncedDisk.list(directory)
    }

    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        UnsyncedDisk.kind(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        UnsyncedDisk.canonical(path)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        self.write(|| UnsyncedDisk.create_directory(directory))
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.write(|| UnsyncedDisk.sync_directory(directory))
    }

    fn write_file(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let partly = || drop(UnsyncedDisk.write_file(file, &bytes[..bytes.len() / 2]));
        self.write_or(|| UnsyncedDisk.write_file(file, bytes), partly)
    }

    fn read_file(&self, file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        UnsyncedDisk.read_file(file, bytes_max)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.write(|| UnsyncedDisk.rename(from, to))
    }

    fn remove_file(&self, file: &Path) -> io::Result<()> {
        self.write(|| UnsyncedDisk.remove_file(file))
    }

    fn remove_directory(&self, directory: &Path) -> io::Result<()> {
        self.write(|| UnsyncedDisk.remove_directory(directory))
    }

    fn open_blocks(&self, file: &Path, presence: Presence) -> io::Result<Arc<dyn Blocks>> {
        let blocks = UnsyncedDisk.open_blocks(file, presence)?;
        Ok(Arc::new(FailingBlocks { blocks, disk: self.clone() }))
    }

    fn lock(&self, file: &Path) -> io::Result<Option<DiskLock>> {
        UnsyncedDisk.lock(file)
    }
}

#[derive(Debug)]
struct FailingBlocks {
    blocks: Arc<dyn Blocks>,
    disk: FailingDisk,
}

impl Blocks for FailingBlocks {
    fn len(&self) -> io::Result<u64> {
        self.blocks.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.blocks.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let partly = || drop(self.blocks.write_at(offset, &bytes[..bytes.len() / 2]));
        self.disk.write_or(|| self.blocks.write_at(offset, bytes), partly)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.disk.write(|| self.blocks.set_len(bytes))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.write(|| self.blocks.sync())
    }
}
