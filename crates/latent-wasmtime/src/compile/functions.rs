//! One tenant's compiled functions in one file, so that a component that changed a little is compiled quickly.
//!
//! The file is a header and entries one after another: mark, length, key, checksum over key and value, value. It is only
//! appended to; whoever opens it holds its lock, and whoever comes second compiles without it. Some functions reach the code
//! generator in another form in every process, so that compiling the very same component again adds a few in a hundred.
//!
//! Invariant: no value is given out whose checksum does not match, so that a damaged file costs time and nothing else.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, fstatvfs, futimens};
use rustix::process::geteuid;
use wasmtime::CacheStore;

use super::protocol::FunctionsAt;
use crate::images::is_our_file;

/// Mark and format at the start of the file, before the engine's compatibility value.
const HEADER_MARK: [u8; 16] = *b"latent functions";
const FORMAT: u64 = 1;
const HEADER_BYTES: usize = HEADER_MARK.len() + 8 + 8;
const ENTRY_MARK: [u8; 4] = *b"func";
const KEY_BYTES: usize = 32;
const ENTRY_HEADER_BYTES: usize = ENTRY_MARK.len() + 4 + KEY_BYTES + 32;
/// Bytes that stay free on the file system, for images before all.
const FREE_BYTES_MIN: u64 = 64 << 20;
/// The most entries of one file, which bounds the index in memory: about 64 bytes each.
const ENTRIES_MAX: usize = 1 << 20;

/// The kernel's own reading of its clock.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };

type Key = [u8; KEY_BYTES];

/// The file, open and locked for as long as this lives.
pub struct FunctionStore {
    pack: Mutex<Pack>,
}

struct Pack {
    file: File,
    bytes_max: u64,
    free_bytes_min: u64,
    header: [u8; HEADER_BYTES],
    index: HashMap<Key, Place, RandomState>,
    /// Where the next entry goes.
    end: u64,
}

#[derive(Clone, Copy)]
struct Place {
    entry: u64,
    value_bytes: u32,
}

impl FunctionStore {
    /// Opens the file, or begins it. `None` when it is in use, is not a file of ours under this one name, or cannot be used,
    /// which only costs time. A file of another
    /// engine or of another format starts afresh, and so does one over its bound; whatever follows a place that cannot be
    /// read is cut off.
    pub fn open(at: &FunctionsAt, compatibility: u64) -> Option<Self> {
        Self::open_leaving(FREE_BYTES_MIN, at, compatibility)
    }

    fn open_leaving(free_bytes_min: u64, at: &FunctionsAt, compatibility: u64) -> Option<Self> {
        let mut options = OpenOptions::new();
        // A pipe or a link that somebody put there is neither waited for nor followed.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&at.path).ok()?;
        let meta = file.metadata().ok()?;
        if !is_our_file(&meta, geteuid()) || meta.nlink() != 1 {
            return None;
        }
        file.try_lock().ok()?;
        // The record of its last use, by which files are removed when there are too many. Without it one looks less used.
        let _unrecorded = futimens(&file, &Timestamps { last_access: NOW, last_modification: NOW });
        let bytes_max = at.bytes_max;
        let mut pack =
            Pack { file, bytes_max, free_bytes_min, header: header(compatibility), index: HashMap::default(), end: 0 };
        pack.read_index().ok()?;
        Some(Self { pack: Mutex::new(pack) })
    }

    fn lock(&self) -> MutexGuard<'_, Pack> {
        self.pack.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheStore for FunctionStore {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.lock().get(key.try_into().ok()?).map(Cow::Owned)
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        key.try_into().is_ok_and(|key| self.lock().insert(key, &value).is_ok())
    }
}

impl fmt::Debug for FunctionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionStore").field("entries", &self.lock().index.len()).finish_non_exhaustive()
    }
}

impl Pack {
    fn read_index(&mut self) -> io::Result<()> {
        let bytes = self.file.metadata()?.len();
        let mut found = [0; HEADER_BYTES];
        let known = bytes >= HEADER_BYTES as u64 && bytes <= self.bytes_max && {
            self.file.read_exact_at(&mut found, 0)?;
            found == self.header
        };
        if !known {
            return self.start_afresh();
        }
        self.end = HEADER_BYTES as u64;
        while let Some((key, place)) = self.entry_at(self.end, bytes) {
            if self.index.len() >= ENTRIES_MAX {
                return self.start_afresh();
            }
            self.index.insert(key, place);
            self.end = place.end();
        }
        if self.end < bytes { self.file.set_len(self.end) } else { Ok(()) }
    }

