//! The noisy neighbour: one tenant that calls at a steady rate, beside tenants that do what they can to be in its way.
//!
//! Invariant: the victim, the hostile tenants and the node are three processes; what the first one sees is judged against what
//! it saw alone, in the same run on the same node. `kind` says what hostile tenants do, `hostile` is their process and
//! `orders` the way to it, `ground` the node, `paced` the open loop, `bound` what is promised, `rows` what is
//! printed, and `equal` compares tenants that are alike.

mod bound;
mod equal;
mod ground;
pub mod hostile;
mod kind;
mod orders;
mod paced;
mod rows;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use latent_wire::proto::InvokeRequest;
use rustix::process::{Pid, setpriority_process};
use tokio::runtime::Builder;

use crate::endurance::checks::{Check, check};
use crate::endurance::table::verdict;
use crate::nodes::fixtures::result;
use crate::nodes::program::healthz;
use crate::nodes::tenants::settled;
use crate::process::processor_time;

use bound::Sizes;
use ground::{CELLS, Ground};
use hostile::burn;
use kind::Kind;
use orders::Hostile;
use paced::{Paced, paced};
use rows::{Row, Seen};

/// Between two calls of the victim: a hundred in a second.
const CALLS_EVERY: Duration = Duration::from_millis(10);
/// Between two looks at `/healthz`.
const HEALTH_EVERY: Duration = Duration::from_millis(25);
/// For how long hostile tenants are at it before the victim is looked at.
const WARM_UP: Duration = Duration::from_millis(500);
/// The most hostile tenants at once.
const TENANTS: usize = 16;
/// What this process is above the others, where the system lets it.
const PRIORITY: i32 = -10;

/// What to try, and on which program.
#[derive(Debug, Clone)]
pub struct Options {
    /// `latent`.
    pub program: PathBuf,
    /// How long each row is measured.
    pub span: Duration,
}

/// Runs every row, prints a line for each and the checks; whether all passed.
///
/// # Errors
/// When `out` is lost, or the machine has no process, directory or thread to give.
pub fn run(options: &Options, out: &mut impl Write) -> io::Result<bool> {
    // One thread, so that what calls takes as little as can be from what is called.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let checks = runtime.block_on(all(options, out))?;
    writeln!(out)?;
    verdict(out, &checks.unwrap_or_else(|wrong| vec![check(false, wrong)]))
}

async fn all(options: &Options, out: &mut impl Write) -> io::Result<Result<Vec<Check>, String>> {
    let (mut hostile, ground, plain) = match begin(options).await {
        Ok(begun) => begun,
        Err(wrong) => return Ok(Err(wrong)),
    };
    // Nodes and hostile tenants were started before, and stay where they are.
    let raised = setpriority_process(None::<Pid>, PRIORITY).is_ok();
    let sizes = Sizes { cells: CELLS, workers: std::thread::available_parallelism().map_or(1, usize::from) };
    rows::heading(out, options.span, sizes, raised)?;
    let trial = Trial { ground, span: options.span };
    let (alone, beside) = match trial.all(&mut hostile).await {
        Ok(seen) => seen,
        Err(wrong) => return Ok(Err(wrong)),
    };
    rows::first(out, &alone)?;
    let mut checks = vec![alone.answered()];
    for seen in beside {
        let row = Row::new(&alone, seen, sizes);
        row.print(out)?;
        checks.extend(row.checks());
    }
    let equal = equal::trial(&plain, &mut hostile, options.span).await;
    checks.extend(equal::report(equal, out)?);
    Ok(Ok(checks))
}

/// The process of the hostile tenants, the node of the rows, and the one of equal tenants.
async fn begin(options: &Options) -> Result<(Hostile, Ground, Ground), String> {
    let hostile = Hostile::start()?;
    let ground = Ground::with_quotas(&options.program, TENANTS).await?;
    Ok((hostile, ground, Ground::as_it_comes(&options.program, equal::TENANTS).await?))
}

/// The rows beside which hostile tenants.
fn plan() -> Vec<Vec<Kind>> {
    let mut rows: Vec<_> = Kind::HOSTILE.into_iter().map(|kind| vec![kind]).collect();
    rows.extend([Kind::mixture(4), Kind::mixture(TENANTS), vec![Kind::Spinner; TENANTS]]);
    rows
}

struct Trial {
    ground: Ground,
    span: Duration,
}

impl Trial {
    /// What the victim sees alone, and beside each row's tenants. Alone both before and after the others, so that a machine
    /// which becomes slower meanwhile is not taken for a neighbour.
    async fn all(&self, hostile: &mut Hostile) -> Result<(Seen, Vec<Seen>), String> {
        let mut alone = self.seen(&[], hostile, self.span / 2).await?;
        let mut beside = Vec::new();
        for kinds in plan() {
            beside.push(self.seen(&kinds, hostile, self.span).await?);
        }
        alone.add(self.seen(&[], hostile, self.span / 2).await?);
        Ok((alone, beside))
    }

    /// What the victim sees beside these.
    async fn seen(&self, kinds: &[Kind], hostile: &mut Hostile, span: Duration) -> Result<Seen, String> {
        let node = self.ground.served.process();
        hostile.begin(&self.ground.order(kinds).await?)?;
        tokio::time::sleep(WARM_UP).await;
        let before = (processor_time(), node.processor_time()?);
        let (calls, health) = tokio::join!(self.calls(span), self.health(span));
        let own = processor_time().saturating_sub(before.0);
        let nodes = node.processor_time()?.saturating_sub(before.1);
        let report = hostile.stop()?;
        settled(&self.ground.operator).await?;
        Ok(Seen { kinds: kinds.to_vec(), calls, health, report, own, node: nodes, span })
    }

    async fn calls(&self, span: Duration) -> Paced {
        let request = burn(self.ground.iterations);
        paced(CALLS_EVERY, span, || {
            let (client, request) = (self.ground.victim.clone(), InvokeRequest::clone(&request));
            async move {
                let answer = client.invoke(request).await.map_err(|error| error.to_string())?;
                if result(&answer).is_empty() { Err(format!("without a result: {answer:?}")) } else { Ok(()) }
            }
        })
        .await
    }

    async fn health(&self, span: Duration) -> Paced {
        let control = self.ground.served.control;
        paced(HEALTH_EVERY, span, || healthz(control)).await
    }
}
