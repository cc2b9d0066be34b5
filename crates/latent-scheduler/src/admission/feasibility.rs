//! Whether an activation that is admitted now can still be in time.
//!
//! Invariant: whatever cannot be computed counts as not in time.

use std::time::{Duration, Instant};

use super::config::ClassOffer;

/// What must be left of the time when an activation gets its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeasibilityMargins {
    /// The shortest execution worth starting. Default zero.
    pub minimum_execution: Duration,
    /// What is put aside for everything around it. Default zero.
    pub margin: Duration,
}

/// The time there is, and what it is needed for besides waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feasibility {
    left: Duration,
    cells: u64,
    service_time: Duration,
    observed_delay: Duration,
    margins: FeasibilityMargins,
}

impl Feasibility {
    pub(super) fn new(
        (now, deadline): (Instant, Instant),
        offer: &ClassOffer,
        observed_delay: Duration,
        margins: FeasibilityMargins,
    ) -> Self {
        let left = deadline.saturating_duration_since(now);
        Self { left, cells: offer.cells, service_time: offer.service_time, observed_delay, margins }
    }

    /// Whether the time suffices with `live` activations of the class ahead: it must be more than the larger of
    /// ⌊live / cells⌋ × service time and the observed delay, and the margins.
    pub(super) fn allows(&self, live: u64) -> bool {
        let needed = || {
            let turns = u32::try_from(live.checked_div(self.cells)?).ok()?;
            let wait = self.service_time.checked_mul(turns)?.max(self.observed_delay);
            wait.checked_add(self.margins.minimum_execution)?.checked_add(self.margins.margin)
        };
        needed().is_some_and(|needed| self.left > needed)
    }
}
