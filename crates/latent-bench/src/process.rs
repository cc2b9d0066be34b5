//! What processes hold, this one and others: memory, descriptors and threads, read from the system.

use std::fs;
use std::io;
use std::time::Duration;

/// A process of this machine, by what the system calls it. Every error names the file that does not tell what it should.
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
    pub fn resident_bytes(&self) -> Result<u64, String> {
        let (file, statm) = self.read("statm")?;
        let pages = statm.split(' ').nth(1).and_then(|field| field.parse::<u64>().ok());
        pages
            .map(|pages| pages * 4096)
            .ok_or_else(|| format!("{file} has {statm:?}, expected pages in its second field"))
    }

    /// Time that its threads which are there now have spent on a processor.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn processor_time(&self) -> Result<Duration, String> {
        let of_thread = |thread: &fs::DirEntry| {
            // A thread that has ended since the listing says nothing any more.
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        Ok(Duration::from_nanos(self.list("task")?.iter().filter_map(of_thread).sum()))
    }

    /// Open descriptors; for this process itself, the one of the listing is among them.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn descriptors(&self) -> Result<usize, String> {
        Ok(self.list("fd")?.len())
    }

    /// Open descriptors whose target, as the system names it, is of some kind.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn descriptors_where(&self, is: impl Fn(&str) -> bool) -> Result<usize, String> {
        // One that was closed since the listing is none.
        let listed = self.list("fd")?;
        let targets = listed.iter().filter_map(|entry| fs::read_link(entry.path()).ok());
        Ok(targets.filter(|target| is(&target.to_string_lossy())).count())
    }

    /// Threads.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn threads(&self) -> Result<usize, String> {
        Ok(self.list("task")?.len())
    }

    /// Processes that its threads started and that are there.
    ///
    /// # Errors
    /// When it is gone, or the system does not say.
    pub fn children(&self) -> Result<usize, String> {
        let of_thread = |thread: &fs::DirEntry| match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => Ok(text.split_whitespace().count()),
            // A thread that has ended has none.
            Err(_) if !thread.path().exists() => Ok(0),
            Err(error) => Err(format!("{}/children: {error}", thread.path().display())),
        };
        self.list("task")?.iter().map(of_thread).sum()
    }

    /// When it started, in ticks of the system: a number is used again, both never are.
    ///
    /// # Errors
    /// When it has ended, or the system does not say.
    pub fn started(&self) -> Result<u64, String> {
        let (file, stat) = self.read("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        if fields.first().is_none_or(|state| matches!(*state, "Z" | "X")) {
            return Err(format!("the process {} has ended", self.0));
        }
        let started = fields.get(19).and_then(|ticks| ticks.parse().ok());
        started.ok_or_else(|| format!("{file} has {stat:?}, expected a start time"))
    }

    fn read(&self, name: &str) -> Result<(String, String), String> {
        let file = format!("/proc/{}/{name}", self.0);
        match fs::read_to_string(&file) {
            Ok(text) => Ok((file, text)),
            Err(error) => Err(format!("{file}: {error}")),
        }
    }

    fn list(&self, name: &str) -> Result<Vec<fs::DirEntry>, String> {
        let directory = format!("/proc/{}/{name}", self.0);
        let listed = fs::read_dir(&directory).and_then(Iterator::collect::<io::Result<_>>);
        listed.map_err(|error| format!("{directory}: {error}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_waits_for_another_has_a_child_which_started_later_and_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let found = Process::this().children().expect("children are told");
        let (this, other) = (Process::this().started(), Process::of(child.id()).started());
        child.kill().and_then(|()| child.wait()).expect("sleep ends");
        assert!(found >= 1 && this < other, "{found} {this:?} {other:?}");
        assert!(Process::of(child.id()).threads().unwrap_err().contains("/task"));
    }
}
