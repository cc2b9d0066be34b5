//! What `latent run` prints of its activations, in the form that was asked for.

use std::io;

use super::node::{Record, Rest};
use super::{report_json, report_text, verdict};
use crate::cli::OutputForm;
use crate::printable::Printable;
use crate::terminal::{error_line, to_stderr, to_stdout};

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
