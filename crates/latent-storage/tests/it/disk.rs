//! A disk in memory that knows what is durable, and fails or stops at a chosen step.
//!
//! Every effect is a step. What was written but not synced may be lost when it stops, in whole or in part.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latent_storage::disk::{Blocks, Disk, DiskLock, EntryKind, Presence};

/// What goes wrong, and when. Steps are counted from the last [`MemoryDisk::watch`].
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// From this step on nothing has an effect: the process is gone.
    Stop { at: u64 },
    /// From this step on every effect fails like this, until [`MemoryDisk::mend`].
    Fail { from: u64, kind: io::ErrorKind },
    /// This step alone fails.
    FailOnce { at: u64, kind: io::ErrorKind },
}

/// What is left after the process is gone.
#[derive(Debug, Clone, Copy)]
pub enum Survival {
    /// The process was killed: all that it did is there.
    Everything,
    /// The power failed: only what was synced is there.
    Synced,
    /// The power failed, and of what was not synced some is there.
    Some(u64),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    current: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Debug, Clone, Default)]
struct State {
    /// Files by name, as the process sees them, and as they are on the disk. Directories have no inode;
    /// `/data` is always there.
    names: BTreeMap<PathBuf, Option<usize>>,
    durable_names: BTreeMap<PathBuf, Option<usize>>,
    inodes: Vec<Inode>,
    locks: BTreeSet<PathBuf>,
    fault: Option<Fault>,
    steps: u64,
    operations: u64,
    read: Vec<std::ops::Range<u64>>,
}

/// The disk. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct MemoryBlocks {
    disk: MemoryDisk,
    inode: usize,
}

struct MemoryLock(MemoryDisk, PathBuf);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.state().locks.remove(&self.1);
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(offset, data) => {
            let end = offset + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(data);
        }
        Change::Length(length) => bytes.resize(*length, 0),
    }
}

impl Inode {
    fn change(&mut self, change: Change) {
        apply(&mut self.current, &change);
        self.pending.push(change);
    }

    fn sync(&mut self) {
        // Replaying is cheaper than copying a large file for a small change.
        for change in std::mem::take(&mut self.pending) {
            apply(&mut self.durable, &change);
        }
    }
}

/// A small generator, so that a failing case is the same case again.
struct Coin(u64);

impl Coin {
    fn heads(&mut self) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 63 == 1
    }
}

impl State {
    /// Counts an effect and says whether it may happen.
    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        match self.fault {
            Some(Fault::Stop { at }) if self.steps >= at => Err(io::Error::other("the process is gone")),
            Some(Fault::Fail { from, kind }) if self.steps >= from => Err(kind.into()),
            Some(Fault::FailOnce { at, kind }) if self.steps == at => Err(kind.into()),
            _ => Ok(()),
        }
    }

    fn file(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().flatten().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make(&mut self, path: &Path) -> io::Result<usize> {
        self.step()?;
        self.inodes.push(Inode::default());
        let inode = self.inodes.len() - 1;
        self.names.insert(path.to_owned(), Some(inode));
        Ok(inode)
    }
}

impl MemoryDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another disk with the same content, nothing of it locked and no fault.
    pub fn copy(&self) -> Self {
        let state = self.state().clone();
        Self(Arc::new(Mutex::new(State { locks: BTreeSet::new(), fault: None, ..state })))
    }

    /// Counts steps and reads from here on, with a fault or without.
    pub fn watch(&self, fault: Option<Fault>) {
        let mut state = self.state();
        (state.steps, state.operations, state.fault) = (0, 0, fault);
        state.read.clear();
    }

    /// Ends the fault.
    pub fn mend(&self) {
        self.state().fault = None;
    }

    /// Effects since the last watch.
    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    /// Effects and reads since the last watch.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// The disk as the next process finds it.
    pub fn after(&self, survival: Survival) -> Self {
        let mut state = self.copy().0.lock().unwrap().clone();
        let mut coin = Coin(match survival {
            Survival::Some(seed) => seed,
            _ => 0,
        });
        for inode in &mut state.inodes {
            let pending = std::mem::take(&mut inode.pending);
            let mut left = std::mem::take(&mut inode.durable);
            for change in pending {
                match survival {
                    Survival::Everything => apply(&mut left, &change),
                    Survival::Some(_) if coin.heads() => apply(&mut left, &change),
                    _ => {}
                }
            }
            (inode.current, inode.durable) = (left.clone(), left);
        }
        let all: BTreeSet<_> = state.names.keys().chain(state.durable_names.keys()).cloned().collect();
        let (before, durable) = (std::mem::take(&mut state.names), std::mem::take(&mut state.durable_names));
        for path in all {
            let is_kept = match survival {
                Survival::Everything => true,
                Survival::Synced => false,
                Survival::Some(_) => coin.heads(),
            };
            let found = if is_kept { before.get(&path) } else { durable.get(&path) };
            // What lies in a directory that is gone is gone.
            let in_data = path.parent() == Some(Path::new("/data"));
            let has_parent = in_data || path.parent().is_some_and(|parent| state.names.contains_key(parent));
            if let Some(found) = found.filter(|_| has_parent) {
                state.names.insert(path, *found);
            }
        }
        state.durable_names.clone_from(&state.names);
        Self(Arc::new(Mutex::new(state)))
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let state = self.state();
        let inode = state.file(path.as_ref()).expect("the file is there");
        state.inodes[inode].current.clone()
    }

    /// Changes a file behind everybody's back.
    pub fn set_bytes(&self, path: impl AsRef<Path>, bytes: Vec<u8>) {
        let mut state = self.state();
        let inode = state.file(path.as_ref()).expect("the file is there");
        state.inodes[inode] = Inode { durable: bytes.clone(), current: bytes, pending: vec![] };
    }

    /// Removes a file behind everybody's back.
    pub fn forget(&self, path: impl AsRef<Path>) {
        let mut state = self.state();
        state.names.remove(path.as_ref()).expect("the file is there");
        state.durable_names.remove(path.as_ref());
    }

    /// All names below `directory`, without it.
    pub fn below(&self, directory: impl AsRef<Path>) -> Vec<String> {
        let state = self.state();
        let below = state.names.keys().filter_map(|path| path.strip_prefix(directory.as_ref()).ok());
        below.filter(|path| !path.as_os_str().is_empty()).map(|path| path.display().to_string()).collect()
    }

    /// Which bytes of files that are read in place were read since the last watch.
    pub fn read_ranges(&self) -> Vec<std::ops::Range<u64>> {
        self.state().read.clone()
    }
}

