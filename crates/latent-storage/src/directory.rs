//! The directory of a storage: what lies where in it, and that it has one owner.
//!
//! Invariant: names of files are digests and numbers of our own, never anything that a caller chose. A file appears
//! under its final name only when it is complete and durable.

mod format;
mod place;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use latent_core::Sha256Digest;

use crate::disk::{Blocks, Disk, DiskLock, EntryKind, Presence};
use crate::refusal::Refusal;

const LOCK_NAME: &str = "lock";
pub(crate) const DATABASE_NAME: &str = "database.redb";
pub(crate) const LATEST_NAME: &str = "latest";
const COMPONENTS_NAME: &str = "components";
const STAGED_NAME: &str = "staged";

/// A directory that is ours, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Directory {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    staged_count: AtomicU64,
    /// Whether it was made just now.
    is_new: bool,
    _lock: Lock,
}

struct Lock(#[expect(dead_code, reason = "its drop unlocks")] DiskLock);

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lock")
    }
}

/// Bytes that are on the disk and durable under a name of no meaning. Dropping it removes them.
#[derive(Debug)]
pub(crate) struct Staged<'d> {
    directory: &'d Directory,
    file: PathBuf,
}

impl Directory {
    /// Takes the directory over, making it if it is not there or empty.
    pub(crate) fn open(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, Refusal> {
        let names = names_in(&*disk, root)?;
        let is_new = names.is_none();
        let names = names.unwrap_or_default();
        if let Some(found) = format::foreign(&names) {
            return Err(Refusal::NotOurs { directory: root.to_owned(), found: found.display().to_string() });
        }
        if !format::is_declared(&names) {
            place::check(&*disk, root)?;
        }
        if is_new {
            place::make_durably(&*disk, root)?;
        }
        let directory = Self::lock(disk, root)?;
        // Looked at again, because whoever had the lock until now may just have made it.
        let is_declared = format::is_declared(&directory.names()?);
        if !is_declared || format::check(&*directory.disk, root)? == format::Known::Earlier {
            format::declare(&*directory.disk, root)?;
        }
        directory.make_parts()?;
        directory.remove_staged()?;
        Ok(directory)
    }

    /// Takes over a directory that has to be a complete storage already, and leaves it as it is.
    pub(crate) fn look(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, Refusal> {
        let names = names_in(&*disk, root)?.unwrap_or_default();
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if !format::is_declared(&names) || !has(DATABASE_NAME) {
            return Err(Refusal::Absent { directory: root.to_owned() });
        }
        let directory = Self::lock(disk, root)?;
        let _known = format::check(&*directory.disk, root)?;
        Ok(directory)
    }

    /// Takes over an empty directory, making it if it is not there, whose format file is written last:
    /// [`complete`](Self::complete).
    pub(crate) fn begin(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, Refusal> {
        let names = names_in(&*disk, root)?;
        if let Some(found) = names.iter().flatten().find(|name| !format::is_harmless(name)) {
            return Err(Refusal::NotEmpty { directory: root.to_owned(), found: found.display().to_string() });
        }
        place::check(&*disk, root)?;
        if names.is_none() {
            place::make_durably(&*disk, root)?;
        }
        let directory = Self { is_new: names.is_none(), ..Self::lock(disk, root)? };
        match directory.make_parts() {
            Ok(()) => Ok(directory),
            Err(refusal) => {
                directory.abandon();
                Err(refusal)
            }
        }
    }

    /// Leaves a directory that was taken over with [`begin`](Self::begin) as it was before. What cannot be removed stays,
    /// and is no storage: the format file is the first to go.
    pub(crate) fn abandon(self) {
        let disk = &*self.disk;
        for name in format::NAMES.into_iter().chain([LATEST_NAME, DATABASE_NAME]) {
            let _was_not_there = disk.remove_file(&self.root.join(name));
        }
        for part in [COMPONENTS_NAME, STAGED_NAME].map(|part| self.root.join(part)) {
            for name in disk.list(&part).ok().flatten().unwrap_or_default() {
                let _stays = disk.remove_file(&part.join(name));
            }
            let _stays = disk.remove_directory(&part);
        }
        let _stays = disk.remove_file(&self.root.join(LOCK_NAME));
        if self.is_new {
            let _stays = disk.remove_directory(&self.root);
        }
    }

    /// Declares a directory complete that was taken over with [`begin`](Self::begin).
    pub(crate) fn complete(&self) -> Result<(), Refusal> {
        self.sync_components()?;
        format::declare(&*self.disk, &self.root)
    }

    fn lock(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, Refusal> {
        let file = root.join(LOCK_NAME);
        let lock = disk.lock(&file).map_err(Refusal::io("lock", &file))?;
        let lock = lock.ok_or_else(|| Refusal::InUse { directory: root.to_owned() })?;
        let directory =
            Self { disk, root: root.to_owned(), staged_count: AtomicU64::new(0), is_new: false, _lock: Lock(lock) };
        directory.check_parts()?;
        Ok(directory)
    }

    /// Says whether the parts that are there are directories. Through a link, files of somebody else would be removed.
    fn check_parts(&self) -> Result<(), Refusal> {
        for part in [COMPONENTS_NAME, STAGED_NAME] {
            let file = self.root.join(part);
            match self.disk.kind(&file).map_err(Refusal::io("look at", &file))? {
                None | Some(EntryKind::Directory) => {}
                Some(found) => return Err(Refusal::WrongKind { file, found, wanted: EntryKind::Directory }),
            }
        }
        Ok(())
    }

    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        self.disk.clone()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The name of the file of the database, where damage is reported.
    pub(crate) fn database_file(&self) -> PathBuf {
        self.root.join(DATABASE_NAME)
    }

    /// The file of the database; `None` when there is none and nothing that it could have listed.
    pub(crate) fn database(&self) -> Result<Option<Arc<dyn Blocks>>, Refusal> {
        let names = self.names()?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let file = self.database_file();
        if !has(DATABASE_NAME) {
            if has(LATEST_NAME) || !self.components()?.is_empty() {
                return Err(Refusal::damaged(&file, "it is missing"));
            }
            return Ok(None);
        }
        let blocks = self.disk.open_blocks(&file, Presence::Required).map_err(Refusal::io("open", &file))?;
        // An empty file would be taken for a new database.
        match blocks.is_empty() {
            Ok(false) => Ok(Some(blocks)),
            Ok(true) => Err(Refusal::damaged(&file, "it is empty")),
            Err(error) => Err(Refusal::io("read", &file)(error)),
        }
    }

    /// A file for a new database, which [`place_database`](Self::place_database) puts where it belongs.
    pub(crate) fn stage_database(&self) -> Result<(Staged<'_>, Arc<dyn Blocks>), Refusal> {
        let staged = self.staged();
        let blocks = self.disk.open_blocks(&staged.file, Presence::Created);
        let blocks = blocks.map_err(Refusal::io("make", &staged.file))?;
        Ok((staged, blocks))
    }

    /// Gives a new database its name. It is complete, durable and closed.
    pub(crate) fn place_database(&self, staged: Staged<'_>) -> Result<(), Refusal> {
        let file = self.database_file();
        self.disk.rename(&staged.file, &file).map_err(Refusal::io("rename to", &file))?;
        std::mem::forget(staged);
        self.disk.sync_directory(&self.root).map_err(Refusal::io("make durable", &self.root))
    }

    /// The file that says what was acknowledged last.
    pub(crate) fn latest(&self, presence: Presence) -> Result<Option<Arc<dyn Blocks>>, Refusal> {
        let file = self.root.join(LATEST_NAME);
        if presence == Presence::Required && !self.names()?.iter().any(|name| name == LATEST_NAME) {
            return Ok(None);
        }
        self.disk.open_blocks(&file, presence).map(Some).map_err(Refusal::io("open", &file))
    }

    /// Every name of a component there is, owned or not. Other names are nobody's business.
    pub(crate) fn components(&self) -> Result<Vec<Sha256Digest>, Refusal> {
        let parent = self.root.join(COMPONENTS_NAME);
        let names = self.disk.list(&parent).map_err(Refusal::io("list", Path::new(COMPONENTS_NAME)))?;
        Ok(names.unwrap_or_default().iter().filter_map(|name| Sha256Digest::parse(name.to_str()?)).collect())
    }

    /// Writes a component durably under a name of no meaning.
    pub(crate) fn stage(&self, bytes: &[u8]) -> Result<Staged<'_>, Refusal> {
        let staged = self.staged();
        let written = self.disk.write_file(&staged.file, bytes);
        written.map_err(Refusal::io("write a component below", Path::new(STAGED_NAME)))?;
        Ok(staged)
    }

    /// Gives a staged component its name durably, in place of whatever had that name.
    pub(crate) fn place(&self, staged: Staged<'_>, digest: &Sha256Digest) -> Result<(), Refusal> {
        self.name(staged, digest)?;
        self.sync_components()
    }

    /// Gives a staged component its name, not durably yet.
    pub(crate) fn name(&self, staged: Staged<'_>, digest: &Sha256Digest) -> Result<(), Refusal> {
        let named = self.disk.rename(&staged.file, &self.component_file(digest));
        named.map_err(Refusal::io("rename a component to", &component_name(digest)))?;
        std::mem::forget(staged);
        Ok(())
    }

    /// Reads a component, not verified yet.
    pub(crate) fn component(&self, digest: &Sha256Digest, bytes_max: u64) -> std::io::Result<Vec<u8>> {
        self.disk.read_file(&self.component_file(digest), bytes_max)
    }

    /// Removes a component file.
    pub(crate) fn remove_component(&self, digest: &Sha256Digest) -> Result<(), Refusal> {
        let removed = self.disk.remove_file(&self.component_file(digest));
        removed.map_err(Refusal::io("remove", &component_name(digest)))
    }

    /// Makes names and removals durable.
    pub(crate) fn sync_components(&self) -> Result<(), Refusal> {
        let part = Path::new(COMPONENTS_NAME);
        self.disk.sync_directory(&self.root.join(part)).map_err(Refusal::io("make durable", part))
    }

    fn component_file(&self, digest: &Sha256Digest) -> PathBuf {
        self.root.join(component_name(digest))
    }

    fn staged(&self) -> Staged<'_> {
        let number = self.staged_count.fetch_add(1, Ordering::Relaxed);
        Staged { directory: self, file: self.root.join(STAGED_NAME).join(number.to_string()) }
    }

    fn names(&self) -> Result<Vec<OsString>, Refusal> {
        let names = self.disk.list(&self.root).map_err(Refusal::io("list", &self.root))?;
        Ok(names.unwrap_or_default())
    }

    fn make_parts(&self) -> Result<(), Refusal> {
        for part in [COMPONENTS_NAME, STAGED_NAME] {
            let part = self.root.join(part);
            self.disk.create_directory(&part).map_err(Refusal::io("make", &part))?;
        }
        self.disk.sync_directory(&self.root).map_err(Refusal::io("make durable", &self.root))
    }

    fn remove_staged(&self) -> Result<(), Refusal> {
        let parent = self.root.join(STAGED_NAME);
        let names = self.disk.list(&parent).map_err(Refusal::io("list", &parent))?;
        for name in names.unwrap_or_default() {
            let file = parent.join(name);
            self.disk.remove_file(&file).map_err(Refusal::io("remove", &file))?;
        }
        Ok(())
    }
}

/// The names in what is to be a directory of ours; `None` when nothing has its name.
fn names_in(disk: &dyn Disk, root: &Path) -> Result<Option<Vec<OsString>>, Refusal> {
    disk.list(root).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => Refusal::NotADirectory { directory: root.to_owned() },
        _ => Refusal::io("list", root)(error),
    })
}

/// The file of a component, below the directory.
pub(crate) fn component_name(digest: &Sha256Digest) -> PathBuf {
    Path::new(COMPONENTS_NAME).join(digest.to_string())
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // What is left behind is removed at the next start.
        let _left_behind = self.directory.disk.remove_file(&self.file);
    }
}
