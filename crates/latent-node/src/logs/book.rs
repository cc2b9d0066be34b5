//! The node's book of guest logs: what is kept, by tenant and by activation, and who follows it.
//!
//! Invariant: one short lock around one pure struct. Nothing is woken, dropped or turned into text under it, and no guest
//! waits for a reader.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::BoxStream;
use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode, ServiceName, TenantId, WallClock};
use latent_executor::{LogRecord, LogRefused, LogSink};

use super::follow::Follow;
use super::shelves::{Held, Shelves};
use super::{ActivationLogs, LogEntry, LogReader};
use crate::observe::{ActivationEnd, ActivationObserver};
use crate::time::now;

/// The bounds of a [`LogBook`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBookConfig {
    /// Bytes of all records that are kept, each with [`RECORD_BYTES`](super::RECORD_BYTES) besides its canonical line. Beyond
    /// it the oldest of the tenant that holds most give way. Default 64 MiB; 0 refuses every record.
    pub bytes_max: u64,
    /// Bytes of one activation's records. Later ones are counted as dropped. Default 1 MiB.
    pub activation_bytes_max: u64,
    /// How long records are kept after their activation's end. Default five minutes.
    pub retention: Duration,
    /// Followers at once. The next is refused. Default 64.
    pub followers_max: usize,
    /// Bytes that wait for one follower. Beyond it the oldest are missed, and counted. Default 1 MiB.
    pub follower_bytes_max: u64,
}

impl Default for LogBookConfig {
    fn default() -> Self {
        Self {
            bytes_max: 64 << 20,
            activation_bytes_max: 1 << 20,
            retention: Duration::from_mins(5),
            followers_max: 64,
            follower_bytes_max: 1 << 20,
        }
    }
}

/// What a [`LogBook`] holds and has let go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogBookSnapshot {
    /// Records that are kept.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records that were dropped or evicted before their time, ever.
    pub dropped: u64,
    /// Records that followers were too slow for, ever.
    pub missed: u64,
    /// Followers.
    pub followers: u64,
}

/// Takes the records of guests, keeps them by activation, and hands them to readers. The manager's observer, too, from
/// which it learns that an activation has ended.
pub struct LogBook {
    shared: Arc<Shared>,
    clock: Arc<dyn WallClock>,
}

pub(super) struct Shared {
    shelves: Mutex<Shelves>,
    /// Activations that wrote something and have not ended. Their own ends see at least themselves.
    open: AtomicUsize,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogBook {
    /// An empty book.
    ///
    /// # Errors
    /// `invalid-argument`, detail `logs.config` with the setting, where one activation may have more than all, or records
    /// are kept for no time.
    pub fn new(config: LogBookConfig, clock: Arc<dyn WallClock>) -> Result<Self, PlatformError> {
        let refusal = |setting, message: &str| {
            let detail = ErrorDetail::new("logs.config").with("setting", setting);
            Err(PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail))
        };
        if config.activation_bytes_max > config.bytes_max {
            return refusal("activation_bytes_max", "activation_bytes_max is more than bytes_max, which is for all");
        }
        if config.retention.is_zero() {
            return refusal("retention", "retention is zero, so that no record could be read; set a time above zero");
        }
        Ok(Self {
            shared: Arc::new(Shared { shelves: Mutex::new(Shelves::new(config)), open: AtomicUsize::new(0) }),
            clock,
        })
    }

    /// Lets go of the records whose time is over by `now`, and says how many activations they were of. Ends do the same
    /// little by little: this only gives memory back while nothing happens.
    #[expect(clippy::must_use_candidate, reason = "it is called for its effect")]
    pub fn sweep(&self, now: Instant) -> usize {
        let mut gone = Vec::new();
        let swept = self.shared.lock().expire(now, usize::MAX, &mut gone);
        drop(gone);
        swept
    }

    /// The counters, in constant time.
    #[must_use]
    pub fn snapshot(&self) -> LogBookSnapshot {
        self.shared.lock().snapshot()
    }
}

impl LogSink for LogBook {
    /// Refuses only what could never be kept: a record larger than all that one activation may have.
    fn offer(&self, record: LogRecord, bytes: u64) -> Result<(), LogRefused> {
        let held = Arc::new(Held::new(record, bytes, self.clock.now()));
        let (mut gone, mut wake) = (Vec::new(), Vec::new());
        let mut shelves = self.shared.lock();
        let taken = shelves.offer(&held, &mut gone, &mut wake);
        self.shared.open.store(shelves.open(), Ordering::Relaxed);
        drop(shelves);
        drop(gone);
        for waker in wake {
            waker.wake();
        }
        taken
    }
}

impl ActivationObserver for LogBook {
    fn ended(&self, end: &ActivationEnd<'_>) {
        // A node's notice costs its activation nothing, so that the consumption alone does not say that it wrote nothing.
        if end.consumption.log_bytes == 0 && self.shared.open.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut gone = Vec::new();
        let mut shelves = self.shared.lock();
        shelves.ended(end.tenant, end.lineage.activation_id(), now(), &mut gone);
        self.shared.open.store(shelves.open(), Ordering::Relaxed);
        drop(shelves);
    }
}

impl LogReader for LogBook {
    fn of_activation(&self, tenant: &TenantId, activation_id: &ActivationId) -> Option<ActivationLogs> {
        let (records, dropped) = self.shared.lock().of_activation(tenant, activation_id, now())?;
        let records = records.iter().map(|held| held.entry(0)).collect();
        Some(ActivationLogs { records, dropped })
    }

    fn follow(
        &self,
        tenant: &TenantId,
        service: Option<&ServiceName>,
        tail: usize,
    ) -> Option<BoxStream<'static, LogEntry>> {
        let key = self.shared.lock().follow(tenant, service, tail)?;
        Some(Box::pin(Follow::new(Arc::clone(&self.shared), key)))
    }
}

#[cfg(test)]
impl LogBook {
    pub(super) fn assert_sound(&self) {
        self.shared.lock().assert_sound();
    }
}

impl fmt::Debug for LogBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogBook").field("holds", &self.snapshot()).finish_non_exhaustive()
    }
}
