//! Rows for people: columns that are aligned, and cells in which nothing can drive a terminal. Pure.

use std::fmt;

use crate::printable::Printable;

/// What an empty cell shows, so that columns can be counted.
const EMPTY: &str = "-";

/// A head and rows of as many cells.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let shown = |cell: String| if cell.is_empty() { EMPTY.to_owned() } else { Printable(&cell).to_string() };
        self.rows.push(cells.into_iter().map(|cell| shown(cell.into())).collect());
    }

    fn widths(&self) -> Vec<usize> {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |at: usize| lines().filter_map(|cells| cells.get(at)).map(|cell| cell.chars().count()).max();
        (0..self.head.len()).map(|at| width(at).unwrap_or_default()).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for cells in std::iter::once(&self.head).chain(&self.rows) {
            let line: Vec<String> = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
            writeln!(f, "{}", line.join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// Names and values, one a line, the values aligned. Rows without a value are left out.
#[derive(Debug, Clone, Default)]
pub struct Facts(Vec<(&'static str, String)>);

impl Facts {
    /// Adds a fact, unless there is nothing to say.
    #[expect(clippy::needless_pass_by_value, reason = "what is shown is made where it is passed")]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        let value = value.to_string();
        if !value.is_empty() {
            self.0.push((name, Printable(&value).to_string()));
        }
        self
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        self.0.iter().try_for_each(|(name, value)| writeln!(f, "{name:<width$}  {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_empty_cells_show() {
        let mut table = Table::new(&["NAME", "N"]);
        table.row(["a", "1"]);
        table.row(["longer", ""]);
        assert_eq!(table.to_string(), "NAME    N\na       1\nlonger  -\n");
        assert_eq!(Table::new(&["NAME", "N"]).to_string(), "NAME  N\n");
    }

    #[test]
    fn no_cell_drives_the_terminal_or_makes_a_row_of_its_own() {
        let mut table = Table::new(&["NAME"]);
        table.row(["a\nb\u{1b}[2J"]);
        assert_eq!(table.to_string(), "NAME\na\\nb\\u{1b}[2J\n");
        assert_eq!(Facts::default().with("name", "a\nb").to_string(), "name  a\\nb\n");
    }

    #[test]
    fn facts_without_a_value_are_left_out() {
        let facts = Facts::default().with("service", "s").with("limit", "").with("n", 1);
        assert_eq!(facts.to_string(), "service  s\nn        1\n");
    }
}
