//! A file as a list of keys with their values and lines. Pure.
//!
//! Invariant: order is that of the lines, so that the first mistake in the file is the one that is told.

use std::ops::Range;

use latent_core::printable::is_hidden;
use toml::de::{DeTable, DeValue};

use super::kinds::Literal;

/// One key of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its sections and its name.
    pub path: Vec<String>,
    /// Its value.
    pub literal: Literal,
    /// The line that it stands on, from 1.
    pub line: usize,
}

/// What is wrong with a file, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Misread {
    /// The line, from 1.
    pub line: usize,
    /// A sentence without a name of the file.
    pub sentence: String,
}

/// Reads the keys of `text`.
///
/// # Errors
/// When it is no TOML.
pub fn read(text: &str) -> Result<Vec<Entry>, Misread> {
    let table = DeTable::parse(text).map_err(|error| Misread {
        line: line_of(text, error.span()),
        sentence: format!("this is no TOML: {}", error.message().trim()),
    })?;
    let mut entries = Vec::new();
    flatten(text, table.get_ref(), &mut Vec::new(), &mut entries);
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

/// A path as a file has it on one line: parts that are no bare key are quoted.
pub fn dotted<'a>(path: impl IntoIterator<Item = &'a str>) -> String {
    path.into_iter().map(part).collect::<Vec<_>>().join(".")
}

fn part(part: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !part.is_empty() && part.chars().all(is_bare) {
        return part.to_owned();
    }
    let escaped = part.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if is_hidden(c) => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// The nesting is bounded by the parser.
fn flatten(text: &str, table: &DeTable<'_>, path: &mut Vec<String>, entries: &mut Vec<Entry>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) if !inner.is_empty() => flatten(text, inner, path, entries),
            value => entries.push(Entry {
                path: path.clone(),
                literal: literal(value),
                line: line_of(text, Some(key.span())),
            }),
        }
        path.pop();
    }
}

fn literal(value: &DeValue<'_>) -> Literal {
    match value {
        DeValue::String(text) => Literal::Text(text.to_string()),
        DeValue::Boolean(on) => Literal::Switch(*on),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
            .map_or(Literal::Other("a number below 0 or above 2^64 - 1"), Literal::Number),
        DeValue::Float(_) => Literal::Other("a number with a fraction"),
        DeValue::Datetime(_) => Literal::Other("a date"),
        DeValue::Array(_) => Literal::Other("a list"),
        DeValue::Table(_) => Literal::Section,
    }
}

fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let before = span.map_or(0, |span| span.start.min(text.len()));
    1 + text[..text.floor_char_boundary(before)].matches('\n').count()
}
