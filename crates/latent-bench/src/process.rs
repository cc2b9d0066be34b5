//! What a process itself holds: memory and descriptors, read from the system.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::Pid;

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

    /// Open descriptors, without those of compiled components that it keeps in memory, of which there is a bounded number.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn descriptors_without_components(&self) -> io::Result<usize> {
        let targets = fs::read_dir(self.file("fd"))?.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        Ok(targets.filter(|target| !is_of_component(&target.to_string_lossy())).count())
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

/// Whether a descriptor that leads to `target` belongs to a compiled component: its image, or the memory of a module.
#[must_use]
pub fn is_of_component(target: &str) -> bool {
    target.contains(".image") || target.contains("memfd:")
}

/// Resident bytes of this process.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn resident_bytes() -> u64 {
    Process::this().resident_bytes().expect("the system tells memory")
}

/// Resident bytes of another process.
///
/// # Errors
/// When there is no such process any more.
pub fn resident_bytes_of(id: Pid) -> Result<u64, String> {
    let process = Process::of(id.as_raw_nonzero().get().cast_unsigned());
    process.resident_bytes().map_err(|error| format!("the process {}: {error}", id.as_raw_nonzero()))
}

/// Open descriptors of another process.
///
/// # Errors
/// When there is no such process any more.
pub fn descriptors_of(id: Pid) -> Result<u64, String> {
    descriptors_where(id, |_any| true)
}

/// Open descriptors of another process whose target, as the system names it, is of some kind.
///
/// # Errors
/// When there is no such process any more.
pub fn descriptors_where(id: Pid, is: impl Fn(&str) -> bool) -> Result<u64, String> {
    let directory = format!("/proc/{}/fd", id.as_raw_nonzero());
    let listed = fs::read_dir(&directory).map_err(|error| format!("{directory}: {error}"))?;
    // One that was closed since the listing is none.
    let targets = listed.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    Ok(targets.filter(|target| is(&target.to_string_lossy())).count() as u64)
}

/// When a process started, in ticks of the system, and whether it is still there: a number is used again, both never are.
///
/// # Errors
/// When there is no such process any more.
pub fn started_of(id: Pid) -> Result<u64, String> {
    let file = format!("/proc/{}/stat", id.as_raw_nonzero());
    let stat = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    if fields.first().is_none_or(|state| matches!(*state, "Z" | "X")) {
        return Err(format!("the process {} has ended", id.as_raw_nonzero()));
    }
    let started = fields.get(19).and_then(|ticks| ticks.parse().ok());
    started.ok_or_else(|| format!("{file} has {stat:?}, expected a start time"))
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
