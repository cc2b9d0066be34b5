//! How `latent config` prints what is in force. Pure.

use std::fmt::Write as _;

use super::effective::Row;
use crate::cli::OutputForm;

/// The rows as text: lines of a file, each with its origin as a comment; or as JSON, one object a line.
pub fn print(rows: &[Row], form: OutputForm) -> String {
    match form {
        OutputForm::Text => text(rows),
        OutputForm::Json => rows.iter().map(json).collect(),
    }
}

fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { key, value, origin } in rows {
        let line = match value {
            Some(value) => format!("{key} = {value}"),
            None => format!("# {key} is not set"),
        };
        let _infallible = writeln!(text, "{line:<58} # {origin}");
    }
    text
}

/// `{"key", "value", "origin"}`; the value as a file would have it, numbers and switches as such.
fn json(row: &Row) -> String {
    let value = row
        .value
        .as_ref()
        .map(|value| serde_json::from_str::<serde_json::Value>(value).unwrap_or_else(|_| value.as_str().into()));
    let object = serde_json::json!({"key": row.key, "value": value, "origin": row.origin.to_string()});
    format!("{object}\n")
}
