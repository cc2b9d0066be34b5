//! The endurance run of the whole lifecycle: many activations of several tenants, through the manager and, where their
//! transport is lost, its supervisor; and what is left of them afterwards.
//!
//! [`plan`] says what becomes of each, [`house`] is the node, [`caller`] lives them, [`filed`] compares their records,
//! [`race`] looks at fairness and [`checks`] decides. [`stalling`] keeps code from becoming ready, [`spares`]
//! keeps cells for those that are lost. As in
//! [`endurance`](crate::endurance) there are ten parts; between two nothing is under way, and the first is the warm-up.

pub mod caller;
pub mod checks;
pub mod filed;
pub mod house;
pub mod plan;
pub mod race;
pub mod spares;
pub mod stalling;

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latent_executor::ExecutionBackend as _;
use tokio::task::JoinSet;

use crate::endurance::checks::Sample;
use crate::endurance::table;
use caller::Caller;
use checks::{Accounts, Evidence};
use filed::Part;
use house::{House, Rooms, TENANTS};
use plan::{Column, DropOneIn, LEGEND, Plan};
use race::Race;

/// The parts of a run.
const PARTS: u64 = 10;

/// About how much running work a run drops that drops any.
const DROPS: u64 = 300;

/// How long the node may take to come to rest after a part.
const REST: Duration = Duration::from_secs(30);

/// How much to run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Activations, rounded up so that each tenant has as many in each part; few thousand may miss a way of ending.
    pub calls: u64,
    /// Cells of the pool that are in use. Where running work is dropped, there is a spare one for each that is lost.
    pub cells: u32,
    /// Tasks that call at once, besides one for each cell in use. Half of all are the first tenant's.
    pub waiting: usize,
    /// What the plans follow from.
    pub seed: u64,
    /// Whether running work is dropped as well.
    pub drop_running: bool,
}

/// A run as its options make it.
struct Run {
    calls: u64,
    /// Cells in use at any time.
    in_use: u32,
    callers: usize,
    /// Activations that are dropped while they run. Each costs a cell, for which there is a spare one.
    drops: u64,
    drop_one_in: DropOneIn,
}

impl Run {
    fn of(options: Options) -> Self {
        let Options { cells, waiting, seed, drop_running, .. } = options;
        let calls = options.calls.next_multiple_of(PARTS * TENANTS as u64);
        // An odd one in so many is every tenant's now and then.
        let drop_one_in = drop_running.then_some((calls / DROPS) | 1);
        let dropped = |number: &u64| Plan::of(seed, *number, drop_one_in).0 == Column::DropRunning;
        let drops = drop_one_in.map_or(0, |_| (0..calls).filter(dropped).count() as u64);
        let callers = cells as usize + waiting;
        Self { calls, in_use: cells, callers, drops, drop_one_in }
    }

    /// The activations of one part.
    const fn part(&self) -> u64 {
        self.calls / PARTS
    }
}

