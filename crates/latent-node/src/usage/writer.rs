//! The one thread that writes a usage log.
//!
//! Invariant: lines leave the queue only into a batch, and a batch is given up only when it is in the file, or when the
//! log is closed on a disk that does not take it. A line that was written outlives the process, and is on the disk when the
//! system puts it there: nothing here waits for that.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::thread::park_timeout;
use std::time::Duration;

use super::config::UsageLogConfig;
use super::files::Files;
use super::line::write_dropped;
use super::{Counters, Message};

/// Lines are written in pieces of about this many bytes.
const BATCH_BYTES: usize = 32 << 10;
/// After a failure the writer waits so many times as long as it does after being idle.
const LINGERS_AFTER_FAILURE: u32 = 20;

pub(super) struct Writer {
    files: Files,
    messages: Receiver<Message>,
    counters: Arc<Counters>,
    linger: Duration,
    batch: Vec<u8>,
    /// Lines in the batch, and how many of them are of activations.
    lines: (u64, u64),
    /// Who waits until the batch is in the file.
    awaiting: Vec<SyncSender<()>>,
    /// The queue was empty at the last look.
    drained: bool,
    /// Every sender is gone, or the queue was empty after the log was closed.
    over: bool,
}

impl Writer {
    pub(super) fn new(
        files: Files,
        messages: Receiver<Message>,
        counters: Arc<Counters>,
        config: &UsageLogConfig,
    ) -> Self {
        let batch = Vec::with_capacity(2 * BATCH_BYTES);
        let awaiting = Vec::new();
        Self {
            files,
            messages,
            counters,
            linger: config.linger,
            batch,
            lines: (0, 0),
            awaiting,
            drained: true,
            over: false,
        }
    }

    pub(super) fn run(&mut self) {
        while !self.over {
            if self.batch.is_empty() && self.drained {
                // The only place where it sleeps for as long as nothing happens.
                match self.messages.recv() {
                    Ok(message) => self.take(message),
                    Err(_gone) => self.over = true,
                }
                self.linger(1);
            }
            self.fill();
            self.write();
        }
    }

    /// Waits for more, unless somebody waits for what there is, or the log is being closed.
    fn linger(&self, times: u32) {
        if !self.closing() && !self.counters.hurried.load(Ordering::Acquire) {
            park_timeout(self.linger * times);
        }
    }

    fn fill(&mut self) {
        self.drained = false;
        // Before the queue is looked through, so that whoever comes later is seen at the next turn.
        self.counters.hurried.store(false, Ordering::Release);
        while self.batch.len() < BATCH_BYTES {
            match self.messages.try_recv() {
                Ok(message) => self.take(message),
                Err(TryRecvError::Disconnected) => return self.over = true,
                Err(TryRecvError::Empty) => {
                    self.drained = true;
                    self.over |= self.closing();
                    self.tell_dropped();
                    return;
                }
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ended(entry) => {
                self.tell_dropped();
                entry.write(&mut self.batch);
                self.lines = (self.lines.0 + 1, self.lines.1 + 1);
            }
            Message::Awaited(told) => self.awaiting.push(told),
            Message::Wake => {}
        }
    }

    /// Tells those who wait that there is nothing left of what they wait for.
    fn tell_awaiting(&mut self) {
        for told in self.awaiting.drain(..) {
            let _gone = told.try_send(());
        }
    }

    fn tell_dropped(&mut self) {
        let untold = self.counters.untold.swap(0, Ordering::Relaxed);
        if untold > 0 {
            write_dropped(&mut self.batch, untold);
            self.lines.0 += 1;
        }
    }

    fn write(&mut self) {
        if self.batch.is_empty() {
            return self.tell_awaiting();
        }
        // Looked at before the attempt, so that one is made after the log has been closed.
        let closing = self.closing();
        match self.files.append(&self.batch) {
            Ok(()) => {
                self.counters.written.fetch_add(self.lines.0, Ordering::Relaxed);
                self.batch.clear();
                self.lines = (0, 0);
                self.tell_awaiting();
            }
            Err(_counted) => {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                // They need not wait for a disk that may take nothing for long.
                self.awaiting.clear();
                if closing {
                    self.give_up();
                } else {
                    self.linger(LINGERS_AFTER_FAILURE);
                }
            }
        }
    }

    /// The log is closed and the disk does not take what is left.
    fn give_up(&mut self) {
        let queued = self.messages.try_iter().filter(|message| matches!(message, Message::Ended(_))).count();
        self.counters.dropped.fetch_add(self.lines.1 + queued as u64, Ordering::Relaxed);
        self.batch.clear();
        self.over = true;
    }

    fn closing(&self) -> bool {
        self.counters.closing.load(Ordering::Acquire)
    }
}
