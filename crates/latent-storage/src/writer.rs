//! The one writer: commits changes, and finds out after a failure what became of the last one.
//!
//! Invariant: the file holds the records of `summary`, or it is closed and `doubt` says what else it may hold. A change
//! that was answered with an error is not in the file, or is taken out before the next one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use redb::ReadTransaction;

use crate::directory::{DATABASE_NAME, Directory};
use crate::disk::{Blocks, Presence};
use crate::records::{Contents, Edit, Failure, Records, Summary, WriteFailure};
use crate::refusal::Refusal;

/// Writes to the database of a directory.
pub(crate) struct Writer {
    directory: Arc<Directory>,
    cache_bytes: usize,
    /// Closed after a failure, and opened again for the next change.
    open: Option<Records>,
    summary: Summary,
    doubt: Option<Doubt>,
    latest: Latest,
}

/// A change that failed late enough to be in the file nevertheless.
struct Doubt {
    attempted: Summary,
    undo: Vec<Edit>,
}

impl Writer {
    /// Opens the database of `directory`, making an empty one if there is none, and reads all of it.
    pub(crate) fn open(directory: Arc<Directory>, cache_bytes: usize) -> Result<(Self, Contents), Refusal> {
        let file = directory.database_file();
        if directory.database()?.is_none() {
            create(&directory, cache_bytes)?;
        }
        let blocks = directory.database()?.ok_or_else(|| Refusal::damaged(&file, "it is gone"))?;
        let records = Records::open(blocks, cache_bytes).map_err(refusal(&file))?;
        let contents = records.snapshot().and_then(|snapshot| Contents::read(&snapshot)).map_err(refusal(&file))?;
        let summary = contents.summary;
        let latest = Latest(directory.latest(Presence::Required)?);
        latest.check(&summary, &file)?;
        Ok((Self { directory, cache_bytes, open: Some(records), summary, doubt: None, latest }, contents))
    }

    /// The generation of the catalog that was written last.
    pub(crate) fn generation(&self) -> u64 {
        self.summary.generation
    }

    /// Writes a change. It is durable when this returns, and not there when it fails.
    pub(crate) fn commit(&mut self, edits: Vec<Edit>, generation: u64) -> Result<(), Refusal> {
        let before = self.opened()?.1;
        let written = self.opened()?.0.write(edits, &before, generation);
        match written {
            Ok(after) => {
                self.summary = after;
                self.latest.note(&after, &self.directory);
                Ok(())
            }
            Err(WriteFailure::Undone(failure)) => {
                self.close();
                Err(refusal(Path::new(DATABASE_NAME))(failure))
            }
            Err(WriteFailure::Doubtful { failure, attempted, undo }) => {
                self.close();
                self.doubt = Some(Doubt { attempted, undo });
                // If the file cannot be opened right now, the next change finds out.
                let _not_yet = self.opened();
                Err(refusal(Path::new(DATABASE_NAME))(failure))
            }
        }
    }

    /// The state of the database at this moment, whatever is written meanwhile.
    pub(crate) fn snapshot(&mut self) -> Result<ReadTransaction, Refusal> {
        self.opened()?.0.snapshot().map_err(refusal(Path::new(DATABASE_NAME)))
    }

    /// The database, opened again if a failure closed it, with its summary.
    fn opened(&mut self) -> Result<(&Records, Summary), Refusal> {
        if self.open.is_none() {
            self.reopen().map_err(Refusal::without_directory)?;
        }
        let records = self.open.as_ref().ok_or_else(|| Refusal::damaged(Path::new(DATABASE_NAME), "it is closed"))?;
        Ok((records, self.summary))
    }

    fn reopen(&mut self) -> Result<(), Refusal> {
        let file = Path::new(DATABASE_NAME);
        let blocks = self.directory.database()?.ok_or_else(|| Refusal::damaged(file, "it is missing"))?;
        let records = Records::open(blocks, self.cache_bytes).map_err(refusal(file))?;
        let found = records.summary().map_err(refusal(file))?;
        let is_attempted = |doubt: &&Doubt| doubt.attempted == found;
        if found.has_same_records(&self.summary) {
            self.summary = found;
        } else if let Some(doubt) = self.doubt.as_ref().filter(is_attempted) {
            let undone = records.write(doubt.undo.clone(), &found, self.summary.generation);
            self.summary = undone.map_err(|failed| refusal(file)(failed.into_failure()))?;
        } else {
            return Err(Refusal::damaged(file, "it is not what was written last"));
        }
        self.doubt = None;
        self.open = Some(records);
        Ok(())
    }

    fn close(&mut self) {
        let open = self.open.take();
        // Closing writes, which can fail on a failing disk; opening again repairs.
        let _failed = catch_unwind(AssertUnwindSafe(|| drop(open)));
    }
}

/// Makes an empty database and gives it its name once it is complete.
fn create(directory: &Directory, cache_bytes: usize) -> Result<(), Refusal> {
    let (staged, blocks) = directory.stage_database()?;
    let records = Records::open(blocks.clone(), cache_bytes).map_err(refusal(Path::new(DATABASE_NAME)))?;
    records.initialise().map_err(refusal(Path::new(DATABASE_NAME)))?;
    drop(records);
    blocks.sync().map_err(Refusal::io("write", Path::new(DATABASE_NAME)))?;
    directory.place_database(staged)
}

/// What the database's failure means for `file`.
pub(crate) fn refusal(file: &Path) -> impl FnOnce(Failure) -> Refusal {
    let file = file.to_owned();
    move |failure| match failure {
        Failure::Io(error) => Refusal::Io { doing: "read or write", file, error },
        Failure::Damaged(what) => Refusal::Damaged { file, what },
    }
}

/// A note of what was acknowledged last, beside the database. A bit that flips in the database's header can lead it
/// back to the state before; the note tells. It is written without waiting for the disk, and one that is missing or does
/// not read says nothing.
pub(crate) struct Latest(Option<Arc<dyn Blocks>>);

/// One write, which the disk does not tear.
const NOTE_BYTES: usize = 128;

impl Latest {
    pub(crate) fn of(directory: &Directory) -> Result<Self, Refusal> {
        directory.latest(Presence::Required).map(Self)
    }

    /// Says whether the database can have these records.
    pub(crate) fn check(&self, found: &Summary, file: &Path) -> Result<(), Refusal> {
        match self.noted() {
            Some(noted) if noted.commit > found.commit || (noted.commit == found.commit && noted != *found) => {
                let what = format_args!("it is at change {} and {} was acknowledged", found.commit, noted.commit);
                Err(Refusal::damaged(file, what))
            }
            _ => Ok(()),
        }
    }

    fn noted(&self) -> Option<Summary> {
        let mut note = [0; NOTE_BYTES];
        self.0.as_ref()?.read_at(0, &mut note).ok()?;
        let (length, rest) = note.split_first()?;
        Summary::from_bytes(rest.get(..usize::from(*length))?).ok()
    }

    fn note(&mut self, summary: &Summary, directory: &Directory) {
        if self.0.is_none() {
            self.0 = directory.latest(Presence::Created).ok().flatten();
        }
        let Some(blocks) = &self.0 else { return };
        let bytes = summary.to_bytes();
        let mut note = [0; NOTE_BYTES];
        note[0] = u8::try_from(bytes.len()).expect("a summary is shorter than a note");
        note[1..=bytes.len()].copy_from_slice(&bytes);
        // Without it, one kind of damage would go unnoticed; the change itself is durable.
        let _unnoted = blocks.write_at(0, &note);
    }
}

const _: () = assert!(Summary::BYTES_MAX < NOTE_BYTES);
