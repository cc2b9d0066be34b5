//! What guests wrote, by activation: as the edge asks for it, and the book in which it is kept.
//!
//! Invariant: a guest never waits for a reader, and what is missing is counted.

mod book;

mod follow;

mod shelves;

use std::time::SystemTime;

use futures_util::stream::BoxStream;
use latent_core::{ActivationId, ServiceName, TenantId};

pub use book::{LogBook, LogBookConfig, LogBookSnapshot};
pub use shelves::RECORD_BYTES;

/// A record of a guest, or the node's own notice about records that are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Which activation wrote it.
    pub activation_id: ActivationId,
    /// Of which service; `None` before that is known.
    pub service: Option<ServiceName>,
    /// When the node took it.
    pub at: SystemTime,
    /// `trace`, `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// The message.
    pub message: Box<str>,
    /// Fields in the order given.
    pub fields: Vec<(Box<str>, Box<str>)>,
    /// For a follower: records that it was too slow for, before this one.
    pub missed: u64,
}

/// The records of one activation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActivationLogs {
    /// What there is, oldest first.
    pub records: Vec<LogEntry>,
    /// Records that it wrote and that are gone.
    pub dropped: u64,
}

/// Where records are read.
pub trait LogReader: Send + Sync {
    /// The records of an activation of `tenant`. `None` when none was ever taken, or all are forgotten.
    fn of_activation(&self, tenant: &TenantId, activation_id: &ActivationId) -> Option<ActivationLogs>;

    /// The latest `tail` records of `tenant`, or of one service of it, and then each as it is written. Dropping the stream
    /// ends it; a bounded number of followers is there at once, and `None` beyond.
    fn follow(
        &self,
        tenant: &TenantId,
        service: Option<&ServiceName>,
        tail: usize,
    ) -> Option<BoxStream<'static, LogEntry>>;
}

#[cfg(test)]
mod tests;
