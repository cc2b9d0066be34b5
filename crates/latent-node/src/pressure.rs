//! Reads how hard Linux says that the node is pressed.
//!
//! Invariant: what cannot be read is no sample. Whoever hands the answer to admission hands `None` then, and a node whose
//! policy asks for a sample is taken to be overloaded (reference, section 4).

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use latent_scheduler::admission::{MalformedPressure, PressureSample};

/// Where Linux keeps it.
pub const PRESSURE_DIRECTORY: &str = "/proc/pressure";
/// The most that is read of a file.
const FILE_BYTES_MAX: u64 = 4096;

/// Reads `cpu`, `memory` and `io` of a directory such as [`PRESSURE_DIRECTORY`]. Whoever owns it calls
/// [`sample`](Self::sample) more often than the policy's samples grow stale.
#[derive(Debug, Clone)]
pub struct PressureReader {
    directory: PathBuf,
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
    /// A reader of the files in `directory`.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Reads the three files, at `now`. Blocks for as long as the kernel takes to add up its numbers.
    ///
    /// # Errors
    /// [`PressureUnreadable`], for the first file that is missing, unreadable or malformed.
    pub fn sample(&self, now: Instant) -> Result<PressureSample, PressureUnreadable> {
        let [cpu, memory, io] = ["cpu", "memory", "io"]
            .map(|file| read(&self.directory.join(file)).map_err(|error| PressureUnreadable::Io { file, error }));
        PressureSample::parse(&cpu?, &memory?, &io?, now).map_err(PressureUnreadable::Malformed)
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
