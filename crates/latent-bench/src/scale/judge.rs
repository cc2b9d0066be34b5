//! What must hold of all sizes together. Pure.
//!
//! Invariant: each bound is judged at every size that it can be told at.

use super::row::{Row, median};
use crate::endurance::checks::Check;

/// Resident bytes of a dormant deployment: the aim, and what must not be exceeded.
const BYTES_EACH_AIM: f64 = 1024.0;
const BYTES_EACH_MAX: f64 = 2048.0;
/// From so many deployments on a difference in memory is more than what two starts differ by.
const BYTES_TOLD_FROM: usize = 10_000;
/// The longest start, in milliseconds.
const START_MS_MAX: f64 = 2_000.0;
/// What one more may cost, as a multiple of the same beside 100.
const APPLY_RATIO_MAX: f64 = 3.0;
/// The longest resolution, in microseconds.
const RESOLVE_MICROS_MAX: f64 = 1.0;
/// What a first call may take beyond a warm one, in milliseconds.
const FIRST_MS_MAX: f64 = 1.0;

/// All checks.
pub fn checks(rows: &[Row]) -> Vec<Check> {
    let Some(least) = rows.first() else { return Vec::new() };
    rows.iter().flat_map(|row| of(row, least)).collect()
}

fn of(row: &Row, least: &Row) -> Vec<Check> {
    let size = row.deployments;
    let bounded = |what: &str, found: f64, max: f64, unit: &str| Check {
        sentence: format!("{size} deployments: {what} {found:.2}{unit}, at most {max}{unit}"),
        passed: found <= max,
    };
    let mut checks = vec![
        bounded("start", median(&row.start) / 1e3, START_MS_MAX, " ms"),
        bounded("one more beside the same on the small node", row.apply_ratio(), APPLY_RATIO_MAX, " ×"),
        bounded("resolution", median(&row.resolve), RESOLVE_MICROS_MAX, " µs"),
        bounded("first call beyond a warm one", row.first_over_warm_ms(), FIRST_MS_MAX, " ms"),
    ];
    if size > least.deployments {
        checks.push(constant(row, least));
    }
    if size >= BYTES_TOLD_FROM
        && let Some(bytes) = row.bytes_each(least)
    {
        let aim = if bytes <= BYTES_EACH_AIM { "reached" } else { "missed" };
        let what = format!("resident memory of each (aim {BYTES_EACH_AIM} bytes: {aim})");
        checks.push(bounded(&what, bytes, BYTES_EACH_MAX, " bytes"));
    }
    checks
}

/// Processes, threads, sockets, descriptors and cells are those of the smallest node.
fn constant(row: &Row, least: &Row) -> Check {
    let (found, expected) = (row.look.counts, least.look.counts);
    let (size, few) = (row.deployments, least.deployments);
    let told = if found == expected { "the same".to_owned() } else { format!("{found:?} instead of {expected:?}") };
    Check {
        sentence: format!(
            "{size} deployments: processes, threads, sockets, descriptors and cells as with {few}: {told}"
        ),
        passed: found == expected,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::calls::Calls;
    use super::super::fleet::Growth;
    use super::super::look::{Counts, Look};
    use super::*;
    use crate::series::Series;

    fn series(nanos: u64) -> Series {
        let mut series = Series::default();
        series.push(Duration::from_nanos(nanos));
        series
    }

    /// A row that is just good enough.
    fn row(deployments: usize) -> Row {
        let counts = Counts { processes: 1, threads: 20, sockets: 4, descriptors: 30, cells: 16 };
        Row {
            deployments,
            releases: 100,
            look: Look { counts, resident_bytes: (50 << 20) + 2048 * deployments as u64 },
            growth: Growth { applied: deployments, took: Duration::from_secs(1) },
            start: series(2_000_000_000),
            beside_few: series(1_000_000),
            beside_many: series(3_000_000),
            resolve: series(1_000),
            calls: Calls { first: series(1_100_000), warm: series(100_000) },
        }
    }

    fn failed(change: impl FnOnce(&mut Row)) -> Vec<String> {
        let mut rows = [row(100), row(10_000)];
        change(&mut rows[1]);
        checks(&rows).into_iter().filter(|check| !check.passed).map(|check| check.sentence).collect()
    }

    #[test]
    fn what_is_just_at_each_bound_passes() {
        assert_eq!(failed(|_| ()), Vec::<String>::new());
        assert_eq!(checks(&[row(100), row(10_000)]).len(), 4 + 6);
    }

    #[test]
    fn each_check_fails_when_its_figure_is_beyond_the_bound() {
        let one = |failed: Vec<String>, of: &str| assert!(failed.len() == 1 && failed[0].contains(of), "{failed:?}");
        one(failed(|row| row.start = series(2_100_000_000)), "start");
        one(failed(|row| row.beside_many = series(3_100_000)), "one more");
        one(failed(|row| row.resolve = series(1_100)), "resolution");
        one(failed(|row| row.calls.first = series(1_200_000)), "first call");
        one(failed(|row| row.look.resident_bytes += 100 << 20), "resident memory");
        one(failed(|row| row.look.counts.threads += 1), "threads: 21");
        one(failed(|row| row.look.counts.processes += 1), "processes: 2");
        one(failed(|row| row.look.counts.sockets -= 1), "sockets: 3");
        one(failed(|row| row.look.counts.cells = 0), "cells: 0");
    }

    #[test]
    fn a_missed_aim_is_said_and_a_missing_row_is_no_success() {
        let rows = [row(100), row(10_000)];
        assert!(checks(&rows).iter().any(|check| check.passed && check.sentence.contains("1024 bytes: missed")));
        assert!(checks(&[]).is_empty());
    }
}
