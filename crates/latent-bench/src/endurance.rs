//! The endurance run: many activations that end in every way, over few cells, and what is left of them afterwards.
//!
//! [`mix`] says what is called, [`caller`] calls it, [`judge`] compares each end with the one it was meant to have,
//! [`tally`] counts, [`table`] prints and [`checks`] decides. The calls are made in ten parts; between two parts nothing is under way, so
//! that what the process then holds is what it keeps. The first part is the warm-up.

pub mod caller;
pub mod checks;
pub mod guests;
pub mod judge;
pub mod mix;
pub mod table;
pub mod tally;

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use latent_wasmtime::EngineSettings;
use tokio::task::JoinSet;

use crate::node::Node;

use caller::Caller;
use checks::{Accounts, Evidence, Sample};
use mix::Kind;
use tally::Tally;

/// The parts of a run.
const PARTS: u64 = 10;

/// The columns of the table.
const KINDS: usize = Kind::ALL.len();

/// How much to run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Activations; few hundred may miss a way of ending.
    pub calls: u64,
    /// Cells of the pool.
    pub cells: u32,
    /// Tasks that call at once.
    pub concurrency: usize,
    /// What the calls follow from.
    pub seed: u64,
}

/// Runs it all, prints a table, the accounts and the checks, and answers whether every check passed.
///
/// # Errors
/// When nothing can be written to `out`.
///
/// # Panics
/// When this machine does not run the engine.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub async fn run(options: Options, out: &mut impl Write) -> io::Result<bool> {
    let node = Arc::new(Node::new(EngineSettings::for_cells(options.cells), options.concurrency));
    let caller = Arc::new(Caller::new(node.clone(), options.seed));
    caller.prepare().await;
    let (cells, capacity) = (options.cells, options.cells as usize);
    let Options { calls, concurrency, seed, .. } = options;
    writeln!(
        out,
        "{calls} activations over {cells} cells, {concurrency} at once, seed {seed}; {:?}",
        node.backend.report()
    )?;
    table::heading(out, Kind::ALL.map(Kind::as_str))?;
    let started = Instant::now();
    let mut tally = Tally::default();
    let mut samples = Vec::new();
    let mut busy_pauses = 0;
    for part in 0..PARTS {
        let numbers = calls * part / PARTS..calls * (part + 1) / PARTS;
        tally.add(call_all(&caller, numbers, concurrency).await);
        busy_pauses += usize::from(!Accounts::of(&node).is_idle(capacity));
        let sample = Sample::take();
        table::row(out, started.elapsed().as_secs_f64(), &tally, sample)?;
        samples.push(sample);
    }
    let accounts = Accounts::of(&node);
    let (warm, end) = (samples[0], samples[samples.len() - 1]);
    let evidence = Evidence { calls, cells: capacity, tally: &tally, warm, end, busy_pauses, accounts: &accounts };
    verdict(out, &evidence)
}

/// Makes the calls of these numbers: the tasks draw them from one counter.
async fn call_all(caller: &Arc<Caller>, numbers: Range<u64>, concurrency: usize) -> Tally<KINDS> {
    let next = Arc::new(AtomicU64::new(numbers.start));
    let mut tasks = JoinSet::new();
    for _ in 0..concurrency {
        let (caller, next) = (caller.clone(), next.clone());
        tasks.spawn(async move {
            let mut tally = Tally::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return tally;
                }
                caller.make(number, &mut tally).await;
            }
        });
    }
    let mut sum = Tally::default();
    while let Some(tally) = tasks.join_next().await {
        sum.add(tally.expect("a calling task does not panic"));
    }
    sum
}

fn verdict(out: &mut impl Write, evidence: &Evidence<'_>) -> io::Result<bool> {
    for wrong in &evidence.tally.first {
        writeln!(out, "wrong: {wrong}")?;
    }
    let queued = evidence.tally.total() - evidence.tally.granted;
    writeln!(out, "{queued} ended in the queue, without a cell")?;
    let Accounts { pool, runner, runtime, .. } = evidence.accounts;
    match pool {
        Ok(pool) => writeln!(out, "{pool:?}")?,
        Err(broken) => writeln!(out, "{broken}")?,
    }
    writeln!(out, "{runner:?}\n{runtime:?}")?;
    table::verdict(out, &evidence.checks())
}
