//! How hard the node is pressed, as Linux reports it, and when that is too hard.
//!
//! Invariant: with a source configured, a sample that is missing, malformed or stale is as bad as overload. The
//! files are read elsewhere; here is what they mean.

use std::fmt;
use std::time::{Duration, Instant};

use super::denial::{Denial, Dimension, Reason, Scope};

/// One reading of `/proc/pressure/{cpu,memory,io}`: shares of the last ten seconds, in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PressureSample {
    /// When it was read.
    pub taken_at: Instant,
    /// Some task waited for a processor.
    pub cpu_some: u16,
    /// All tasks at once waited for memory.
    pub memory_full: u16,
    /// All tasks at once waited for a disk.
    pub io_full: u16,
}

/// A text that is not what `/proc/pressure` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedPressure {
    /// Which file: `cpu`, `memory` or `io`.
    pub file: &'static str,
}

impl fmt::Display for MalformedPressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/proc/pressure/{} has no valid avg10; set the pressure source to none on this host", self.file)
    }
}

impl std::error::Error for MalformedPressure {}

/// Above which shares a node counts as overloaded, in hundredths of a percent: 0 to 10,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PressureLimits {
    /// For processors. Default 9,000.
    pub cpu_some: u16,
    /// For memory. Default 1,000.
    pub memory_full: u16,
    /// For disks. Default 5,000.
    pub io_full: u16,
    /// How old a sample may be. Default five seconds.
    pub stale_after: Duration,
}

impl Default for PressureLimits {
    fn default() -> Self {
        Self { cpu_some: 9_000, memory_full: 1_000, io_full: 5_000, stale_after: Duration::from_secs(5) }
    }
}

/// Whether admission looks at the node's pressure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PressurePolicy {
    /// It does not: the host has no `/proc/pressure`.
    None,
    /// It does, and refuses above these limits or without a fresh sample.
    Linux(PressureLimits),
}

impl PressureSample {
    /// Reads the texts of the three files. At most the first 4 KiB of each count.
    ///
    /// # Errors
    /// Names the first file without the line or the number that is needed.
    pub fn parse(cpu: &str, memory: &str, io: &str, taken_at: Instant) -> Result<Self, MalformedPressure> {
        Ok(Self {
            taken_at,
            cpu_some: avg10(cpu, "some").ok_or(MalformedPressure { file: "cpu" })?,
            memory_full: avg10(memory, "full").ok_or(MalformedPressure { file: "memory" })?,
            io_full: avg10(io, "full").ok_or(MalformedPressure { file: "io" })?,
        })
    }
}

const FILE_BYTES_MAX: usize = 4096;

/// The `avg10` of the line that starts with `kind`, such as `some avg10=1.50 avg60=0.00 avg300=0.00 total=17`.
fn avg10(text: &str, kind: &str) -> Option<u16> {
    let line = latent_core::error::cut(text, FILE_BYTES_MAX).lines().find_map(|line| line.strip_prefix(kind))?;
    let value = line.split_ascii_whitespace().next()?.strip_prefix("avg10=")?;
    let (whole, hundredths) = value.split_once('.')?;
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if hundredths.len() != 2 || !is_number(whole) || !is_number(hundredths) {
        return None;
    }
    let share = whole.parse::<u16>().ok()?.checked_mul(100)?.checked_add(hundredths.parse().ok()?)?;
    (share <= 10_000).then_some(share)
}

/// Refuses when the node is overloaded, or might be for all that is known.
pub(super) fn check(policy: PressurePolicy, sample: Option<&PressureSample>, now: Instant) -> Result<(), Denial> {
    let PressurePolicy::Linux(limits) = policy else { return Ok(()) };
    let denied = |dimension| Denial::limit(Scope::Node, dimension, Reason::NodeOverloaded);
    // A sample from a moment after `now` was read by another thread meanwhile: it is fresh.
    let Some(sample) = sample.filter(|sample| now.saturating_duration_since(sample.taken_at) <= limits.stale_after)
    else {
        return Err(denied(Dimension::PressureSample));
    };
    match () {
        () if sample.cpu_some > limits.cpu_some => Err(denied(Dimension::CpuPressure)),
        () if sample.memory_full > limits.memory_full => Err(denied(Dimension::MemoryPressure)),
        () if sample.io_full > limits.io_full => Err(denied(Dimension::IoPressure)),
        () => Ok(()),
    }
}
