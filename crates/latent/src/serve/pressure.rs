//! Reading the machine's pressure, and what a machine without it is told.

use std::io;
use std::time::Instant;

use latent_scheduler::admission::PressureSample;

/// Reads the three files of `/proc/pressure` at `now`.
///
/// # Errors
/// Which file it was, what is wrong with it, and which setting does without.
pub fn read(now: Instant) -> Result<PressureSample, String> {
    let file = |name: &str| -> Result<String, String> {
        std::fs::read_to_string(format!("/proc/pressure/{name}")).map_err(|error: io::Error| {
            format!("cannot read /proc/pressure/{name}: {error}; set pressure.source = \"none\" on a host without it")
        })
    };
    PressureSample::parse(&file("cpu")?, &file("memory")?, &file("io")?, now)
        .map_err(|wrong| format!("{wrong} (pressure.source = \"none\")"))
}
