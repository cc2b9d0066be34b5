//! When a file that others write is whole again. Pure, but for one look at the disk.
//!
//! Invariant: a file is taken once it was found the same at two looks in a row and differs from what was taken last.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

/// What tells one content of a file from the next without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    modified: SystemTime,
    size: u64,
    inode: u64,
}

impl Stamp {
    /// The stamp of the file at `path`. `None` while there is none that could be read.
    pub fn of(path: &Path) -> Option<Self> {
        let about = path.metadata().ok()?;
        Some(Self { modified: about.modified().ok()?, size: about.size(), inode: about.ino() })
    }
}

/// One file that is looked at again and again.
#[derive(Debug, Default)]
pub struct Watch {
    taken: Option<Stamp>,
    changing: Option<Stamp>,
}

impl Watch {
    /// The file was taken as it is now.
    pub fn tried(&mut self, now: Option<Stamp>) {
        *self = Self { taken: now, changing: None };
    }

    /// Whether the file, which was just found so, is to be taken.
    pub fn look(&mut self, found: Option<Stamp>) -> bool {
        let is_settled = found.is_some() && found == self.changing;
        if is_settled {
            self.tried(found);
        } else {
            // What is gone may be about to be replaced.
            self.changing = found.filter(|_| found != self.taken);
        }
        is_settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Stamp {
        Stamp { modified: SystemTime::UNIX_EPOCH, size, inode: 1 }
    }

    fn looks(watch: &mut Watch, sizes: &[Option<u64>]) -> Vec<bool> {
        sizes.iter().map(|size| watch.look(size.map(stamp))).collect()
    }

    #[test]
    fn a_file_that_stays_the_same_is_left_alone() {
        let mut watch = Watch::default();
        watch.tried(Some(stamp(1)));
        assert_eq!(looks(&mut watch, &[Some(1), Some(1), Some(1)]), [false; 3]);
    }

    #[test]
    fn a_change_is_taken_once_when_it_has_been_the_same_for_a_turn() {
        let mut watch = Watch::default();
        watch.tried(Some(stamp(1)));
        assert_eq!(looks(&mut watch, &[Some(2), Some(3), Some(3), Some(3)]), [false, false, true, false]);
    }

    #[test]
    fn a_file_that_was_away_for_a_moment_is_taken_only_if_it_differs() {
        let mut watch = Watch::default();
        watch.tried(Some(stamp(1)));
        assert_eq!(looks(&mut watch, &[None, Some(1), Some(1)]), [false; 3]);
        assert_eq!(looks(&mut watch, &[Some(2), None, Some(2), Some(2)]), [false, false, false, true]);
    }

    #[test]
    fn a_file_that_could_not_be_seen_at_the_start_is_taken_when_it_comes() {
        let mut watch = Watch::default();
        watch.tried(None);
        assert_eq!(looks(&mut watch, &[None, Some(1), Some(1)]), [false, false, true]);
    }

    #[test]
    fn another_file_in_the_same_place_has_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        for file in [&old, &new] {
            std::fs::write(file, "same").unwrap();
        }
        let before = Stamp::of(&old);
        std::fs::rename(&new, &old).unwrap();
        assert!(before.is_some() && Stamp::of(&old) != before);
        assert_eq!(Stamp::of(&new), None);
    }
}
