//! The table that the suite prints: a row when its case is over, and the verdict at the end.

use std::io::{self, Write};
use std::time::Duration;

use super::case::Outcome;

/// A table that is being printed.
pub struct Table<'a, W: Write> {
    out: &'a mut W,
    succeeded: u64,
    failed: u64,
}

impl<'a, W: Write> Table<'a, W> {
    /// Prints the head.
    ///
    /// # Errors
    /// When `out` is lost.
    pub fn begin(out: &'a mut W) -> io::Result<Self> {
        writeln!(out, "| row | case | result | ms |\n|---|---|---|---|")?;
        Ok(Self { out, succeeded: 0, failed: 0 })
    }

    /// Prints a row.
    ///
    /// # Errors
    /// When `out` is lost.
    pub fn row(&mut self, row: &str, name: &str, outcome: &Outcome, took: Duration) -> io::Result<()> {
        let (counted, result) = match outcome {
            Ok(told) => (&mut self.succeeded, one_line(told)),
            Err(wrong) => (&mut self.failed, format!("**failed**: {}", one_line(wrong))),
        };
        *counted += 1;
        writeln!(self.out, "| {row} | {name} | {result} | {} |", took.as_millis())?;
        self.out.flush()
    }

    /// Prints the verdict: whether nothing failed, and there was something to it.
    ///
    /// # Errors
    /// When `out` is lost.
    pub fn end(self) -> io::Result<bool> {
        let Self { out, succeeded, failed } = self;
        writeln!(out, "\n{succeeded} passed, {failed} failed")?;
        out.flush()?;
        Ok(failed == 0 && succeeded > 0)
    }
}

/// A text that does not end its cell or its row.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_row_fails_the_table_and_nothing_at_all_is_no_success() {
        let mut out = Vec::new();
        let mut table = Table::begin(&mut out).unwrap();
        table.row("1", "a", &Ok("x\ny".to_owned()), Duration::from_millis(3)).unwrap();
        table.row("2", "b", &Err("c|d".to_owned()), Duration::ZERO).unwrap();
        assert!(!table.end().unwrap());
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("| 1 | a | x y | 3 |\n| 2 | b | **failed**: c/d | 0 |\n"), "{text}");
        assert!(text.ends_with("\n1 passed, 1 failed\n"));
        assert!(!Table::begin(&mut Vec::new()).unwrap().end().unwrap());
    }
}