    /// Reads the head of the entry at `at`, if there is a whole one before `bytes`.
    fn entry_at(&self, at: u64, bytes: u64) -> Option<(Key, Place)> {
        let mut head = [0; ENTRY_HEADER_BYTES];
        self.file.read_exact_at(&mut head, at).ok()?;
        let rest = head.strip_prefix(&ENTRY_MARK)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let place = Place { entry: at, value_bytes: u32::from_le_bytes(*length) };
        (place.end() <= bytes).then_some((*rest.first_chunk()?, place))
    }

    fn get(&mut self, key: Key) -> Option<Vec<u8>> {
        let place = *self.index.get(&key)?;
        let mut entry = vec![0; ENTRY_HEADER_BYTES + place.value_bytes as usize];
        let read = self.file.read_exact_at(&mut entry, place.entry);
        let value = entry.split_off(ENTRY_HEADER_BYTES);
        if read.is_ok() && entry == head(&key, &value) {
            return Some(value);
        }
        // What is compiled in its place is appended under the same key.
        self.index.remove(&key);
        None
    }

    fn insert(&mut self, key: Key, value: &[u8]) -> io::Result<()> {
        let value_bytes = u32::try_from(value.len()).map_err(io::Error::other)?;
        let mut place = Place { entry: self.end, value_bytes };
        if place.end() > self.bytes_max || self.index.len() >= ENTRIES_MAX {
            self.start_afresh()?;
            place.entry = self.end;
            if place.end() > self.bytes_max {
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
        }
        let entry = [head(&key, value).as_slice(), value].concat();
        self.leave_room(entry.len() as u64)?;
        self.file.write_all_at(&entry, place.entry)?;
        self.index.insert(key, place);
        self.end = place.end();
        Ok(())
    }

    /// Fails when so many bytes more would fill the file system, which the image needs as well.
    fn leave_room(&self, bytes: u64) -> io::Result<()> {
        let found = fstatvfs(&self.file)?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        let is_enough = free >= self.free_bytes_min.saturating_add(bytes);
        if is_enough { Ok(()) } else { Err(io::Error::from(io::ErrorKind::StorageFull)) }
    }

    fn start_afresh(&mut self) -> io::Result<()> {
        self.index.clear();
        self.file.set_len(0)?;
        self.file.write_all_at(&self.header, 0)?;
        self.end = HEADER_BYTES as u64;
        Ok(())
    }
}

impl Place {
    fn end(&self) -> u64 {
        self.entry.saturating_add(ENTRY_HEADER_BYTES as u64 + u64::from(self.value_bytes))
    }
}

fn header(compatibility: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..16].copy_from_slice(&HEADER_MARK);
    header[16..24].copy_from_slice(&FORMAT.to_le_bytes());
    header[24..].copy_from_slice(&compatibility.to_le_bytes());
    header
}

