//! A storage whose owner is killed again and again: whatever it acknowledged must be there at the next start.
//!
//! The parent starts a worker process that changes a storage and says on its standard output what it is about to do and
//! what was acknowledged. After a number of lines the parent kills it, opens the storage, and compares: everything
//! acknowledged is there, of what was under way all or nothing, and nothing else. The number of lines comes from the
//! seed; where within a change the kill falls is up to the machine.

mod judge;
mod plan;
mod worker;

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_core::{ContractSurface, PlatformError};
use latent_executor::{ComponentInspection, ComponentInspector};
use latent_storage::{Storage, StorageOptions};

use judge::Expected;
pub use plan::{Change, Plan};
pub use worker::work;

/// A start may take so long, after whatever happened.
const START_MAX: Duration = Duration::from_secs(2);
/// Lines of a worker before it is killed, at most.
const LINES_MAX: u64 = 60;

/// How often to kill, and with what.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Kills.
    pub cycles: u64,
    /// What the changes and the kills follow from.
    pub seed: u64,
}

/// Reads nothing and offers everything: what a component exports does not matter here.
#[derive(Debug)]
pub struct Unread;

impl ComponentInspector for Unread {
    fn inspect(&self, _bytes: &[u8]) -> Result<ComponentInspection, PlatformError> {
        Ok(ComponentInspection {
            surface: ContractSurface { functions: Vec::new(), refused: Vec::new() },
            imports: Vec::new(),
            declared_memory_bytes: 0,
        })
    }
}

/// Opens the storage in `directory` as workers and judge do.
///
/// # Errors
/// As of [`Storage::open`].
pub fn open(directory: &Path) -> Result<Storage, PlatformError> {
    Storage::open(directory, StorageOptions::new(Arc::new(Unread)))
}

/// Runs all cycles in `directory`, which is empty, with `worker` as the program of the worker; prints one line for each
/// cycle that failed and a last line `N passed, N failed`. The answer is whether none failed.
///
/// # Errors
/// When `out` is lost or no process can be started.
pub fn run(options: Options, directory: &Path, worker: &Path, out: &mut impl Write) -> io::Result<bool> {
    let mut plan = Plan::new(options.seed);
    let mut expected = Expected::default();
    let (mut failed, mut slowest, mut changes) = (0, Duration::ZERO, 0);
    for cycle in 0..options.cycles {
        let seed = plan.number();
        let said = until_killed(worker, directory, seed, 1 + plan.number() % LINES_MAX)?;
        changes += said.iter().filter(|line| *line == "< done\n").count();
        let (storage, took) = timed(|| open(directory));
        slowest = slowest.max(took);
        let verdict = storage.map_err(|error| format!("does not start: {}", error.message())).and_then(|storage| {
            expected.follow(seed, &said)?;
            expected.compare(&storage)
        });
        let verdict = verdict.and_then(|()| in_time(took));
        if let Err(reason) = verdict {
            failed += 1;
            writeln!(out, "cycle {cycle}, seed {seed}: {reason}")?;
        }
    }
    let mut last = String::new();
    let _infallible =
        write!(last, "{changes} changes acknowledged; slowest start {:.0} ms; ", slowest.as_secs_f64() * 1e3);
    writeln!(out, "{last}{} passed, {failed} failed", options.cycles - failed)?;
    Ok(failed == 0)
}

/// What a worker said until it was killed after `lines` lines, whole lines only.
fn until_killed(worker: &Path, directory: &Path, seed: u64, lines: u64) -> io::Result<Vec<String>> {
    let mut child = Command::new(worker)
        .args(["--work-in".as_ref(), directory.as_os_str()])
        .args(["--seed", &seed.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut out = BufReader::new(child.stdout.take().expect("it was piped"));
    let mut said = Vec::new();
    let mut line = String::new();
    while (said.len() as u64) < lines && out.read_line(&mut line)? > 0 {
        said.push(std::mem::take(&mut line));
    }
    child.kill()?;
    child.wait()?;
    // What was written before the kill counts; a line that was cut does not.
    while out.read_line(&mut line)? > 0 {
        said.push(std::mem::take(&mut line));
    }
    said.retain(|line| line.ends_with('\n'));
    Ok(said)
}

#[expect(clippy::disallowed_methods, reason = "a start is timed")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}

fn in_time(took: Duration) -> Result<(), String> {
    if took <= START_MAX { Ok(()) } else { Err(format!("the start took {took:.1?}, at most {START_MAX:?} is allowed")) }
}
