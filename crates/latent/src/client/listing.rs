//! Lists that come in pages: all rows up to a bound, and a word when there are more.

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::session::{Ended, Session};

/// The most rows that a node gives at once.
const PAGE_ROWS_MAX: u32 = 256;

// How many rows. No doc comment: it would take the place of each command's help.
#[derive(Debug, Clone, Args)]
pub struct LimitArgs {
    /// The most rows to print
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = RangedU64ValueParser::<u32>::new().range(1..))]
    pub limit: u32,
}

/// Which page is to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageAsk {
    /// How many rows.
    pub page_size: u32,
    /// From the page before; empty for the first one.
    pub page_token: String,
}

/// The rows of a list so far.
#[derive(Debug)]
pub struct Rows<T> {
    so_far: Vec<T>,
    wanted_max: usize,
    token: String,
    is_begun: bool,
}

impl<T> Rows<T> {
    /// No row yet, of at most as many as `limit` says.
    pub fn new(limit: &LimitArgs) -> Self {
        Self { so_far: Vec::new(), wanted_max: limit.limit as usize, token: String::new(), is_begun: false }
    }

    /// The next page to ask for; `None` when all rows are there, or as many as are wanted.
    pub fn next(&self) -> Option<PageAsk> {
        let wanted = self.wanted_max - self.so_far.len();
        if wanted == 0 || (self.is_begun && self.token.is_empty()) {
            return None;
        }
        let page_size = u32::try_from(wanted).unwrap_or(u32::MAX).min(PAGE_ROWS_MAX);
        Some(PageAsk { page_size, page_token: self.token.clone() })
    }

    /// Takes a page. A node that repeats a page token would never come to an end: there the list ends.
    pub fn take(&mut self, page: Vec<T>, next_page_token: String) {
        let wanted = self.wanted_max - self.so_far.len();
        self.so_far.extend(page.into_iter().take(wanted));
        let repeated = self.is_begun && next_page_token == self.token;
        self.token = if repeated { String::new() } else { next_page_token };
        self.is_begun = true;
    }

    /// The rows, and whether there are more.
    pub fn finish(self) -> (Vec<T>, bool) {
        let more = !self.token.is_empty();
        (self.so_far, more)
    }
}

/// Prints a list: each row as one line of JSON, or all of them as a table.
///
/// # Errors
/// When standard output is lost.
pub fn print<T: serde::Serialize>(
    session: &Session,
    listed: Rows<T>,
    table: impl FnOnce(&[T]) -> super::table::Table,
) -> Result<(), Ended> {
    let (rows, more) = listed.finish();
    if session.is_json() {
        for row in &rows {
            session.print(row, String::new)?;
        }
    } else {
        session.print(&(), || table(&rows).to_string())?;
    }
    if more {
        session.note(&format!("these are the first {}; there are more, and --limit prints them", rows.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(limit: u32) -> Rows<u32> {
        Rows::new(&LimitArgs { limit })
    }

    #[test]
    fn pages_are_asked_for_until_the_last_one() {
        let mut list = rows(1000);
        assert_eq!(list.next(), Some(PageAsk { page_size: 256, page_token: String::new() }));
        list.take(vec![1, 2], "t".to_owned());
        assert_eq!(list.next(), Some(PageAsk { page_size: 256, page_token: "t".to_owned() }));
        list.take(vec![3], String::new());
        assert_eq!(list.next(), None);
        assert_eq!(list.finish(), (vec![1, 2, 3], false));
    }

    #[test]
    fn no_more_rows_than_wanted_are_asked_for_or_kept() {
        let mut list = rows(3);
        assert_eq!(list.next().map(|ask| ask.page_size), Some(3));
        list.take(vec![1, 2], "t".to_owned());
        assert_eq!(list.next().map(|ask| ask.page_size), Some(1));
        list.take(vec![3, 4], "u".to_owned());
        assert_eq!(list.next(), None);
        assert_eq!(list.finish(), (vec![1, 2, 3], true));
    }

    #[test]
    fn a_token_that_repeats_ends_the_list() {
        let mut list = rows(1000);
        list.take(vec![1], "t".to_owned());
        list.take(vec![1], "t".to_owned());
        assert_eq!(list.next(), None);
    }
}