/// The head that belongs before `value`.
fn head(key: &Key, value: &[u8]) -> Vec<u8> {
    let checksum = *blake3::Hasher::new().update(key).update(value).finalize().as_bytes();
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&ENTRY_MARK[..], &length, key, &checksum].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINE: u64 = 7;

    /// Opens a file that nobody else has open, though a process that another test is starting may hold its lock until it
    /// runs its program.
    fn opened(at: &FunctionsAt, engine: u64) -> FunctionStore {
        let mut looks = std::iter::repeat_with(|| {
            std::thread::yield_now();
            FunctionStore::open(at, engine)
        });
        looks.by_ref().take(1_000_000).flatten().next().expect("it is free again soon")
    }

    fn at(dir: &tempfile::TempDir, bytes_max: u64) -> FunctionsAt {
        FunctionsAt { path: dir.path().join("functions"), bytes_max }
    }

    fn key(number: u8) -> Key {
        [number; KEY_BYTES]
    }

    fn got(store: &FunctionStore, number: u8) -> Option<Vec<u8>> {
        store.get(&key(number)).map(Cow::into_owned)
    }

    /// A file with the values 1, 2 and 3, each under its own key.
    fn three(at: &FunctionsAt) -> Vec<u8> {
        let store = FunctionStore::open(at, ENGINE).unwrap();
        for number in 1..=3 {
            assert!(store.insert(&key(number), vec![number; 20]));
        }
        std::fs::read(&at.path).unwrap()
    }

    #[test]
    fn values_are_found_in_this_and_in_a_later_opening() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, 1 << 20);
        three(&at);
        let store = opened(&at, ENGINE);
        assert!(store.insert(&key(4), vec![4; 20]));
        for number in 1..=4 {
            assert_eq!(got(&store, number), Some(vec![number; 20]));
        }
        assert_eq!(got(&store, 5), None);
    }

    #[test]
    fn no_flipped_bit_becomes_another_value() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, 1 << 20);
        let sound = three(&at);
        for bit in 0..sound.len() * 8 {
            let mut damaged = sound.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&at.path, damaged).unwrap();
            let store = opened(&at, ENGINE);
            let found = (1..=3).filter(|number| {
                let value = got(&store, *number);
                assert!(value.is_none() || value == Some(vec![*number; 20]), "bit {bit}: {value:?}");
                value.is_some()
            });
            assert!(found.count() < 3, "bit {bit} went unnoticed");
            assert!(store.insert(&key(1), vec![1; 20]) && got(&store, 1) == Some(vec![1; 20]));
        }
    }

    #[test]
    fn a_file_cut_anywhere_gives_what_is_whole_and_takes_more() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, 1 << 20);
        let whole = three(&at);
        let entry = ENTRY_HEADER_BYTES + 20;
        for length in 0..whole.len() {
            std::fs::write(&at.path, &whole[..length]).unwrap();
            let store = opened(&at, ENGINE);
            let entries = length.saturating_sub(HEADER_BYTES) / entry;
            let found = (1..=3).filter(|number| got(&store, *number).is_some()).count();
            assert_eq!(found, entries, "{length} bytes");
            assert!(store.insert(&key(9), vec![9; 20]));
            drop(store);
            assert_eq!(got(&opened(&at, ENGINE), 9), Some(vec![9; 20]));
        }
    }

    #[test]
    fn another_engine_starts_afresh() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, 1 << 20);
        three(&at);
        assert_eq!(got(&opened(&at, ENGINE + 1), 1), None);
        assert_eq!(at.path.metadata().unwrap().len(), HEADER_BYTES as u64);
    }

    #[test]
    fn a_full_file_starts_afresh_and_never_exceeds_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, (HEADER_BYTES + 2 * (ENTRY_HEADER_BYTES + 20)) as u64);
        let store = opened(&at, ENGINE);
        for number in 1..=3 {
            assert!(store.insert(&key(number), vec![number; 20]));
            assert!(at.path.metadata().unwrap().len() <= at.bytes_max);
        }
        assert_eq!([1, 2, 3].map(|number| got(&store, number).is_some()), [false, false, true]);
        assert!(!store.insert(&key(4), vec![4; 200]), "a value that is larger than the file may be");
    }

    #[test]
    fn a_link_or_a_pipe_in_its_place_is_neither_read_nor_written() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, 1 << 20);
        let other = dir.path().join("other");
        std::fs::write(&other, "somebody's").unwrap();
        std::os::unix::fs::symlink(&other, &at.path).unwrap();
        assert!(FunctionStore::open(&at, ENGINE).is_none());
        std::fs::remove_file(&at.path).unwrap();
        std::fs::hard_link(&other, &at.path).unwrap();
        assert!(FunctionStore::open(&at, ENGINE).is_none());
        assert_eq!(std::fs::read(&other).unwrap(), b"somebody's");
        std::fs::remove_file(&at.path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&at.path).status().unwrap().success());
        assert!(FunctionStore::open(&at, ENGINE).is_none());
    }

    #[test]
    fn a_file_system_that_is_nearly_full_keeps_what_there_is_and_takes_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, 1 << 20);
        let before = three(&at);
        let store = FunctionStore::open_leaving(1 << 60, &at, ENGINE).unwrap();
        assert!(!store.insert(&key(4), vec![4; 20]));
        assert_eq!(got(&store, 3), Some(vec![3; 20]));
        assert_eq!(std::fs::read(&at.path).unwrap(), before);
    }

    #[test]
    fn who_comes_second_goes_without() {
        let dir = tempfile::tempdir().unwrap();
        let at = at(&dir, 1 << 20);
        let first = opened(&at, ENGINE);
        assert!(FunctionStore::open(&at, ENGINE).is_none());
        drop(first);
        assert!(FunctionStore::open(&at, ENGINE).is_some());
    }
}
