//! Everything hostile that may be done to a node, done to one that runs: by guests, tenants, peers and the machine.
//!
//! Invariant: a case knows of its node only what a client, an operator or the file system can. After each the node is looked
//! at as a whole (`rest`), so that a case which leaves something behind has failed, whatever its own answer was.

mod case;
mod covered;
mod expect;
mod frames;
mod ledger;
mod peer;
mod rest;
mod rows;
mod scene;
mod table;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tokio::runtime::Runtime;
use tokio::time::{Instant, timeout};

use case::{Case, Check, Outcome};
use scene::{Place, Scene};
use table::Table;

/// After this a case has failed: it hangs.
const CASE_MAX: Duration = Duration::from_mins(2);
/// The row that has no number: that no node of the suite has ended, other than when it was told to.
const EXITS: &str = "exits";

/// What to try, and on which program.
#[derive(Debug, Clone)]
pub struct Options {
    /// `latent`.
    pub program: PathBuf,
    /// The rows to try; all when it is empty.
    pub only: Vec<String>,
    /// What random moments and places follow from.
    pub seed: u64,
}

impl Options {
    fn wants(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == row)
    }
}

/// Runs the cases one after the other and prints a row for each, and at the end how many passed and failed. The answer is
/// whether none failed.
///
/// # Errors
/// When a row is wanted that there is none of, `out` is lost, or the machine has no directory or thread to give.
pub fn run(options: &Options, out: &mut impl Write) -> io::Result<bool> {
    let cases = rows::all();
    let known = |row: &str| row == EXITS || cases.iter().any(|case| case.row == row);
    if let Some(unknown) = options.only.iter().find(|row| !known(row)) {
        let mut rows: Vec<_> = cases.iter().map(|case| case.row).collect();
        rows.dedup();
        let wrong = format!("there is no row {unknown:?}; expected some of {EXITS},{}", rows.join(","));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
    }
    Runtime::new()?.block_on(all(options, &cases, out))
}

async fn all(options: &Options, cases: &[Case], out: &mut impl Write) -> io::Result<bool> {
    let mut table = Table::begin(out)?;
    let mut stage = Stage { options, scenes: Vec::new() };
    for case in cases.iter().filter(|case| options.wants(case.row)) {
        let began = Instant::now();
        let (outcome, took) = match &case.check {
            Check::On(place, check) => stage.on(*place, *check).await,
            Check::Apart(check) => (in_time(check(options)).await, began.elapsed()),
            Check::InProcess(tests) => (covered::all(tests), began.elapsed()),
        };
        table.row(case.row, case.name, &outcome, took)?;
    }
    if options.wants(EXITS) {
        let began = Instant::now();
        let outcome = stage.exits().await;
        table.row(EXITS, "no node ended before it was told to", &outcome, began.elapsed())?;
    }
    table.end()
}

async fn in_time(check: impl Future<Output = Outcome>) -> Outcome {
    timeout(CASE_MAX, check).await.unwrap_or_else(|_| Err(format!("it hangs: no end after {CASE_MAX:?}")))
}

/// The nodes that cases share, each begun when a case first needs it.
struct Stage<'a> {
    options: &'a Options,
    scenes: Vec<(Place, Scene)>,
}

impl Stage<'_> {
    /// Runs a case on the node of its place and looks at the node; what came of it, and what the case alone took.
    async fn on(&mut self, place: Place, check: case::OnScene) -> (Outcome, Duration) {
        let scene = match self.scene(place).await {
            Ok(scene) => scene,
            Err(wrong) => return (Err(wrong), Duration::ZERO),
        };
        let before = match rest::before(scene).await {
            Ok(before) => before,
            Err(wrong) => return (Err(format!("before the case: {wrong}")), Duration::ZERO),
        };
        let began = Instant::now();
        let outcome = in_time(check(scene)).await;
        let took = began.elapsed();
        let after = rest::after(scene, &before).await.map_err(|wrong| format!("after the case: {wrong}"));
        let outcome = match (outcome, after) {
            (Ok(told), Ok(())) => Ok(told),
            (Err(wrong), Ok(())) | (Ok(_), Err(wrong)) => Err(wrong),
            (Err(wrong), Err(more)) => Err(format!("{wrong}; {more}")),
        };
        (outcome, took)
    }

    async fn scene(&mut self, place: Place) -> Result<&Scene, String> {
        let known = self.scenes.iter().position(|(known, _)| *known == place);
        if known.is_none() {
            let scene = Scene::open(&self.options.program, place).await?;
            self.scenes.push((place, scene));
        }
        let at = known.unwrap_or(self.scenes.len() - 1);
        Ok(&self.scenes[at].1)
    }

    /// Every node is the process that it was from the start, and ends clean once it is told to.
    async fn exits(&mut self) -> Outcome {
        let mut worst = Duration::ZERO;
        for (place, scene) in &mut self.scenes {
            scene.is_the_same()?;
            let began = Instant::now();
            scene.served.signal(Signal::TERM);
            let ended = scene.served.ended().await?;
            worst = worst.max(ended.at - began);
            if ended.status.code() != Some(0) {
                return Err(format!("the node of {place:?} ended with {}: {}", ended.status, ended.stderr.trim()));
            }
        }
        Ok(format!("{} nodes, 0 exits; each ended clean in {worst:.1?} when it was told to", self.scenes.len()))
    }
}
