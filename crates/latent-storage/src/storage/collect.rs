//! Removing component files that nobody owns.
//!
//! Invariant: a file is removed under the lock under which publications name theirs and commit, so that none can come
//! to own it in between; and not while a backup copies files.

use std::sync::TryLockError;

use latent_core::PlatformError;

use super::Storage;
use crate::refusal::Refusal;

/// What a collection did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Files removed.
    pub files: u64,
    /// Whether nothing was looked at, because a backup is being made. Collect again later.
    pub is_postponed: bool,
}

impl Storage {
    /// Removes the components that no release has any more. Changes go on between one file and the next. A directory
    /// that has the name of one stays, like everything that is no component.
    ///
    /// # Errors
    /// `resource-exhausted` or `unavailable` when the disk fails; what is left is removed by the next collection.
    pub fn collect(&self) -> Result<Collected, PlatformError> {
        let _alone = match self.copying.try_write() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(Collected { files: 0, is_postponed: true }),
        };
        let mut collected = Collected::default();
        for digest in self.directory.components()? {
            if self.index().is_owned(&digest) {
                continue;
            }
            let _writer = self.writer();
            if !self.index().is_owned(&digest) {
                match self.directory.remove_component(&digest) {
                    Ok(()) => collected.files += 1,
                    Err(Refusal::WrongKind { .. }) => {}
                    Err(failed) => return Err(failed.into()),
                }
            }
        }
        if collected.files > 0 {
            self.directory.sync_components()?;
        }
        Ok(collected)
    }
}
