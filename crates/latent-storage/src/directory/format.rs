//! The file that says that a directory is a storage, and of which format.
//!
//! Invariant: the file is there whole or not at all; a directory without it is either as good as empty, or not ours.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::LOCK_NAME;
use crate::disk::Disk;
use crate::refusal::Refusal;

/// The format that this program writes.
const FORMAT: u64 = 2;
/// The oldest format that it reads. Format 1 had no documents; a storage of it becomes one of format 2 when it is opened.
const OLDEST_FORMAT: u64 = 1;
const NAME: &str = "format";
/// Where the file is written before it gets its name.
const STAGED_NAME: &str = "format.staged";
/// Both, the one that counts first.
pub(super) const NAMES: [&str; 2] = [NAME, STAGED_NAME];
const PREFIX: &str = "latent storage, format ";
const BYTES_MAX: u64 = 256;
/// What a file system may have in its root by itself.
const HARMLESS_NAMES: [&str; 1] = ["lost+found"];

/// What format a directory has, of those that this program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The one that it writes.
    Current,
    /// One that has to be declared anew before anything is written.
    Earlier,
}

/// Whether a directory with these names in it says that it is a storage.
pub(super) fn is_declared(names: &[OsString]) -> bool {
    names.iter().any(|name| name == NAME)
}

/// Whether an empty directory may have this name in it.
pub(super) fn is_harmless(name: &OsStr) -> bool {
    HARMLESS_NAMES.iter().any(|harmless| name == *harmless)
}

/// The first name in a directory that does not say that it is a storage which an interrupted start cannot have left.
pub(super) fn foreign(names: &[OsString]) -> Option<&OsStr> {
    let may_be_left = |name: &&OsStr| *name == LOCK_NAME || *name == STAGED_NAME || is_harmless(name);
    let mut foreign = names.iter().map(OsString::as_os_str).filter(|name| !may_be_left(name));
    if is_declared(names) { None } else { foreign.next() }
}

/// Whether a directory says that it is a storage, of whatever format. One that cannot be read says nothing.
pub(super) fn is_storage(disk: &dyn Disk, root: &Path) -> bool {
    disk.read_file(&root.join(NAME), BYTES_MAX).is_ok_and(|text| text.starts_with(PREFIX.as_bytes()))
}

/// Says whether the directory has a format that this program knows.
pub(super) fn check(disk: &dyn Disk, root: &Path) -> Result<Known, Refusal> {
    let file = root.join(NAME);
    let text = disk.read_file(&file, BYTES_MAX).map_err(Refusal::io("read", &file))?;
    let text = String::from_utf8_lossy(&text);
    match text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix('\n')?.parse().ok()) {
        Some(FORMAT) => Ok(Known::Current),
        Some(OLDEST_FORMAT..FORMAT) => Ok(Known::Earlier),
        Some(found) => Err(Refusal::Format { directory: root.to_owned(), found, known: FORMAT }),
        None => Err(Refusal::damaged(&file, format_args!("it does not say {PREFIX}{FORMAT}"))),
    }
}

/// Declares the directory a storage, durably.
pub(super) fn declare(disk: &dyn Disk, root: &Path) -> Result<(), Refusal> {
    let (staged, file) = (root.join(STAGED_NAME), root.join(NAME));
    let names = disk.list(root).map_err(Refusal::io("list", root))?.unwrap_or_default();
    if names.iter().any(|name| name == STAGED_NAME) {
        disk.remove_file(&staged).map_err(Refusal::io("remove", &staged))?;
    }
    let text = format!("{PREFIX}{FORMAT}\n");
    disk.write_file(&staged, text.as_bytes()).map_err(Refusal::io("write", &staged))?;
    disk.rename(&staged, &file).map_err(Refusal::io("rename to", &file))?;
    disk.sync_directory(root).map_err(Refusal::io("make durable", root))
}
