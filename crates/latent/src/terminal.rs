//! The one place that writes to standard output and standard error.
//!
//! A lost standard output is remembered and told; a lost standard error is not worth failing for.

use std::io::{self, Write};

use latent_core::error::cut;

use crate::ending::{Exit, Failure};
use crate::printable::Printable;

/// Lines of an explanation, above which the rest is counted.
const LINES_MAX: usize = 100;
/// Bytes of a line of an explanation, above which it is cut.
const LINE_BYTES_MAX: usize = 2048;

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

/// Prints one sentence about what is not as it should be and does not matter much.
pub fn warn(sentence: &str) {
    to_stderr(&format!("warning: {}\n", Printable(cut(sentence, LINE_BYTES_MAX))));
}

/// Prints one sentence about what is wrong.
pub fn error_line(sentence: &str) {
    to_stderr(&format!("error: {}\n", Printable(cut(sentence, LINE_BYTES_MAX))));
}

/// Writes to standard output.
///
/// # Errors
/// When it is lost.
pub fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes to standard error.
pub fn to_stderr(text: &str) {
    // Nobody is left to tell that standard error is gone.
    let _lost = io::stderr().lock().write_all(text.as_bytes());
}
