//! What came of a trial: its figures, and whether anything failed.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// A trial that is over.
#[derive(Debug)]
pub struct Trial {
    /// Its name and figures.
    pub told: String,
    /// Cycles, or whatever it consists of, that went as they should.
    pub succeeded: u64,
    /// Those that did not.
    pub failed: u64,
}

impl Trial {
    /// A trial of one part.
    pub fn of(name: &str, outcome: Result<String, String>) -> Self {
        match outcome {
            Ok(told) => Self { told: format!("{name}: {told}"), succeeded: 1, failed: 0 },
            Err(reason) => Self { told: format!("{name}: {reason}"), succeeded: 0, failed: 1 },
        }
    }

    /// Whether all of it succeeded, and there was something to it.
    pub fn passed(&self) -> bool {
        self.failed == 0 && self.succeeded > 0
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} passed, {} failed", self.told, self.succeeded, self.failed)
    }
}

/// The cycles of a trial as they end.
#[derive(Debug, Default)]
pub struct Cycles {
    succeeded: u64,
    failed: u64,
}

impl Cycles {
    /// Counts one, and prints why it failed.
    pub fn count(&mut self, name: &str, cycle: u64, of: Result<(), String>, out: &mut impl Write) -> io::Result<()> {
        match of {
            Ok(()) => self.succeeded += 1,
            Err(reason) => {
                self.failed += 1;
                writeln!(out, "{name}, cycle {cycle}: {reason}")?;
                out.flush()?;
            }
        }
        Ok(())
    }

    /// The end, with these figures.
    pub fn over(self, told: String) -> Trial {
        Trial { told, succeeded: self.succeeded, failed: self.failed }
    }
}

/// Times of one kind.
#[derive(Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Adds one.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Adds others.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The time that so many percent of them do not exceed; 100 for the longest. Zero without any.
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = sorted.len().saturating_sub(1) * percent / 100;
        sorted.get(at).copied().unwrap_or_default()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [middle, most, longest] = [50, 99, 100].map(|percent| self.percentile(percent).as_secs_f64() * 1e3);
        write!(f, "p50 {middle:.1} ms, p99 {most:.1} ms, max {longest:.1} ms")
    }
}

/// Refuses a time beyond `most`.
pub fn within(what: &str, took: Duration, most: Duration) -> Result<(), String> {
    if took <= most { Ok(()) } else { Err(format!("{what} took {took:.1?}, at most {most:?} is allowed")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let mut times = Times::default();
        assert_eq!(times.percentile(99), Duration::ZERO);
        for millis in (1..=101).rev() {
            times.push(Duration::from_millis(millis));
        }
        assert_eq!([0, 50, 99, 100].map(|percent| times.percentile(percent).as_millis()), [1, 51, 100, 101]);
    }

    #[test]
    fn a_trial_without_anything_has_not_passed() {
        assert!(!Cycles::default().over(String::new()).passed());
        assert!(within("it", Duration::from_secs(2), Duration::from_secs(1)).unwrap_err().contains("at most 1s"));
    }
}
