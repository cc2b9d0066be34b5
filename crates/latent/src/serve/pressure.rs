//! Reading the machine's pressure, and what a machine without it is told.

use std::time::Instant;

use latent_node::pressure::{PRESSURE_DIRECTORY, PressureReader, PressureUnreadable};
use latent_scheduler::admission::PressureSample;

/// Opens what Linux says of its pressure, and reads it at `now`.
///
/// # Errors
/// What is wrong, and which setting does without.
pub fn open(now: Instant) -> Result<(PressureReader, PressureSample), String> {
    let reader = PressureReader::open(PRESSURE_DIRECTORY).map_err(|wrong| advised(&wrong))?;
    let sample = read(&reader, now)?;
    Ok((reader, sample))
}

/// Reads what Linux says at `now`.
///
/// # Errors
/// What is wrong, and which setting does without.
pub fn read(reader: &PressureReader, now: Instant) -> Result<PressureSample, String> {
    reader.sample(now).map_err(|wrong| advised(&wrong))
}

fn advised(wrong: &PressureUnreadable) -> String {
    format!("{wrong} (in the configuration: pressure.source = \"none\")")
}
