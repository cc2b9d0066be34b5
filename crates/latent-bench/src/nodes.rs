//! Whole nodes, from outside: processes of `latent serve`, over the client half of the API, under load and bad luck.
//!
//! Invariant: a trial knows of a node only what any client, operator or file system could; whatever fails is printed with
//! its cycle, and fails the run.

mod change;
pub(crate) mod descriptors;
pub(crate) mod disk;
mod faults;
pub(crate) mod fixtures;
pub(crate) mod kill;
pub(crate) mod load;
pub(crate) mod memory;
mod mount;
pub(crate) mod program;
pub(crate) mod shared;
mod spin;
pub(crate) mod tenants;
pub(crate) mod term;
pub(crate) mod verdict;

use std::io::{self, Write};
use std::path::PathBuf;

use tokio::runtime::Runtime;

use verdict::Trial;

/// What to try, and on which program.
#[derive(Debug, Clone)]
pub struct Options {
    /// `latent`.
    pub program: PathBuf,
    /// Cycles that end by SIGKILL.
    pub kill: u64,
    /// Cycles that end by SIGTERM.
    pub term: u64,
    /// Whether to measure a node full of spinning guests.
    pub spin: bool,
    /// Whether to take from a node what it needs.
    pub faults: bool,
    /// What the changes and the moments of signals follow from.
    pub seed: u64,
}

/// Runs the trials one after the other, each on fresh directories; prints a line for each failure and one with the figures
/// of each trial. The answer is whether nothing failed.
///
/// # Errors
/// When `out` is lost, or the machine has no directory or thread to give.
pub fn run(options: &Options, out: &mut impl Write) -> io::Result<bool> {
    Runtime::new()?.block_on(all(options, out))
}

async fn all(options: &Options, out: &mut impl Write) -> io::Result<bool> {
    let mut passed = true;
    if options.kill > 0 {
        passed &= end(&kill::trial(options, out).await?, out)?;
    }
    if options.term > 0 {
        passed &= end(&term::trial(options, options.term, out).await?, out)?;
    }
    if options.spin {
        passed &= end(&spin::trial(options).await?, out)?;
    }
    if options.faults {
        passed &= faults::all(options, out).await?;
    }
    Ok(passed)
}

/// Prints the last line of a trial; whether it passed.
fn end(trial: &Trial, out: &mut impl Write) -> io::Result<bool> {
    writeln!(out, "{trial}")?;
    out.flush()?;
    Ok(trial.passed())
}

/// The program whose nodes are tried: the one that was named, or `latent` beside this one.
///
/// # Errors
/// When it is not there.
pub fn program_at(named: Option<PathBuf>) -> io::Result<PathBuf> {
    let program = match named {
        Some(program) => program,
        None => std::env::current_exe()?.with_file_name("latent"),
    };
    if program.is_file() {
        return Ok(program);
    }
    let wrong = format!("{} is not there: build it, or name it with --node", program.display());
    Err(io::Error::new(io::ErrorKind::NotFound, wrong))
}
