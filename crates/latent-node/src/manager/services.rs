//! What every activation of a manager stands on: shared, and the same for all.

use arc_swap::ArcSwapOption;
use latent_activation::Moment;
use latent_scheduler::admission::{ClockSample, PressureSample};

use super::{LocalActivationManagerConfig, LocalActivationManagerParts};
use crate::time::now;

pub(super) struct Services {
    pub(super) parts: LocalActivationManagerParts,
    pub(super) config: LocalActivationManagerConfig,
    /// The latest reading of the node's pressure.
    pub(super) pressure: ArcSwapOption<PressureSample>,
}

impl Services {
    pub(super) fn new(parts: LocalActivationManagerParts, config: LocalActivationManagerConfig) -> Self {
        Self { parts, config, pressure: ArcSwapOption::empty() }
    }

    /// Both clocks, the monotonic one first.
    pub(super) fn moment(&self) -> Moment {
        let monotonic = now();
        Moment { monotonic, wall: self.parts.clock.now() }
    }

    /// Both clocks, as admission takes them.
    pub(super) fn clock_sample(&self) -> ClockSample {
        let Moment { monotonic, wall } = self.moment();
        ClockSample { monotonic, wall }
    }
}
