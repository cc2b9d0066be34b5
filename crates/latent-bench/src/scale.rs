//! Dormant services: one node with 100 to 100,000 deployments of 1,000 releases by 100 tenants, of which hardly any is called.
//!
//! Invariant: everything but the resolutions is measured from outside, on a process that was started over the directory;
//! what is compared with a smaller node is measured in turns with it.

mod calls;
mod fleet;
mod judge;
mod look;
mod row;
mod trial;

use std::io::{self, Write};
use std::path::PathBuf;

use tokio::runtime::Runtime;

use crate::endurance::checks::Check;
use crate::endurance::table::verdict;

/// How many deployments the node has, one after the other.
pub const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// What to try, and on which program.
#[derive(Debug, Clone)]
pub struct Options {
    /// `latent`.
    pub program: PathBuf,
    /// Larger [`SIZES`] are left out.
    pub max: usize,
}

/// Fills a node, prints a row for each size, the checks, and a last line `N passed, N failed`. The answer is whether
/// nothing failed.
///
/// # Errors
/// When `out` is lost, or the machine has no directory or thread to give.
pub fn run(options: &Options, out: &mut impl Write) -> io::Result<bool> {
    let mut rows = Vec::new();
    let done = Runtime::new()?.block_on(trial::all(options, &mut rows, out))?;
    let mut checks = judge::checks(&rows);
    if let Err(reason) = done {
        checks.push(Check { sentence: format!("the trial goes to its end; it broke off: {reason}"), passed: false });
    }
    verdict(out, &checks)
}
