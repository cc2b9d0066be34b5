//! The one place that writes to standard output and standard error.
//!
//! A lost standard output is remembered and told; a lost standard error is not worth failing for.

use std::io::{self, Write};

use latent_core::error::cut;

use super::ending::{Exit, Failure};
use super::node::{Record, Rest};
use super::printable::Printable;
use super::{report_json, report_text, verdict};
use crate::cli::OutputForm;

/// Lines of an explanation, above which the rest is counted.
const LINES_MAX: usize = 100;
/// Bytes of a line of an explanation, above which it is cut.
const LINE_BYTES_MAX: usize = 2048;

/// Prints records in one form.
#[derive(Debug, Clone)]
pub struct Printer {
    /// The form.
    pub form: OutputForm,
    /// Whether each line about an activation starts with its id.
    pub named: bool,
    /// How the user named the arguments.
    pub arguments: String,
    /// How the user named the component.
    pub component: String,
}

impl Printer {
    /// Prints one record.
    ///
    /// # Errors
    /// When standard output is lost.
    pub fn record(&self, record: &Record) -> io::Result<()> {
        let written = match self.form {
            OutputForm::Json => to_stdout(&report_json::activation_line(record)),
            OutputForm::Text => to_stdout(&report_text::result_text(record)),
        };
        match (verdict::rejection(record), self.form) {
            (Some(error), _) => {
                error_line(&verdict::rejection_sentence(error, &self.arguments, &self.component));
            }
            (None, OutputForm::Text) => to_stderr(&report_text::notes_text(record, self.named)),
            (None, OutputForm::Json) => (),
        }
        written
    }

    /// Prints what the node looks like at the end; only the JSON form has it.
    ///
    /// # Errors
    /// When standard output is lost.
    pub fn rest(&self, rest: &Rest) -> io::Result<()> {
        match self.form {
            OutputForm::Json => to_stdout(&report_json::rest_line(rest)),
            OutputForm::Text => Ok(()),
        }
    }

    /// Warns people of an engine that is slower than it should be; the JSON form has it in its last line.
    pub fn warn_about(&self, engine: &latent_wasmtime::EngineReport) {
        if self.form == OutputForm::Text && !engine.pooling {
            let reason = engine.reason.as_deref().unwrap_or("the pool is switched off");
            to_stderr(&format!("warning: instances are made on demand, which is slower: {}\n", Printable(reason)));
        }
    }
}

/// Prints why the command ends. The lines of a list stay lines; everything else is made printable and bounded.
pub fn failure(failure: &Failure) -> Exit {
    let text = failure.to_string();
    let mut lines = text.lines();
    error_line(lines.next().unwrap_or_default());
    rest_of(lines);
    failure.exit()
}

/// Prints what is wrong with the command line, as the parser of arguments says it.
pub fn usage(text: &str) -> Exit {
    rest_of(text.lines());
    Exit::Usage
}

fn rest_of<'a>(lines: impl Iterator<Item = &'a str>) {
    let mut more = 0_usize;
    for (at, line) in lines.enumerate() {
        if at < LINES_MAX {
            to_stderr(&format!("{}\n", Printable(cut(line, LINE_BYTES_MAX))));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        to_stderr(&format!("  and {more} more\n"));
    }
}

/// What losing standard output means. A reader that has seen enough is no failure.
pub fn lost_output(error: &io::Error, so_far: Exit) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return so_far;
    }
    error_line(&format!("cannot write to standard output: {error}"));
    so_far.max(Exit::LocalFailure)
}

fn error_line(sentence: &str) {
    to_stderr(&format!("error: {}\n", Printable(cut(sentence, LINE_BYTES_MAX))));
}

fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn to_stderr(text: &str) {
    // Nobody is left to tell that standard error is gone.
    let _lost = io::stderr().lock().write_all(text.as_bytes());
}
