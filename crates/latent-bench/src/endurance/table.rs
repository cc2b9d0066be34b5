//! What a long run prints: a line for each part, and the checks at the end.

use std::io::{self, Write};

use super::checks::{Check, Sample};
use super::tally::Tally;

/// Prints the heading, with these columns for the ways of ending.
///
/// # Errors
/// When nothing can be written to `out`.
pub fn heading(out: &mut impl Write, columns: impl IntoIterator<Item = &'static str>) -> io::Result<()> {
    write!(out, "{:>8} {:>7} {:>7} {:>4} {:>7}", "calls", "seconds", "RSS MiB", "fds", "threads")?;
    for column in columns {
        write!(out, " {column:>8}")?;
    }
    writeln!(out, " {:>8}", "wrong")
}

/// Prints how far a run is after so many seconds.
///
/// # Errors
/// When nothing can be written to `out`.
#[expect(clippy::cast_precision_loss, reason = "one decimal of a mebibyte needs no 52 bits")]
pub fn row<const COLUMNS: usize>(
    out: &mut impl Write,
    seconds: f64,
    tally: &Tally<COLUMNS>,
    sample: Sample,
) -> io::Result<()> {
    let Sample { resident_bytes, descriptors, threads } = sample;
    let resident = resident_bytes as f64 / f64::from(1 << 20);
    write!(out, "{:>8} {seconds:>7.1} {resident:>7.1} {descriptors:>4} {threads:>7}", tally.total())?;
    for ended in tally.ended() {
        write!(out, " {ended:>8}")?;
    }
    writeln!(out, " {:>8}", tally.mismatches)?;
    out.flush()
}

/// Prints the checks, and answers whether all passed.
///
/// # Errors
/// When nothing can be written to `out`.
pub fn verdict(out: &mut impl Write, checks: &[Check]) -> io::Result<bool> {
    for check in checks {
        writeln!(out, "{} {}", if check.passed { "ok  " } else { "FAIL" }, check.sentence)?;
    }
    let failed = checks.iter().filter(|check| !check.passed).count();
    writeln!(out, "{} passed, {failed} failed", checks.len() - failed)?;
    Ok(failed == 0)
}
