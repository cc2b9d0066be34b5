//! What can have a name in a directory, and the error for a name that is no file's.
//!
//! Invariant: an error of the disk that carries a [`NotAFile`] means that what was found was neither read
//! nor written.

use std::error::Error;
use std::fmt;
use std::fs::FileType;
use std::io;

/// What has a name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, whatever it leads to.
    Link,
    /// A named pipe, a socket or a device.
    Special,
}

impl EntryKind {
    pub(crate) fn of(kind: FileType) -> Self {
        match () {
            () if kind.is_file() => Self::File,
            () if kind.is_dir() => Self::Directory,
            () if kind.is_symlink() => Self::Link,
            () => Self::Special,
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Special => "a named pipe, a socket or a device",
        })
    }
}

/// Something else was found where a regular file was to be opened, replaced or removed. It travels within an
/// [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAFile {
    /// What was found.
    pub found: EntryKind,
}

impl NotAFile {
    /// What was found, if that is what `error` says.
    #[must_use]
    pub fn within(error: &io::Error) -> Option<EntryKind> {
        error.get_ref()?.downcast_ref::<Self>().map(|odd| odd.found)
    }
}

impl fmt::Display for NotAFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is {} and not a regular file", self.found)
    }
}

impl Error for NotAFile {}

impl From<NotAFile> for io::Error {
    fn from(odd: NotAFile) -> Self {
        Self::new(io::ErrorKind::InvalidInput, odd)
    }
}
