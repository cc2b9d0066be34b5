//! The usage log: one line of JSON for each activation that ended, in files that rotate, and sums over them.
//!
//! Invariant: whoever ends an activation never waits for the disk. What does not fit is counted, and the count is itself
//! a line of the log.

mod config;

mod files;

mod line;

mod sum;

mod writer;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use latent_core::{PlatformError, PlatformErrorCode};

pub use config::UsageLogConfig;
pub use sum::{SUMS_MAX, sum};

use crate::observe::{ActivationEnd, ActivationObserver};
use files::Files;
use line::Entry;
use writer::Writer;

/// What a usage log has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageLogSnapshot {
    /// Lines that are in the files, lines about drops included.
    pub written: u64,
    /// Activations that have no line: the queue was full, or the log was closed on a disk that did not take them.
    pub dropped: u64,
    /// Attempts to write that failed.
    pub failures: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    written: AtomicU64,
    dropped: AtomicU64,
    /// Of those, how many no line tells of yet.
    untold: AtomicU64,
    failures: AtomicU64,
    closing: AtomicBool,
    /// Somebody waits for what is queued.
    hurried: AtomicBool,
}

/// What the writer is sent.
#[expect(clippy::large_enum_variant, reason = "nearly every message is an end, and a box would be one allocation each")]
pub(crate) enum Message {
    /// An activation has ended.
    Ended(Entry),
    /// Somebody waits until what was sent before is in the files.
    Awaited(SyncSender<()>),
    /// Nothing, but that it looks whether the log is being closed.
    Wake,
}

/// Writes the usage log. An observer of the manager.
pub struct UsageLog {
    queue: SyncSender<Message>,
    counters: Arc<Counters>,
    engine: Arc<str>,
    running: Mutex<Option<Running>>,
}

struct Running {
    thread: JoinHandle<()>,
    done: Receiver<()>,
}

impl UsageLog {
    /// Opens the log in `directory`, which is made where it is missing, and starts its writer. Lines carry `engine` as the
    /// version of what ran the guests. A file that was begun goes on, and the numbers with it.
    ///
    /// # Errors
    /// `invalid-argument`, detail `usage.config` with the setting, for a bound out of range; `unavailable`, detail
    /// `usage.io`, when the directory or its files cannot be read, or there is no thread.
    pub fn open(directory: &Path, engine: &str, config: &UsageLogConfig) -> Result<Self, PlatformError> {
        config.check()?;
        let files = Files::open(directory, config).map_err(|error| unreadable(directory, &error))?;
        let (queue, messages) = sync_channel(config.queue_max);
        let (told, done) = sync_channel(1);
        let counters = Arc::new(Counters::default());
        let mut writer = Writer::new(files, messages, Arc::clone(&counters), config);
        let run = move || {
            writer.run();
            let _closed = told.send(());
        };
        let thread = std::thread::Builder::new().name("latent-usage".into()).spawn(run);
        let thread = thread.map_err(|error| unreadable(directory, &error))?;
        Ok(Self { queue, counters, engine: engine.into(), running: Mutex::new(Some(Running { thread, done })) })
    }

    /// The counters.
    #[must_use]
    pub fn snapshot(&self) -> UsageLogSnapshot {
        let Counters { written, dropped, failures, .. } = &*self.counters;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        UsageLogSnapshot { written: load(written), dropped: load(dropped), failures: load(failures) }
    }

    /// Waits until whatever ended before is in the files, at most so long, and says whether it is. Does not wait for a writer
    /// that has a full queue before it, or that was closed. Blocks.
    pub fn catch_up(&self, within: Duration) -> bool {
        let (told, written) = sync_channel(1);
        if self.queue.try_send(Message::Awaited(told)).is_err() {
            return false;
        }
        self.counters.hurried.store(true, Ordering::Release);
        if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            running.thread.thread().unpark();
        }
        written.recv_timeout(within).is_ok()
    }

    /// Writes what is queued, waits for the writer at most so long, and says whether it has ended. Ends that come later are
    /// dropped and counted. Blocks. A second call has nothing to wait for.
    pub fn close(&self, within: Duration) -> bool {
        self.counters.closing.store(true, Ordering::Release);
        let Some(running) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() else { return true };
        // A full queue keeps the writer awake by itself.
        let _full = self.queue.try_send(Message::Wake);
        running.thread.thread().unpark();
        match running.done.recv_timeout(within) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => running.thread.join().is_ok(),
            Err(RecvTimeoutError::Timeout) => false,
        }
    }
}

impl ActivationObserver for UsageLog {
    fn ended(&self, end: &ActivationEnd<'_>) {
        let closing = self.counters.closing.load(Ordering::Acquire);
        if closing || self.queue.try_send(Message::Ended(Entry::of(end, &self.engine))).is_err() {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
            self.counters.untold.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for UsageLog {
    /// Does not wait: the writer ends by itself once the queue is empty.
    fn drop(&mut self) {
        self.counters.closing.store(true, Ordering::Release);
        let _full = self.queue.try_send(Message::Wake);
        if let Some(running) = self.running.get_mut().unwrap_or_else(PoisonError::into_inner) {
            running.thread.thread().unpark();
        }
    }
}

impl fmt::Debug for UsageLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsageLog").field("counters", &self.snapshot()).finish_non_exhaustive()
    }
}

fn unreadable(directory: &Path, error: &std::io::Error) -> PlatformError {
    let message = format_args!("the usage log in {} cannot be used: {error}", directory.display());
    PlatformError::of_activation(PlatformErrorCode::Unavailable, "usage.io", message)
}

#[cfg(test)]
mod tests;
