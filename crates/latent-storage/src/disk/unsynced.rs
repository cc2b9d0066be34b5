//! A disk for storages that may be lost, such as those of benches.
//!
//! Invariant: everything but the syncs is what the operating system does.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Blocks, Disk, DiskLock, EntryKind, Presence, RealDisk};

/// [`RealDisk`] that waits for nothing to be durable, so that a hundred thousand changes take seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnsyncedDisk;

#[derive(Debug)]
struct UnsyncedBlocks(Arc<dyn Blocks>);

impl Disk for UnsyncedDisk {
    fn list(&self, directory: &Path) -> io::Result<Option<Vec<OsString>>> {
        RealDisk.list(directory)
    }

    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        RealDisk.kind(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        RealDisk.canonical(path)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        RealDisk.create_directory(directory)
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn write_file(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        std::fs::write(file, bytes)
    }

    fn read_file(&self, file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        RealDisk.read_file(file, bytes_max)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove_file(&self, file: &Path) -> io::Result<()> {
        RealDisk.remove_file(file)
    }

    fn remove_directory(&self, directory: &Path) -> io::Result<()> {
        RealDisk.remove_directory(directory)
    }

    fn open_blocks(&self, file: &Path, presence: Presence) -> io::Result<Arc<dyn Blocks>> {
        Ok(Arc::new(UnsyncedBlocks(RealDisk.open_blocks(file, presence)?)))
    }

    fn lock(&self, file: &Path) -> io::Result<Option<DiskLock>> {
        RealDisk.lock(file)
    }
}

impl Blocks for UnsyncedBlocks {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
