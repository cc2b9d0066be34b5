//! Reads how hard Linux says that the node is pressed.
//!
//! Invariant: what cannot be read is no sample. Whoever hands the answer to admission hands `None` then, and a node whose
//! policy asks for a sample is taken to be overloaded (reference, section 4). The files stay open, so that a process
//! without a free descriptor knows its pressure all the same.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Instant;

use latent_scheduler::admission::{MalformedPressure, PressureSample};

/// Where Linux keeps it.
pub const PRESSURE_DIRECTORY: &str = "/proc/pressure";
/// The most that is read of a file.
const FILE_BYTES_MAX: usize = 4096;
/// The files of a directory, in the order of a sample.
const FILES: [&str; 3] = ["cpu", "memory", "io"];

/// Reads `cpu`, `memory` and `io` of a directory such as [`PRESSURE_DIRECTORY`]. Whoever owns it calls
/// [`sample`](Self::sample) more often than the policy's samples grow stale.
#[derive(Debug)]
pub struct PressureReader {
    files: [File; FILES.len()],
}

/// Why there is no sample.
#[derive(Debug)]
pub enum PressureUnreadable {
    /// A file could not be read.
    Io {
        /// Which: `cpu`, `memory` or `io`.
        file: &'static str,
        /// What the operating system said.
        error: io::Error,
    },
    /// A file does not hold what it should.
    Malformed(MalformedPressure),
}

impl fmt::Display for PressureUnreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, error } => {
                write!(
                    f,
                    "the pressure of {file} cannot be read ({error}); set the pressure source to none on this host"
                )
            }
            Self::Malformed(malformed) => malformed.fmt(f),
        }
    }
}

impl std::error::Error for PressureUnreadable {}

impl PressureReader {
    /// Opens the files in `directory`, for as long as the reader lives.
    ///
    /// # Errors
    /// [`PressureUnreadable::Io`], for the first file that cannot be opened.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, PressureUnreadable> {
        let open = |file: &'static str| {
            File::open(directory.as_ref().join(file)).map_err(|error| PressureUnreadable::Io { file, error })
        };
        let [cpu, memory, io] = FILES;
        Ok(Self { files: [open(cpu)?, open(memory)?, open(io)?] })
    }

    /// Reads the three files, at `now`. Blocks for as long as the kernel takes to add up its numbers.
    ///
    /// # Errors
    /// [`PressureUnreadable`], for the first file that is unreadable or malformed.
    pub fn sample(&self, now: Instant) -> Result<PressureSample, PressureUnreadable> {
        let [cpu, memory, io] = &self.files;
        let [cpu_named, memory_named, io_named] = FILES;
        let (cpu, memory, io) = (read(cpu, cpu_named)?, read(memory, memory_named)?, read(io, io_named)?);
        PressureSample::parse(&cpu, &memory, &io, now).map_err(PressureUnreadable::Malformed)
    }
}

/// What `file` says now, from its start; at most its first [`FILE_BYTES_MAX`] bytes.
fn read(file: &File, named: &'static str) -> Result<String, PressureUnreadable> {
    let failed = |error| PressureUnreadable::Io { file: named, error };
    let mut bytes = vec![0; FILE_BYTES_MAX];
    let mut filled = 0;
    while let Some(free) = bytes.get_mut(filled..).filter(|free| !free.is_empty()) {
        match file.read_at(free, filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    bytes.truncate(filled);
    String::from_utf8(bytes).map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))
}
