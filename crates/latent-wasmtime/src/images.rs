//! Compiled images on disk: a cache, keyed by component, engine and format. Losing any of it costs a compilation.
//!
//! Invariant: an image is written once under a name of its own, sealed with a hash over all of it, and renamed into
//! place; from then on its bytes never change. Nothing is mapped whose hash does not match, and what was hashed is the
//! very file that is mapped.

mod directory;
mod mapped;
mod seal;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latent_core::{Sha256Digest, WallClock};
use latent_executor::PreparationKey;
use wasmtime::Engine;
use wasmtime::component::Component;

use directory::{Entry, Name};
pub(crate) use directory::{is_our_file, prepare as prepare_directory};
pub use mapped::{anonymous_image, load_image};

/// How old the record of an image's last use may become. It is the file's modification time, which nothing else needs.
const USE_RECORD_AGE_MAX: Duration = Duration::from_mins(1);
/// After so many adoptions the directory is counted again, for other processes write to it too.
const ADOPTIONS_BETWEEN_COUNTS: u64 = 256;
/// Names that are tried for a staged file before giving up; a taken one belongs to a process of the same id elsewhere.
const STAGED_NAMES_MAX: u32 = 1024;

/// How much of the disk images may take. Each bound holds for the directory, whoever wrote to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// Bytes of all images. Default 4 GiB. Beyond it the least recently used go; the newest stays even if it alone is
    /// larger.
    pub bytes_max: u64,
    /// Images. Default 100,000. Beyond it the least recently used go.
    pub count_max: u64,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { bytes_max: 4 << 30, count_max: 100_000 }
    }
}

/// A directory of images. Threads and processes may share one.
pub struct ImageStore {
    dir: PathBuf,
    limits: ImageLimits,
    clock: Arc<dyn WallClock>,
    tally: Mutex<Tally>,
    staged: AtomicU64,
}

/// What the directory held when it was last counted, and what this process changed since.
#[derive(Default)]
struct Tally {
    count: u64,
    bytes: u64,
    adoptions: u64,
}

impl ImageStore {
    /// Opens `dir`, makes it if need be, and closes it to other users: its images are run. Files that a dead process
    /// left half-written are removed.
    ///
    /// # Errors
    /// When the directory cannot be made or read, or belongs to another user.
    pub fn open(dir: &Path, limits: ImageLimits, clock: Arc<dyn WallClock>) -> io::Result<Self> {
        directory::prepare(dir)?;
        directory::remove_abandoned(dir)?;
        let store = Self { dir: dir.to_owned(), limits, clock, tally: Mutex::default(), staged: AtomicU64::new(0) };
        store.make_room(None)?;
        Ok(store)
    }

    /// Maps the image of `key`. A missing image is a miss, and so is one that is truncated, damaged or of another engine
    /// or format; such a one is removed. An image that is sound but that `engine` refuses is a miss too and stays:
    /// compiling the component again tells why.
    ///
    /// Blocks: all of the image is read and hashed, about a millisecond for each two megabytes.
    #[must_use]
    pub fn load(&self, engine: &Engine, key: PreparationKey) -> Option<Component> {
        let path = self.dir.join(Name::of(key).to_string());
        let file = directory::open_regular(&path)?;
        match seal::verify(&file, key) {
            Ok(true) => (),
            Ok(false) => {
                self.forget(&path, &file);
                return None;
            }
            // The disk does not give it out at the moment.
            Err(_unreadable) => return None,
        }
        let component = load_image(engine, &file).ok()?;
        self.record_use(&file);
        Some(component)
    }

    /// Whether there is an image of `key`, sound or not.
    #[must_use]
    pub fn contains(&self, key: PreparationKey) -> bool {
        self.dir.join(Name::of(key).to_string()).is_file()
    }

