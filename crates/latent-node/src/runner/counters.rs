//! The runner's counters. What is counted as going on is counted by a guard, so that a drop or a panic ends it too.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::report::ActivationRunnerSnapshot;

/// Plain atomics; each is exact by itself, and all are exact together when nothing is under way.
#[derive(Debug, Default)]
pub(super) struct Counters {
    waiting: AtomicUsize,
    running: AtomicUsize,
    releases: AtomicU64,
    quarantines: AtomicU64,
    failed_dispositions: AtomicU64,
}

impl Counters {
    pub(super) fn waiting(&self) -> GoingOn<'_> {
        GoingOn::start(&self.waiting)
    }

    pub(super) fn running(&self) -> GoingOn<'_> {
        GoingOn::start(&self.running)
    }

    pub(super) fn released(&self) {
        self.releases.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn quarantined(&self) {
        self.quarantines.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn disposition_failed(&self) {
        self.failed_dispositions.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self, registrations: usize) -> ActivationRunnerSnapshot {
        ActivationRunnerSnapshot {
            registrations,
            waiting: self.waiting.load(Ordering::Relaxed),
            running_invocations: self.running.load(Ordering::Relaxed),
            releases: self.releases.load(Ordering::Relaxed),
            quarantines: self.quarantines.load(Ordering::Relaxed),
            failed_dispositions: self.failed_dispositions.load(Ordering::Relaxed),
        }
    }
}

/// Counts one thing for as long as it goes on.
#[must_use = "dropping it ends the count"]
pub(super) struct GoingOn<'a>(&'a AtomicUsize);

impl<'a> GoingOn<'a> {
    fn start(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for GoingOn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
