//! What processes hold, this one and others: memory and descriptors, read from the system.

use std::fs;
use std::time::Duration;

use rustix::process::Pid;

/// Resident bytes of this process.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the system tells memory");
    let pages: u64 = statm.split(' ').nth(1).and_then(|field| field.parse().ok()).expect("the second field is pages");
    pages * 4096
}

/// Resident bytes of another process.
///
/// # Errors
/// When there is no such process any more.
pub fn resident_bytes_of(id: Pid) -> Result<u64, String> {
    let file = format!("/proc/{}/statm", id.as_raw_nonzero());
    let statm = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let pages = statm.split(' ').nth(1).and_then(|field| field.parse::<u64>().ok());
    pages.map(|pages| pages * 4096).ok_or_else(|| format!("{file} has {statm:?}, expected pages in its second field"))
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
    let threads = std::fs::read_dir("/proc/self/task").expect("the system lists threads");
    let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
        // A thread that has ended since the listing says nothing any more.
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.filter_map(of_thread).sum())
}

/// Open descriptors of this process.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn descriptors() -> usize {
    // The listing itself holds one.
    std::fs::read_dir("/proc/self/fd").expect("the system lists descriptors").count() - 1
}

/// Threads of this process.
///
/// # Panics
/// When the system does not say.
#[must_use]
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the system lists threads").count()
}
