//! The disk of the operating system.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::{Blocks, Disk, DiskLock, EntryKind, NotAFile, Presence};

/// The disk of the operating system. Files and directories that it makes are for their owner alone: environments of
/// deployments may hold secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// A link is not followed, and a pipe whose other end nobody holds is not waited for.
const OPEN_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);

#[derive(Debug)]
struct RealBlocks(File);

impl Disk for RealDisk {
    fn list(&self, directory: &Path) -> io::Result<Option<Vec<OsString>>> {
        let Some(entries) = if_there(fs::read_dir(directory))? else { return Ok(None) };
        entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>().map(Some)
    }

    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        Ok(if_there(fs::symlink_metadata(path))?.map(|metadata| EntryKind::of(metadata.file_type())))
    }

    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        if_there(fs::canonicalize(path))
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
        let file = open_file(OpenOptions::new().read(true), file)?;
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
        fs::rename(from, to).map_err(tell_directory)
    }

    fn remove_file(&self, file: &Path) -> io::Result<()> {
        fs::remove_file(file).map_err(tell_directory)
    }

    fn remove_directory(&self, directory: &Path) -> io::Result<()> {
        fs::remove_dir(directory)
    }

    fn open_blocks(&self, file: &Path, presence: Presence) -> io::Result<Arc<dyn Blocks>> {
        let create = presence == Presence::Created;
        Ok(Arc::new(RealBlocks(open_file(read_and_write().create(create), file)?)))
    }

    fn lock(&self, file: &Path) -> io::Result<Option<DiskLock>> {
        let file = open_file(read_and_write().create(true), file)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn read_and_write() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).truncate(false).mode(FILE_MODE);
    options
}

/// Opens a regular file and nothing else.
fn open_file(options: &mut OpenOptions, file: &Path) -> io::Result<File> {
    let (opened, found) = match options.custom_flags(OPEN_FLAGS.bits().cast_signed()).open(file) {
        Ok(opened) => {
            let found = EntryKind::of(opened.metadata()?.file_type());
            (Ok(opened), found)
        }
        // Links, sockets and directories do not open at all, each with an error of its own.
        Err(error) => (Err(error), RealDisk.kind(file).ok().flatten().unwrap_or(EntryKind::File)),
    };
    if found == EntryKind::File { opened } else { Err(NotAFile { found }.into()) }
}

fn tell_directory(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::IsADirectory => NotAFile { found: EntryKind::Directory }.into(),
        _ => error,
    }
}

fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
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