/// Runs it all, prints a table, the accounts and the checks, and answers whether every check passed.
///
/// # Errors
/// When nothing can be written to `out`.
///
/// # Panics
/// When this machine does not run the engine, or the node does not come to rest after a part.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub async fn run(options: Options, out: &mut impl Write) -> io::Result<bool> {
    let run = Run::of(options);
    // As many as a part has: each part finds all its records, and the journal is full after the first.
    let retained = usize::try_from(run.part()).unwrap_or(usize::MAX);
    let (spares, seed) = (u32::try_from(run.drops).unwrap_or(u32::MAX), options.seed);
    let rooms = Rooms { cells: run.in_use.saturating_add(spares), spares, callers: run.callers, retained };
    let cells = rooms.cells as usize;
    let house = Arc::new(House::new(rooms, seed));
    house.prepare().await;
    let caller = Arc::new(Caller { house: house.clone(), seed, drop_one_in: run.drop_one_in });
    writeln!(
        out,
        "{} activations of {TENANTS} tenants over {cells} cells, {spares} of them spare, {} at once, seed {seed}; {:?}\n{LEGEND}",
        run.calls,
        run.callers,
        house.node.backend.report()
    )?;
    table::heading(out, Column::ALL.map(Column::as_str))?;
    let started = Instant::now();
    let (mut all, mut samples, mut busy_pauses, mut least_percent) = (Part::default(), Vec::new(), 0, [100; TENANTS]);
    for part in 0..PARTS {
        let race = Arc::new(Race::over(run.part() / TENANTS as u64));
        let mut lived = live_all(&caller, run.part() * part..run.part() * (part + 1), &race, run.callers).await;
        rest(&house).await;
        lived.compare(&house);
        all.add(lived);
        let dropped = all.tally.ended()[Column::DropRunning as usize];
        let dropped = usize::try_from(dropped).unwrap_or(usize::MAX);
        busy_pauses += usize::from(!Accounts::of(&house).is_idle(cells, dropped));
        for (least, now) in least_percent.iter_mut().zip(race.percent()) {
            *least = now.min(*least);
        }
        let sample = Sample::take();
        table::row(out, started.elapsed().as_secs_f64(), &all.tally, sample)?;
        samples.push(sample);
    }
    let accounts = Accounts::of(&house);
    let (warm, end) = (samples[0], samples[samples.len() - 1]);
    let evidence = Evidence {
        calls: run.calls,
        cells,
        drops: run.drops,
        retained,
        all: &all,
        least_percent,
        warm,
        end,
        busy_pauses,
        accounts: &accounts,
    };
    verdict(out, &evidence)
}

/// Lives the activations of these numbers. Every tenant draws from a counter of its own; the first has half of the
/// callers, the others share the rest.
async fn live_all(caller: &Arc<Caller>, numbers: Range<u64>, race: &Arc<Race>, callers: usize) -> Part {
    let of_each_other = (callers / 2 / (TENANTS - 1)).max(1);
    let of_first = callers.saturating_sub(of_each_other * (TENANTS - 1)).max(1);
    let mut tasks = JoinSet::new();
    // The first tenant comes last, so that its many callers have no start on the others.
    for tenant in (0..TENANTS).rev() {
        let next = Arc::new(AtomicU64::new(numbers.start + tenant as u64));
        for _ in 0..if tenant == 0 { of_first } else { of_each_other } {
            let (caller, race, next, end) = (caller.clone(), race.clone(), next.clone(), numbers.end);
            tasks.spawn(async move {
                let mut part = Part::default();
                loop {
                    let number = next.fetch_add(TENANTS as u64, Ordering::Relaxed);
                    if number >= end {
                        return part;
                    }
                    caller.live(number, &mut part).await;
                    race.ended(number);
                    // As if the next one came over a network: others on this thread have their turn first.
                    tokio::task::yield_now().await;
                }
            });
        }
    }
    let mut sum = Part::default();
    while let Some(part) = tasks.join_next().await {
        sum.add(part.expect("a calling task does not panic"));
    }
    sum
}

/// Waits until the supervisor is through and what was stalled has been read in vain.
async fn rest(house: &House) {
    let at_rest = async {
        let busy = || {
            let supervisor = house.supervisor.snapshot();
            supervisor.continuing + supervisor.reserved > 0 || house.node.backend.resources().preparations > 0
        };
        while busy() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    house.repository.set_open(true);
    tokio::time::timeout(REST, at_rest).await.expect("the node comes to rest");
    house.repository.set_open(false);
}

fn verdict(out: &mut impl Write, evidence: &Evidence<'_>) -> io::Result<bool> {
    let Evidence { all, accounts, least_percent, .. } = evidence;
    for wrong in &all.tally.first {
        writeln!(out, "wrong: {wrong}")?;
    }
    writeln!(out, "{} ended without a cell", all.tally.total() - all.tally.granted)?;
    writeln!(out, "done of their shares at a first finish, at least, in percent: {least_percent:?}")?;
    let Accounts { pool, scheduler, ledger, journal, supervisor, runtime, spares, sink } = accounts;
    writeln!(
        out,
        "{pool:?}\n{scheduler:?}\n{ledger:?}\n{journal:?}\n{supervisor:?}\n{runtime:?}\n{spares} spare cells left; sink {sink:?}"
    )?;
    table::verdict(out, &evidence.checks())
}
