//! The directory of images: how files are called, who may be there, and who has to leave.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use latent_core::Sha256Digest;
use latent_executor::PreparationKey;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Uid, geteuid};

use super::ImageLimits;
use super::seal::FORMAT;

const SUFFIX: &str = ".image";
const STAGED_PREFIX: &str = "staged-";
const DIGEST_DIGITS: usize = 64;
const COMPATIBILITY_DIGITS: usize = 16;

/// What an image is called: `<digest>-<compatibility>-<format>.image`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    pub digest: Sha256Digest,
    compatibility: u64,
    format: u32,
}

impl Name {
    /// The name of the image of `key` in today's format.
    pub fn of(key: PreparationKey) -> Self {
        Self { digest: key.digest(), compatibility: key.compatibility(), format: FORMAT }
    }

    /// Reads a file's name; `None` for a file that is not ours.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_suffix(SUFFIX)?.split('-');
        let (digest, compatibility, format) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || digest.len() != DIGEST_DIGITS || compatibility.len() != COMPATIBILITY_DIGITS {
            return None;
        }
        let name = Self {
            digest: Sha256Digest::parse(digest)?,
            compatibility: u64::from_str_radix(compatibility, 16).ok()?,
            format: format.parse().ok()?,
        };
        (name.to_string() == text).then_some(name)
    }

    fn serves(&self, compatibility: u64) -> bool {
        self.compatibility == compatibility && self.format == FORMAT
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}-{}{SUFFIX}", self.digest, self.compatibility, self.format)
    }
}

/// One image as the directory shows it.
#[derive(Debug)]
pub struct Entry {
    pub name: Name,
    pub bytes: u64,
    pub used: SystemTime,
}

/// Makes `dir` if need be, for this user only: what it holds is run. A symbolic link in its place is refused, for its
/// target may be changed by others.
pub fn prepare(dir: &Path) -> io::Result<()> {
    // With a slash at its end a path names what the link at its end leads to.
    let dir: &Path = &dir.components().collect::<PathBuf>();
    if dir.is_symlink() {
        let message = format!("{} is a symbolic link; name the directory it leads to", dir.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let meta = dir.symlink_metadata()?;
    if meta.uid() != geteuid().as_raw() {
        let message = format!("{} belongs to another user; what it holds would be run here", dir.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    if meta.mode() & 0o777 != 0o700 {
        std::fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The images in `dir`. Files that are not ours are passed over, and so is what disappears meanwhile.
pub fn scan(dir: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in dir.read_dir()? {
        let file = file?;
        let Some(name) = file.file_name().to_str().and_then(Name::parse) else { continue };
        let Ok(meta) = file.metadata() else { continue };
        entries.push(Entry { name, bytes: meta.len(), used: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH) });
    }
    Ok(entries)
}

/// Who has to leave, least recently used first, until `limits` hold with a sixteenth to spare, so that a full directory
/// is not read anew for every image. `newest` stays.
pub fn least_used(mut entries: Vec<Entry>, newest: Option<Name>, limits: ImageLimits) -> Vec<Entry> {
    let mut count = entries.len() as u64;
    let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let (count_max, bytes_max) = (spared(limits.count_max), spared(limits.bytes_max));
    entries.retain(|entry| Some(entry.name) != newest);
    entries.sort_by_key(|entry| entry.used);
    let leaving = entries.into_iter().take_while(|entry| {
        let over = count > count_max || bytes > bytes_max;
        count -= u64::from(over);
        bytes -= if over { entry.bytes } else { 0 };
        over
    });
    leaving.collect()
}

fn spared(max: u64) -> u64 {
    max - max / 16
}

/// Components that no entry serves under `compatibility`, the most recently used first.
pub fn stale(entries: Vec<Entry>, compatibility: u64) -> Vec<Sha256Digest> {
    let served: HashSet<_> =
        entries.iter().filter(|entry| entry.name.serves(compatibility)).map(|entry| entry.name.digest).collect();
    let mut used: HashMap<Sha256Digest, SystemTime> = HashMap::new();
    for entry in entries.into_iter().filter(|entry| !served.contains(&entry.name.digest)) {
        let last = used.entry(entry.name.digest).or_insert(entry.used);
        *last = (*last).max(entry.used);
    }
    let mut stale: Vec<_> = used.into_iter().collect();
    stale.sort_by_key(|(digest, used)| (std::cmp::Reverse(*used), *digest));
    stale.into_iter().map(|(digest, _)| digest).collect()
}

/// Opens a regular file of this user for reading; anything else is none.
pub fn open_regular(path: &Path) -> Option<File> {
    open_regular_of(path, geteuid())
}

/// Whether this is a regular file that `user` owns.
pub fn is_our_file(meta: &Metadata, user: Uid) -> bool {
    meta.is_file() && meta.uid() == user.as_raw()
}

fn open_regular_of(path: &Path, user: Uid) -> Option<File> {
    // Opening a pipe that somebody put there must not wait for its other end.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().is_ok_and(|meta| is_our_file(&meta, user)).then_some(file)
}

/// Whether `path` names `file`.
pub fn is_at(path: &Path, file: &File) -> bool {
    let (Ok(there), Ok(ours)) = (path.symlink_metadata(), file.metadata()) else { return false };
    (there.dev(), there.ino()) == (ours.dev(), ours.ino())
}

/// The name of this process's staged file with this number.
pub fn staged_name(number: u64) -> String {
    format!("{STAGED_PREFIX}{}-{number}", std::process::id())
}

/// Makes a staged file and locks it for as long as it is open. `None` when the name is taken, or was swept away between
/// the two.
pub fn create_staged(path: &Path) -> io::Result<Option<File>> {
    let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    let file = match made {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok((file.try_lock().is_ok() && is_at(path, &file)).then_some(file))
}

/// Removes the staged files that nobody holds open any more.
pub fn remove_abandoned(dir: &Path) -> io::Result<()> {
    for entry in dir.read_dir()? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| name.starts_with(STAGED_PREFIX)) {
            continue;
        }
        let path = entry.path();
        let abandoned = open_regular(&path).filter(|file| file.try_lock().is_ok());
        if abandoned.is_some_and(|file| is_at(&path, &file)) {
            // Another process may have swept it away just now.
            let _swept = std::fs::remove_file(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_user_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        std::fs::write(&path, "code").unwrap();
        assert!(open_regular(&path).is_some());
        let other = Uid::from_raw(geteuid().as_raw() + 1);
        assert!(open_regular_of(&path, other).is_none());
    }

    #[test]
    fn a_symbolic_link_in_place_of_the_directory_is_refused_however_it_is_written() {
        let scratch = tempfile::tempdir().unwrap();
        let (target, link) = (scratch.path().join("target"), scratch.path().join("link"));
        std::fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let slashed = PathBuf::from(format!("{}/", link.display()));
        for dir in [link, slashed] {
            let error = prepare(&dir).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
        prepare(&target).unwrap();
    }
}
