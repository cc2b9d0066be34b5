//! What a fake backend's work holds, counted by guards: right after panics and drops too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::resources::RuntimeResourceSnapshot;

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Running,
    Preparation,
    ReadyPin,
    PreparedPin,
    Permit,
}

/// The counts of one backend; they also tell its code from another's.
#[derive(Debug, Default)]
pub(super) struct Counts([AtomicU64; 5]);

/// One counted thing, given back when it drops.
#[derive(Debug)]
#[must_use = "dropping it gives it back"]
pub(super) struct Held {
    counts: Arc<Counts>,
    kind: Kind,
}

impl Counts {
    /// Counts one more of `kind`.
    pub(super) fn hold(self: &Arc<Self>, kind: Kind) -> Held {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed);
        Held { counts: self.clone(), kind }
    }

    /// Counts one more of `kind` if there are fewer than `max`.
    pub(super) fn hold_of(self: &Arc<Self>, kind: Kind, max: u64) -> Option<Held> {
        let more = |held: u64| held.checked_add(1).filter(|more| *more <= max);
        self.0[kind as usize].try_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Held { counts: self.clone(), kind })
    }

    fn get(&self, kind: Kind) -> u64 {
        self.0[kind as usize].load(Ordering::Relaxed)
    }

    /// All counts, as the port reports them.
    pub(super) fn snapshot(&self) -> RuntimeResourceSnapshot {
        RuntimeResourceSnapshot {
            running_invocations: self.get(Kind::Running),
            preparations: self.get(Kind::Preparation),
            ready_pins: self.get(Kind::ReadyPin),
            prepared_pins: self.get(Kind::PreparedPin),
            instance_permits: self.get(Kind::Permit),
            ..RuntimeResourceSnapshot::default()
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.counts.0[self.kind as usize].fetch_sub(1, Ordering::Relaxed);
    }
}