impl Disk for MemoryDisk {
    fn list(&self, directory: &Path) -> io::Result<Option<Vec<OsString>>> {
        let mut state = self.state();
        state.operations += 1;
        if !state.names.contains_key(directory) {
            return Ok(None);
        }
        let below = state.names.keys().filter(|path| path.parent() == Some(directory));
        Ok(Some(below.filter_map(|path| path.file_name().map(OsString::from)).collect()))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        let mut state = self.state();
        state.operations += 1;
        let found = state.names.get(path);
        Ok(found.map(|inode| if inode.is_some() { EntryKind::File } else { EntryKind::Directory }))
    }

    /// There are no links here, and tests write paths as they are.
    fn canonical(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let mut state = self.state();
        state.operations += 1;
        Ok(state.names.contains_key(path).then(|| path.to_owned()))
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operations += 1;
        if !state.names.contains_key(directory) {
            state.step()?;
            state.names.insert(directory.to_owned(), None);
        }
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operations += 1;
        state.step()?;
        let State { names, durable_names, .. } = &mut *state;
        durable_names.retain(|path, _| path.parent() != Some(directory));
        let inside = names.iter().filter(|(path, _)| path.parent() == Some(directory));
        durable_names.extend(inside.map(|(path, inode)| (path.clone(), *inode)));
        Ok(())
    }

    fn write_file(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.operations += 1;
        if state.names.contains_key(file) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.make(file)?;
        // Two writes, so that a file can be left half-written.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        for (offset, part) in [(0, first), (first.len(), second)] {
            state.step()?;
            state.inodes[inode].change(Change::Write(offset, part.to_vec()));
        }
        state.step()?;
        state.inodes[inode].sync();
        Ok(())
    }

    fn read_file(&self, file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        state.operations += 1;
        let bytes = &state.inodes[state.file(file)?].current;
        if bytes.len() as u64 > bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes.clone())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operations += 1;
        state.step()?;
        let inode = state.file(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), Some(inode));
        Ok(())
    }

    fn remove_file(&self, file: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operations += 1;
        state.step()?;
        state.file(file)?;
        state.names.remove(file);
        Ok(())
    }

    fn remove_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operations += 1;
        state.step()?;
        if state.names.keys().any(|path| path.parent() == Some(directory)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.names.remove(directory).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn open_blocks(&self, file: &Path, presence: Presence) -> io::Result<Arc<dyn Blocks>> {
        let mut state = self.state();
        state.operations += 1;
        let inode = match (state.file(file), presence) {
            (Err(_), Presence::Created) => state.make(file)?,
            (found, _) => found?,
        };
        Ok(Arc::new(MemoryBlocks { disk: self.clone(), inode }))
    }

    fn lock(&self, file: &Path) -> io::Result<Option<DiskLock>> {
        let mut state = self.state();
        state.operations += 1;
        if state.file(file).is_err() {
            state.make(file)?;
        }
        if !state.locks.insert(file.to_owned()) {
            return Ok(None);
        }
        let lock: Box<dyn Any + Send + Sync> = Box::new(MemoryLock(self.clone(), file.to_owned()));
        Ok(Some(lock))
    }
}

impl MemoryBlocks {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operations += 1;
        state.step()?;
        state.inodes[self.inode].change(change);
        Ok(())
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("a disk in memory is small")
}

impl Blocks for MemoryBlocks {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().inodes[self.inode].current.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operations += 1;
        let end = offset.checked_add(out.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        state.read.push(offset..end);
        let bytes = &state.inodes[self.inode].current;
        if end > bytes.len() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        out.copy_from_slice(&bytes[index(offset)..index(end)]);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(Change::Write(index(offset), bytes.to_vec()))
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        if bytes > 1 << 32 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.change(Change::Length(index(bytes)))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operations += 1;
        state.step()?;
        state.inodes[self.inode].sync();
        Ok(())
    }
}
