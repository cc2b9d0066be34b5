//! The database: five tables of checked records, changed by one transaction at a time.
//!
//! Invariant: every record carries its own fingerprint, and the summary, written by the same transaction, those of all
//! records together. So a record that changed, is gone or came from elsewhere is noticed, whatever the database thinks of it.

mod backend;
mod contents;
mod summary;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use redb::{ReadTransaction, ReadableDatabase as _, TableDefinition, WriteTransaction};

use crate::disk::Blocks;
use backend::Backend;
pub(crate) use backend::Overlay;
pub(crate) use contents::{Contents, visit};
pub(crate) use summary::Summary;

type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// The one record of this table is the [`Summary`].
const SUMMARY: Definition = TableDefinition::new("summary");
const SUMMARY_KEY: &[u8] = b"summary";

/// Bytes before every value.
const FINGERPRINT_BYTES: usize = size_of::<u128>();

/// Tables of records. The number is part of every fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Releases = 1,
    Deployments = 2,
    Quotas = 3,
    Documents = 4,
}

impl Table {
    pub(crate) const ALL: [Self; 4] = [Self::Releases, Self::Deployments, Self::Quotas, Self::Documents];

    fn name(self) -> &'static str {
        match self {
            Self::Releases => "releases",
            Self::Deployments => "deployments",
            Self::Quotas => "quotas",
            Self::Documents => "documents",
        }
    }

    fn definition(self) -> Definition {
        TableDefinition::new(self.name())
    }
}

/// One record to be written, or with no value, removed.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) table: Table,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

/// Why the database did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The operating system failed.
    Io(io::Error),
    /// What is in the file is not what was written.
    Damaged(String),
}

/// A change that was not acknowledged.
#[derive(Debug)]
pub(crate) enum WriteFailure {
    /// It is not in the file.
    Undone(Failure),
    /// It may be in the file: then the file has the summary `attempted`, and `undo` takes it back.
    Doubtful { failure: Failure, attempted: Summary, undo: Vec<Edit> },
}

/// The open database. Dropping it closes it.
pub(crate) struct Records {
    database: redb::Database,
}

impl Records {
    /// Opens the database in `blocks` and verifies all of it; makes an empty one of an empty file.
    pub(crate) fn open(blocks: Arc<dyn Blocks>, cache_bytes: usize) -> Result<Self, Failure> {
        Self::on(Backend(blocks), cache_bytes)
    }

    /// Opens the database in a file that stays as it is.
    pub(crate) fn look(file: Overlay, cache_bytes: usize) -> Result<Self, Failure> {
        Self::on(file, cache_bytes)
    }

    fn on(backend: impl redb::StorageBackend, cache_bytes: usize) -> Result<Self, Failure> {
        guarded(|| {
            let mut builder = redb::Builder::new();
            builder.set_cache_size(cache_bytes).set_check_integrity_on_open(true);
            Ok(Self { database: builder.create_with_backend(backend)? })
        })
    }

    /// Makes all tables, and the first summary.
    pub(crate) fn initialise(&self) -> Result<(), Failure> {
        guarded(|| {
            let transaction = self.database.begin_write()?;
            for table in Table::ALL {
                transaction.open_table(table.definition())?;
            }
            put_summary(&transaction, &Summary::default())?;
            Ok(transaction.commit()?)
        })
    }

    /// The state of the database at this moment, whatever is written meanwhile.
    pub(crate) fn snapshot(&self) -> Result<ReadTransaction, Failure> {
        guarded(|| Ok(self.database.begin_read()?))
    }

    /// The summary as it is written.
    pub(crate) fn summary(&self) -> Result<Summary, Failure> {
        let snapshot = self.snapshot()?;
        guarded(|| contents::summary(&snapshot))
    }

    /// Writes `edits` durably, on the state whose summary is `before`.
    pub(crate) fn write(&self, edits: Vec<Edit>, before: &Summary, generation: u64) -> Result<Summary, WriteFailure> {
        let begun = guarded(|| {
            let transaction = self.database.begin_write()?;
            let (after, undo) = edit(&transaction, edits, before)?;
            let after = Summary { commit: before.commit + 1, generation, ..after };
            put_summary(&transaction, &after)?;
            Ok((transaction, after, undo))
        });
        let (transaction, after, undo) = begun.map_err(WriteFailure::Undone)?;
        match guarded(|| Ok(transaction.commit()?)) {
            Ok(()) => Ok(after),
            Err(failure) => Err(WriteFailure::Doubtful { failure, attempted: after, undo }),
        }
    }
}

/// Does the edits, and says how they add up and what would take them back.
fn edit(transaction: &WriteTransaction, edits: Vec<Edit>, before: &Summary) -> Result<(Summary, Vec<Edit>), Failure> {
    let (mut after, mut undo) = (*before, Vec::with_capacity(edits.len()));
    for Edit { table, key, value } in edits {
        let mut records = transaction.open_table(table.definition())?;
        let replaced = match &value {
            Some(value) => {
                let fingerprint = summary::fingerprint(table as u8, &key, value);
                after.add(fingerprint);
                let framed = [&fingerprint.to_be_bytes()[..], value].concat();
                let replaced = records.insert(&*key, &*framed)?;
                replaced.map(|replaced| replaced.value().to_vec())
            }
            None => records.remove(&*key)?.map(|removed| removed.value().to_vec()),
        };
        let replaced = match replaced {
            Some(framed) => {
                let (fingerprint, value) = contents::unframed(table, &key, &framed)?;
                after.take(fingerprint);
                Some(value.to_vec())
            }
            None => None,
        };
        undo.push(Edit { table, key, value: replaced });
    }
    undo.reverse();
    Ok((after, undo))
}

fn put_summary(transaction: &WriteTransaction, summary: &Summary) -> Result<(), Failure> {
    let mut table = transaction.open_table(SUMMARY)?;
    table.insert(SUMMARY_KEY, &*summary.to_bytes())?;
    Ok(())
}

/// Runs `work`; the database may panic on a file that is damaged in a way that it does not expect.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // Whatever panicked is closed and opened again before anything else is asked of it.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_panic| Err(Failure::Damaged("the database gave up on what it found in its file".to_owned())))
}

impl WriteFailure {
    /// What happened, whatever became of the change.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Undone(failure) | Self::Doubtful { failure, .. } => failure,
        }
    }
}

impl Failure {
    fn of(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error)
                if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
            {
                Self::Damaged(error.to_string())
            }
            redb::Error::Io(error) => Self::Io(error),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Self::Io(io::Error::other(error.to_string())),
            error => Self::Damaged(error.to_string()),
        }
    }
}

macro_rules! from_redb {
    ($($error:ident),*) => {$(
        impl From<redb::$error> for Failure {
            fn from(error: redb::$error) -> Self {
                Self::of(error.into())
            }
        }
    )*};
}
from_redb!(CommitError, DatabaseError, StorageError, TableError, TransactionError);
