//! What came of the calls so far. Each task keeps its own tally; they are added when the task ends.

/// The most mismatches that are kept in words; all are counted.
const MISMATCHES_MAX: usize = 5;

/// Counts of ended activations, by the columns of the table.
#[derive(Debug)]
pub struct Tally<const COLUMNS: usize> {
    ended: [u64; COLUMNS],
    /// Those that did not end as they were meant to.
    pub mismatches: u64,
    /// The first few of these, in words.
    pub first: Vec<String>,
    /// Those that were granted a cell.
    pub granted: u64,
}

impl<const COLUMNS: usize> Default for Tally<COLUMNS> {
    fn default() -> Self {
        Self { ended: [0; COLUMNS], mismatches: 0, first: Vec::new(), granted: 0 }
    }
}

impl<const COLUMNS: usize> Tally<COLUMNS> {
    /// Enters one activation's end: its column, whether it had a cell, and what was wrong about it.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn enter(&mut self, column: usize, granted: bool, judged: Result<(), String>) {
        self.ended[column] += 1;
        self.granted += u64::from(granted);
        self.check(judged);
    }

    /// Enters what is wrong, if anything is, with an activation that was entered before.
    pub fn check(&mut self, judged: Result<(), String>) {
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

    /// Activations by their column.
    #[must_use]
    pub const fn ended(&self) -> &[u64; COLUMNS] {
        &self.ended
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
    use super::*;

    #[test]
    fn tallies_add_up_and_keep_few_words() {
        let mut sum = Tally::<2>::default();
        for _ in 0..2 {
            let mut tally = Tally::default();
            tally.enter(0, true, Ok(()));
            for _ in 0..4 {
                tally.enter(1, false, Err("wrong".to_owned()));
            }
            sum.add(tally);
        }
        assert_eq!((sum.ended(), sum.total()), (&[2, 8], 10));
        assert_eq!((sum.mismatches, sum.granted, sum.first.len()), (8, 2, MISMATCHES_MAX));
    }
}
