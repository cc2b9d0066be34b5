//! The port to the disk: every effect on files that this crate has, one method each.
//!
//! Invariant: nothing here decides anything. What order makes a change durable is decided by the callers; a test puts
//! a disk in its place that fails or stops at any one of these steps.

mod kind;
mod real;
mod unsynced;

use std::any::Any;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use kind::{EntryKind, NotAFile};
pub use real::RealDisk;
pub use unsynced::UnsyncedDisk;

/// Held for as long as a file is locked; dropping it unlocks.
pub type DiskLock = Box<dyn Any + Send + Sync>;

/// Files and directories. Methods block. Errors are those of the operating system, or a [`NotAFile`] within one when
/// something else has the name of a file. A file that is a symbolic link is not followed, and opening one waits for
/// nobody.
pub trait Disk: fmt::Debug + Send + Sync {
    /// The names in a directory, in no order; `None` when there is no such directory.
    ///
    /// # Errors
    /// When the directory cannot be read.
    fn list(&self, directory: &Path) -> io::Result<Option<Vec<OsString>>>;

    /// What has this name, not following it if it is a symbolic link; `None` when nothing has.
    ///
    /// # Errors
    /// When it cannot be told.
    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>>;

    /// The same place without symbolic links and dots, from the root on; `None` when there is nothing.
    ///
    /// # Errors
    /// When it cannot be told.
    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>>;

    /// Makes a directory and those above it. One that is there already is fine.
    ///
    /// # Errors
    /// When it cannot be made.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes entries that were made in, renamed into or removed from a directory durable.
    ///
    /// # Errors
    /// When they may not be durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes a file that is not there yet, writes `bytes` and makes them durable, but not the file's name.
    ///
    /// # Errors
    /// When any of it fails; a part of the file may be there then.
    fn write_file(&self, file: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Reads a file whole.
    ///
    /// # Errors
    /// When it cannot be read; `FileTooLarge` when it has more than `bytes_max`.
    fn read_file(&self, file: &Path, bytes_max: u64) -> io::Result<Vec<u8>>;

    /// Gives a file another name in the same file system, in the place of whatever has that name. Atomic.
    ///
    /// # Errors
    /// When it keeps its name; `NotAFile` when a directory has the other one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file, or anything else that is no directory. What a symbolic link leads to stays.
    ///
    /// # Errors
    /// When it is still there, or was not there; `NotAFile` when it is a directory.
    fn remove_file(&self, file: &Path) -> io::Result<()>;

    /// Removes a directory that has nothing in it.
    ///
    /// # Errors
    /// When it is still there, or was not there.
    fn remove_directory(&self, directory: &Path) -> io::Result<()>;

    /// Opens a file to be read and written in place.
    ///
    /// # Errors
    /// When it cannot be opened, or is not there and not to be made.
    fn open_blocks(&self, file: &Path, presence: Presence) -> io::Result<Arc<dyn Blocks>>;

    /// Locks a file, making it if it is not there, without waiting; `None` when somebody else has it locked, in this
    /// process or in another.
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    fn lock(&self, file: &Path) -> io::Result<Option<DiskLock>>;
}

/// Whether a file to be opened has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is an error if it is not.
    Required,
    /// It is made if it is not.
    Created,
}

/// A file that is read and written in place.
pub trait Blocks: fmt::Debug + Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// When it cannot be told.
    fn len(&self) -> io::Result<u64>;

    /// Whether it has no bytes.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|bytes| bytes == 0)
    }

    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` beyond its end, and when it cannot be read.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` from `offset` on, not durably yet.
    ///
    /// # Errors
    /// When not all of it was written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts or extends it with zeros, not durably yet.
    ///
    /// # Errors
    /// When its length is what it was.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes what was written durable.
    ///
    /// # Errors
    /// When it may not be durable.
    fn sync(&self) -> io::Result<()>;
}
