//! The directory of compiled functions: one file a tenant, and all of them together within a bound.
//!
//! Invariant: a file's name says nothing of its tenant but that it is one. A file that is removed while a child uses it
//! goes away when the child ends.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use latent_core::{Sha256Digest, TenantId};

use super::protocol::FunctionsAt;
use crate::images::prepare_directory;

/// Compiled functions, kept so that a component that changed a little is compiled in a fraction of the time. Tenants share
/// nothing.
#[derive(Debug, Clone)]
pub struct FunctionsOptions {
    /// The directory, made if need be.
    pub dir: PathBuf,
    /// Bytes of one tenant's file. Default 512 MiB, some ten large components; beyond it the file starts afresh.
    pub tenant_bytes_max: u64,
    /// Bytes of all files when a compilation begins, which adds to one of them. Default 4 GiB; beyond it those that were
    /// not used for longest are removed.
    pub bytes_max: u64,
}

impl FunctionsOptions {
    /// The defaults in `dir`.
    #[must_use]
    pub fn in_dir(dir: PathBuf) -> Self {
        Self { dir, tenant_bytes_max: 512 << 20, bytes_max: 4 << 30 }
    }

    /// Makes the directory, for this user only, and its path one that holds in any working directory.
    pub(super) fn prepare(&mut self) -> io::Result<()> {
        prepare_directory(&self.dir)?;
        self.dir = std::path::absolute(&self.dir)?;
        Ok(())
    }

    /// Where the functions of `tenant` are.
    pub(super) fn of(&self, tenant: &TenantId) -> FunctionsAt {
        let path = self.dir.join(Sha256Digest::of(tenant.as_str().as_bytes()).to_string());
        FunctionsAt { path, bytes_max: self.tenant_bytes_max }
    }

    /// Removes the least recently used files, but not `kept`, until the rest fits. What cannot be read or removed stays.
    pub(super) fn make_room(&self, kept: &FunctionsAt) {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in self.dir.read_dir().into_iter().flatten().flatten() {
            let ours = entry.file_name().to_str().is_some_and(|name| Sha256Digest::parse(name).is_some());
            let Some(meta) = entry.metadata().ok().filter(|_| ours) else { continue };
            files.push((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), meta.len(), entry.path()));
        }
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, freed, path) in files.into_iter().filter(|(.., path)| *path != kept.path) {
            if bytes <= self.bytes_max {
                return;
            }
            if std::fs::remove_file(path).is_ok() {
                bytes -= freed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_longest_unused_files_go_until_the_rest_fits_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let options = FunctionsOptions { bytes_max: 250, ..FunctionsOptions::in_dir(dir.path().to_owned()) };
        let at = ["a", "b", "c", "d"].map(|tenant| options.of(&TenantId::new(tenant).unwrap()));
        for (age, at) in at.iter().enumerate() {
            std::fs::write(&at.path, [0; 100]).unwrap();
            let used = SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age as u64);
            std::fs::File::options().write(true).open(&at.path).unwrap().set_modified(used).unwrap();
        }
        std::fs::write(dir.path().join("not-ours"), [0; 1000]).unwrap();
        // The oldest is the one that is about to be used.
        options.make_room(&at[3]);
        assert_eq!(at.map(|at| at.path.exists()), [true, false, false, true]);
        assert!(dir.path().join("not-ours").exists());
    }
}
