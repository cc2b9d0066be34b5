//! One size in figures, as a row of the table.

use std::fmt;

use super::calls::Calls;
use super::fleet::Growth;
use super::look::{Counts, Look};
use crate::series::Series;

/// The head of the table.
pub const HEAD: &str = "| deployments | releases | processes | threads | sockets | descriptors | cells | RSS MiB | start ms | \
                        apply one more µs | the same beside 100 | resolve µs | warm call µs | first call µs | applies/s |\n\
                        |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// What was measured at one size. Times are medians when they are shown.
#[derive(Debug)]
pub struct Row {
    /// How many deployments there are.
    pub deployments: usize,
    /// Of how many releases.
    pub releases: usize,
    /// The process right after its start.
    pub look: Look,
    /// How it came to that size.
    pub growth: Growth,
    /// From the start of the process until it is ready.
    pub start: Series,
    /// One more on the small node.
    pub beside_few: Series,
    /// One more on this node.
    pub beside_many: Series,
    /// Leading one call to its revision.
    pub resolve: Series,
    /// Calls of dormant services.
    pub calls: Calls,
}

impl Row {
    /// What one more costs here, as a multiple of what it costs on the small node.
    pub fn apply_ratio(&self) -> f64 {
        median(&self.beside_many) / median(&self.beside_few)
    }

    /// What the first call of a dormant service takes beyond a warm one, in milliseconds.
    pub fn first_over_warm_ms(&self) -> f64 {
        (median(&self.calls.first) - median(&self.calls.warm)) / 1e3
    }

    /// Applies a second while the node was filled.
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 52 bits")]
    pub fn applies_per_second(&self) -> f64 {
        self.growth.applied as f64 / self.growth.took.as_secs_f64()
    }

    /// Resident bytes for each deployment that is here and not in `least`; `None` for `least` itself.
    #[expect(clippy::cast_precision_loss, reason = "memory of a process needs no 52 bits")]
    pub fn bytes_each(&self, least: &Self) -> Option<f64> {
        let more = self.deployments.checked_sub(least.deployments).filter(|more| *more > 0)?;
        Some((self.look.resident_bytes as f64 - least.look.resident_bytes as f64) / more as f64)
    }
}

/// The median in microseconds.
pub fn median(series: &Series) -> f64 {
    series.quantile_micros(500)
}

impl fmt::Display for Row {
    #[expect(clippy::cast_precision_loss, reason = "memory of a process needs no 52 bits")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deployments, releases, look, start, beside_few, beside_many, resolve, calls, .. } = self;
        let Counts { processes, threads, sockets, descriptors, cells } = look.counts;
        write!(
            f,
            "| {deployments} | {releases} | {processes} | {threads} | {sockets} | {descriptors} | {cells} | {:.1} | {:.0} | \
             {:.0} | {:.0} | {:.2} | {:.0} | {:.0} | {:.0} |",
            look.resident_bytes as f64 / f64::from(1 << 20),
            median(start) / 1e3,
            median(beside_many),
            median(beside_few),
            median(resolve),
            median(&calls.warm),
            median(&calls.first),
            self.applies_per_second(),
        )
    }
}
