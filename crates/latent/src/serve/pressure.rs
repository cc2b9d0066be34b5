//! Reading the machine's pressure, and what a machine without it is told.

use std::time::Instant;

use latent_node::pressure::{PRESSURE_DIRECTORY, PressureReader};
use latent_scheduler::admission::PressureSample;

/// Reads what Linux says at `now`.
///
/// # Errors
/// What is wrong, and which setting does without.
pub fn read(now: Instant) -> Result<PressureSample, String> {
    PressureReader::new(PRESSURE_DIRECTORY)
        .sample(now)
        .map_err(|wrong| format!("{wrong} (in the configuration: pressure.source = \"none\")"))
}
