//! What the process itself holds: memory and descriptors, read from the system.

use std::time::Duration;

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
