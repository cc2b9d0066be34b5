//! The disk of the operating system.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use super::{Blocks, Disk, DiskLock, Presence};

/// The disk of the operating system. Files and directories that it makes are for their owner alone: environments of
/// deployments may hold secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

#[derive(Debug)]
struct RealBlocks(File);

impl Disk for RealDisk {
    fn list(&self, directory: &Path) -> io::Result<Option<Vec<String>>> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<io::Result<_>>().map(Some)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn write_file(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(file)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn read_file(&self, file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = File::open(file)?;
        let expected = file.metadata()?.len();
        if expected > bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
        // One byte more than allowed, so that a file that grew meanwhile is noticed.
        file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, file: &Path) -> io::Result<()> {
        fs::remove_file(file)
    }

    fn open_blocks(&self, file: &Path, presence: Presence) -> io::Result<Arc<dyn Blocks>> {
        let create = presence == Presence::Created;
        let file =
            OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(FILE_MODE).open(file)?;
        Ok(Arc::new(RealBlocks(file)))
    }

    fn lock(&self, file: &Path) -> io::Result<Option<DiskLock>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(file)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Blocks for RealBlocks {
    fn len(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
