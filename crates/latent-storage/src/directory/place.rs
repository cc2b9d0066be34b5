//! Where a storage may lie, and how its directory comes to be there.
//!
//! Invariant: no storage is made within another, by whatever path, because what belongs to the outer one is removed or
//! taken for its own at its next start.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::format;
use crate::disk::Disk;
use crate::refusal::Refusal;

/// Says whether a storage may be made at `root`.
pub(super) fn check(disk: &dyn Disk, root: &Path) -> Result<(), Refusal> {
    let place = resolved(disk, root).map_err(Refusal::io("find", root))?;
    match place.ancestors().skip(1).find(|above| format::is_storage(disk, above)) {
        Some(storage) => Err(Refusal::Inside { directory: root.to_owned(), storage: storage.to_owned() }),
        None => Ok(()),
    }
}

/// Makes a directory, and its name and those of the ones above it that were not there durable.
pub(super) fn make_durably(disk: &dyn Disk, root: &Path) -> Result<(), Refusal> {
    let mut parents = vec![parent_of(root)];
    while let Some(&parent) = parents.last()
        && parent.parent().is_some()
        && disk.list(parent).map_err(Refusal::io("list", parent))?.is_none()
    {
        parents.push(parent_of(parent));
    }
    disk.create_directory(root).map_err(Refusal::io("make", root))?;
    parents.into_iter().try_for_each(|parent| disk.sync_directory(parent).map_err(Refusal::io("make durable", parent)))
}

fn parent_of(directory: &Path) -> &Path {
    directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where `root` is, or will be once it is made: the part that is there without links, and the rest below it.
fn resolved(disk: &dyn Disk, root: &Path) -> io::Result<PathBuf> {
    let mut there = root;
    let mut resolved = loop {
        if let Some(found) = disk.canonical(if there.as_os_str().is_empty() { Path::new(".") } else { there })? {
            break found;
        }
        match there.parent() {
            Some(parent) => there = parent,
            None => return Ok(root.to_owned()),
        }
    };
    // What is not there yet has no links in it.
    for part in root.strip_prefix(there).unwrap_or(Path::new("")).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::ParentDir => drop(resolved.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    Ok(resolved)
}
