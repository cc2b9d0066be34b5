//! What the node's process holds in the course of a run, and how fast that grows.
//!
//! Invariant: the slope is that of the line which is nearest to all samples after the warm-up, by least squares.

use crate::endurance::checks::{Check, Sample, check};
use crate::process::{Process, is_of_component};

/// What resident memory may grow by, whatever the length of a run, in bytes per thousand calls.
const SLOPE_MAX: f64 = 1024.0;
/// How far resident memory moves without growing: pages that the allocator keeps or gives back. Over the whole run.
const NOISE_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
/// By how many descriptors of an idle node two pauses may differ: connections that are being closed.
const DESCRIPTORS_NOISE: usize = 4;

/// Resident memory at some number of calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At {
    /// Calls that had ended.
    pub calls: u64,
    /// Resident bytes of the node.
    pub bytes: u64,
}

/// What the process of the node holds now.
///
/// # Errors
/// When it is gone.
pub fn sample(node: &Process) -> Result<Sample, String> {
    Ok(Sample {
        resident_bytes: node.resident_bytes()?,
        descriptors: node.descriptors_where(|target| !is_of_component(target))?,
        threads: node.threads()?,
    })
}

/// By how many bytes memory grows in a thousand calls; 0 where two samples are too few to tell.
#[expect(clippy::cast_precision_loss, reason = "bytes and calls have less than 52 bits")]
pub fn slope(samples: &[At]) -> f64 {
    let count = samples.len() as f64;
    let points = || samples.iter().map(|at| (at.calls as f64 / 1e3, at.bytes as f64));
    let mean = |sum: f64| if count > 0.0 { sum / count } else { 0.0 };
    let (x, y) = (mean(points().map(|(x, _)| x).sum()), mean(points().map(|(_, y)| y).sum()));
    let spread: f64 = points().map(|(at, _)| (at - x).powi(2)).sum();
    let both: f64 = points().map(|(at, bytes)| (at - x) * (bytes - y)).sum();
    if spread > 0.0 { both / spread } else { 0.0 }
}

/// The most that the slope over so many calls may be.
#[expect(clippy::cast_precision_loss, reason = "calls have less than 52 bits")]
fn slope_max(calls: u64) -> f64 {
    SLOPE_MAX + NOISE_BYTES / (calls.max(1) as f64 / 1e3)
}

/// That memory does not grow, and nothing is kept open, from the first pause after the warm-up to the last one.
pub fn checks(samples: &[At], pauses: &[Sample]) -> Vec<Check> {
    let calls = samples.last().map_or(0, |at| at.calls) - samples.first().map_or(0, |at| at.calls);
    let (slope, most) = (slope(samples), slope_max(calls));
    let memory = format!(
        "resident memory grows by {slope:.0} bytes per 1,000 calls, at most {most:.0} ({SLOPE_MAX:.0}, and 4 MiB over the {calls} \
         calls of {} samples)",
        samples.len()
    );
    let range = |of: fn(&Sample) -> usize| {
        let counts = || pauses.iter().map(of);
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    };
    let (descriptors, threads) = (range(|sample| sample.descriptors), range(|sample| sample.threads));
    vec![
        check(samples.len() >= 10 && slope <= most, memory),
        check(
            descriptors.1 <= descriptors.0 + DESCRIPTORS_NOISE && descriptors.0 > 0,
            format!("the idle node has {} to {} descriptors", descriptors.0, descriptors.1),
        ),
        check(
            threads.0 == threads.1 && threads.0 > 0,
            format!("the idle node has {} to {} threads", threads.0, threads.1),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred samples over 100,000 calls, of memory that grows by so many bytes per thousand and jumps up and down.
    fn growing(by: u64) -> Vec<At> {
        (0..100).map(|at| At { calls: at * 1_000, bytes: (50 << 20) + by * at + (at % 2) * 1_000 }).collect()
    }

    fn passed(samples: &[At], descriptors: [usize; 2]) -> [bool; 3] {
        let pause = |descriptors| Sample { resident_bytes: 0, descriptors, threads: 9 };
        let checks = checks(samples, &descriptors.map(pause));
        std::array::from_fn(|at| checks[at].passed)
    }

    #[test]
    fn the_slope_is_what_memory_grows_by() {
        let slope = slope(&growing(5_000));
        assert!((4_990.0..5_010.0).contains(&slope), "{slope}");
        assert!(super::slope(&growing(0)[..1]).abs() < f64::EPSILON);
    }

    #[test]
    fn growth_beyond_the_noise_fails() {
        // 1,024 and 4 MiB over 99,000 calls are 43,391.
        assert_eq!(passed(&growing(43_000), [30, 34]), [true; 3]);
        assert_eq!(passed(&growing(44_000), [30, 35]), [false, false, true]);
        assert_eq!(passed(&growing(0)[..5], [30, 30]), [false, true, true]);
    }
}
