//! What happened, as plain values that two runs can be compared by.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use latent_activation::CancelDisposition;
use latent_core::{PlatformErrorCode, TerminalState};
use latent_node::ActivationTransportInterruption;

use crate::board::Index;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Arrived { index: Index, tenant: usize },
    Refused { tenant: usize, code: PlatformErrorCode },
    Polled { index: Index, woken: bool, ended: Option<TerminalState> },
    Cancelled { index: Index, tenant: usize, disposition: CancelDisposition },
    Interrupted { index: Index, how: ActivationTransportInterruption },
    Dropped { index: Index, ended: TerminalState },
    Granted { index: Index },
    Advanced { by: Duration },
    WallClockSet,
    Applied { tenant: usize, deployment: usize, version: u64 },
    Deleted { tenant: usize, deployment: usize, was_there: bool },
    PolicyReplaced,
    Pressed,
    ShutDown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub step: u32,
    /// Virtual time since the start.
    pub at: Duration,
    pub what: What,
}

/// Shared, so that it outlives a panic.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Vec<Event>>>, Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Trace {
    pub fn push(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Counts a case that was met.
    pub fn met(&self, case: &'static str) {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner).entry(case).or_default() += 1;
    }

    /// How often each case was met.
    pub fn cases(&self) -> BTreeMap<&'static str, u64> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
