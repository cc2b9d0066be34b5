//! What a process itself holds: memory and descriptors, read from the system.

use std::fs;
use std::io;
use std::time::Duration;

/// A process of this machine, by what the system calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process(String);

impl Process {
    /// The one with this number.
    #[must_use]
    pub fn of(id: u32) -> Self {
        Self(id.to_string())
    }

    /// This one.
    #[must_use]
    pub fn this() -> Self {
        Self("self".to_owned())
    }

    /// Resident bytes.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        let statm = fs::read_to_string(self.file("statm"))?;
        let pages = statm.split(' ').nth(1).and_then(|field| field.parse::<u64>().ok());
        let pages = pages.ok_or_else(|| io::Error::other("the second field of statm is no number of pages"))?;
        Ok(pages * 4096)
    }

    /// Time that its threads which are there now have spent on a processor.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn processor_time(&self) -> io::Result<Duration> {
        let of_thread = |thread: io::Result<fs::DirEntry>| {
            // A thread that has ended since the listing says nothing any more.
            let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        Ok(Duration::from_nanos(fs::read_dir(self.file("task"))?.filter_map(of_thread).sum()))
    }

    /// Open descriptors; for this process itself, the one of the listing is among them.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn descriptors(&self) -> io::Result<usize> {
        Ok(fs::read_dir(self.file("fd"))?.count())
    }

    /// Threads.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn threads(&self) -> io::Result<usize> {
        Ok(fs::read_dir(self.file("task"))?.count())
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.0)
    }
}

/// Resident bytes of this process.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn resident_bytes() -> u64 {
    Process::this().resident_bytes().expect("the system tells memory")
}

/// Time that the threads of this process which are there now have spent on a processor.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn processor_time() -> Duration {
    Process::this().processor_time().expect("the system lists threads")
}

/// Open descriptors of this process.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn descriptors() -> usize {
    // The listing itself holds one.
    Process::this().descriptors().expect("the system lists descriptors") - 1
}

/// Threads of this process.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn threads() -> usize {
    Process::this().threads().expect("the system lists threads")
}
