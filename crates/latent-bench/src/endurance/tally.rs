//! What came of the calls so far. Each task keeps its own tally; they are added when the task ends.

use latent_node::ActivationReport;

use super::mix::Kind;

/// The most mismatches that are kept in words; all are counted.
const MISMATCHES_MAX: usize = 5;

/// Counts of ended activations.
#[derive(Debug, Default)]
pub struct Tally {
    ended: [u64; Kind::ALL.len()],
    /// Those that did not end as they were meant to.
    pub mismatches: u64,
    /// The first few of these, in words.
    pub first: Vec<String>,
    /// Those that were granted a cell.
    pub granted: u64,
}

impl Tally {
    /// Enters one activation's end.
    pub fn enter(&mut self, kind: Kind, report: &ActivationReport, judged: Result<(), String>) {
        self.ended[kind as usize] += 1;
        self.granted += u64::from(report.cell.is_some());
        if let Err(wrong) = judged {
            self.mismatches += 1;
            self.note(wrong);
        }
    }

    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        for (sum, more) in self.ended.iter_mut().zip(other.ended) {
            *sum += more;
        }
        self.mismatches += other.mismatches;
        self.granted += other.granted;
        other.first.into_iter().for_each(|wrong| self.note(wrong));
    }

    /// Activations that were meant to end this way.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> u64 {
        self.ended[kind as usize]
    }

    /// All activations.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ended.iter().sum()
    }

    fn note(&mut self, wrong: String) {
        if self.first.len() < MISMATCHES_MAX {
            self.first.push(wrong);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use latent_core::{ActivationId, ActivationOutcome, BudgetConsumption, Payload};

    use super::*;

    #[test]
    fn tallies_add_up_and_keep_few_words() {
        let report = ActivationReport {
            activation_id: ActivationId::new("a").expect("a short id"),
            cell: None,
            outcome: ActivationOutcome::Succeeded { output: Payload::json("null") },
            consumption: BudgetConsumption::default(),
            queue_wait: Duration::ZERO,
        };
        let mut sum = Tally::default();
        for _ in 0..2 {
            let mut tally = Tally::default();
            tally.enter(Kind::Text, &report, Ok(()));
            for _ in 0..4 {
                tally.enter(Kind::Cancel, &report, Err("wrong".to_owned()));
            }
            sum.add(tally);
        }
        assert_eq!((sum.of(Kind::Text), sum.of(Kind::Cancel), sum.total()), (2, 8, 10));
        assert_eq!((sum.mismatches, sum.granted, sum.first.len()), (8, 0, MISMATCHES_MAX));
    }
}