    /// A file to compile into, on the file system of the store. Dropping it removes it.
    ///
    /// # Errors
    /// When the directory takes no file.
    pub fn stage(&self) -> io::Result<Staged> {
        for _ in 0..STAGED_NAMES_MAX {
            let number = self.staged.fetch_add(1, Ordering::Relaxed);
            let path = self.dir.join(directory::staged_name(number));
            if let Some(file) = directory::create_staged(&path)? {
                return Ok(Staged { file, path, renamed: false });
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is full of staged files", self.dir.display())))
    }

    /// Seals the image in `staged` and puts it in place for `key`, then lets the least recently used images go until the
    /// limits hold. A process that adopts the same key at the same time replaces it with its own, which is as good.
    ///
    /// Blocks: the image is read once to hash it, and synced.
    ///
    /// # Errors
    /// When the disk refuses; the image is then gone, and all others are as they were.
    pub fn adopt(&self, mut staged: Staged, key: PreparationKey) -> io::Result<()> {
        let bytes = seal::seal(&staged.file, key)?;
        staged.file.sync_data()?;
        let name = Name::of(key);
        let path = self.dir.join(name.to_string());
        let replaced = path.symlink_metadata().ok().map(|meta| meta.len());
        std::fs::rename(&staged.path, &path)?;
        staged.renamed = true;
        File::open(&self.dir)?.sync_all()?;
        let recount = {
            let mut tally = self.lock();
            tally.adoptions += 1;
            tally.count += u64::from(replaced.is_none());
            tally.bytes = (tally.bytes + bytes).saturating_sub(replaced.unwrap_or(0));
            tally.adoptions >= ADOPTIONS_BETWEEN_COUNTS || !self.fits(tally.count, tally.bytes)
        };
        if recount { self.make_room(Some(name)) } else { Ok(()) }
    }

    /// Components that have images, but none for an engine of this `compatibility`; the most recently used first. They are
    /// what to rebuild after the engine changed. Reads the directory.
    #[must_use]
    pub fn stale(&self, compatibility: u64) -> Vec<Sha256Digest> {
        directory::stale(directory::scan(&self.dir).unwrap_or_default(), compatibility)
    }

    /// How many images there are, and their bytes; what other processes did lately may be missing. Constant time.
    #[must_use]
    pub fn usage(&self) -> (u64, u64) {
        let tally = self.lock();
        (tally.count, tally.bytes)
    }

    /// Removes every image of the component `digest`. What is mapped stays usable. Reads the directory.
    pub fn remove(&self, digest: Sha256Digest) {
        for entry in directory::scan(&self.dir).unwrap_or_default() {
            if entry.name.digest == digest {
                self.unlink(&entry);
            }
        }
    }

    /// Counts the directory and removes the least recently used images until the limits hold; `newest` always stays.
    fn make_room(&self, newest: Option<Name>) -> io::Result<()> {
        let entries = directory::scan(&self.dir)?;
        let count = entries.len() as u64;
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        *self.lock() = Tally { count, bytes, adoptions: 0 };
        if !self.fits(count, bytes) {
            for entry in directory::least_used(entries, newest, self.limits) {
                self.unlink(&entry);
            }
        }
        Ok(())
    }

    fn fits(&self, count: u64, bytes: u64) -> bool {
        count <= self.limits.count_max && bytes <= self.limits.bytes_max
    }

    fn unlink(&self, entry: &Entry) {
        // Whoever removed it first has done what was wanted.
        if std::fs::remove_file(self.dir.join(entry.name.to_string())).is_ok() {
            let mut tally = self.lock();
            tally.count = tally.count.saturating_sub(1);
            tally.bytes = tally.bytes.saturating_sub(entry.bytes);
        }
    }

    /// Removes the damaged image at `path`, unless another has taken its place since it was opened as `file`.
    fn forget(&self, path: &Path, file: &File) {
        if directory::is_at(path, file) && std::fs::remove_file(path).is_ok() {
            let mut tally = self.lock();
            tally.count = tally.count.saturating_sub(1);
            tally.bytes = tally.bytes.saturating_sub(file.metadata().map_or(0, |meta| meta.len()));
        }
    }

    fn record_use(&self, file: &File) {
        let now = self.clock.now();
        let recorded = file.metadata().and_then(|meta| meta.modified());
        // A record from the future is one that a wrong clock made.
        let fresh = recorded.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < USE_RECORD_AGE_MAX));
        if !fresh {
            // Without its record the image only looks less used than it is.
            let _unrecorded = file.set_modified(now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file to compile into. Until it is adopted it goes away with this value, or with the next opening of the store if
/// the process died.
#[derive(Debug)]
#[must_use = "dropping it removes the file"]
pub struct Staged {
    file: File,
    path: PathBuf,
    renamed: bool,
}

impl Staged {
    /// The file, open for reading and writing.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.renamed {
            // The next opening of the store removes what stays.
            let _left = std::fs::remove_file(&self.path);
        }
    }
}
