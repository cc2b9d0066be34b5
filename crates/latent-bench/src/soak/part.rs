//! One part of the calls: callers that draw numbers, somebody who looks at the node meanwhile, and the pause after it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latent_wire::client::Client;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::endurance::checks::Sample;
use crate::endurance::tally::Tally;
use crate::nodes::tenants::{inventory, settled, unsound};
use crate::process::Process;

use super::caller::{Caller, Door, Known};
use super::lines::ID;
use super::mix::Call;
use super::samples::{At, sample};
use super::{Course, KINDS, narrow};

/// Callers of each tenant.
const CALLERS: usize = 4;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// How long a node has after a part until what it holds is looked at: connections that were closed are gone then.
const QUIET: Duration = Duration::from_millis(300);

/// One part.
pub struct Part<'a> {
    /// The tenants.
    pub doors: &'a [Door],
    /// Who looks.
    pub operator: &'a Client,
    /// The node.
    pub node: &'a Process,
    /// What the calls follow from.
    pub seed: u64,
    /// Their numbers.
    pub numbers: Range<u64>,
}

/// What a caller has at its end.
type Made = (Tally<KINDS>, Vec<(u64, Known)>);

impl Part<'_> {
    /// Makes the calls, enters them in `course`, with samples of memory if it is `measured`; what the idle node holds then.
    ///
    /// # Errors
    /// When the node is gone, its inventory does not add up, or it does not become idle.
    pub async fn run(self, course: &mut Course, measured: bool) -> Result<Sample, String> {
        let next = Arc::new(AtomicU64::new(self.numbers.start));
        let mut callers = JoinSet::new();
        for door in self.doors {
            for _ in 0..CALLERS {
                let caller = Caller::new(door.clone())?;
                callers.spawn(call_all(caller, self.seed, next.clone(), self.numbers.end));
            }
        }
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                ended = callers.join_next() => match ended {
                    None => break,
                    Some(made) => enter(course, made.map_err(|panic| format!("a caller failed: {panic}"))?),
                },
                _ = looks.tick() => {
                    let calls = next.load(Ordering::Relaxed).min(self.numbers.end);
                    self.look(course, calls, measured).await?;
                }
            }
        }
        settled(self.operator).await?;
        sleep(QUIET).await;
        sample(self.node)
    }

    /// Looks at the inventory, and at the memory.
    async fn look(&self, course: &mut Course, calls: u64, measured: bool) -> Result<(), String> {
        let inventory = inventory(self.operator).await?;
        if let Some(broken) = unsound(&inventory) {
            return Err(broken);
        }
        course.looks += 1;
        if measured {
            course.samples.push(At { calls, bytes: sample(self.node)?.resident_bytes });
        }
        Ok(())
    }
}

fn enter(course: &mut Course, (tally, known): Made) {
    course.tally.add(tally);
    for (number, what) in known {
        if let Some(place) = course.known.get_mut(narrow(number)) {
            *place = Some(what);
        }
    }
}

/// Draws numbers and makes their calls until there are no more.
async fn call_all(mut caller: Caller, seed: u64, next: Arc<AtomicU64>, end: u64) -> Made {
    let (mut tally, mut known) = Made::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= end {
            return (tally, known);
        }
        let call = Call::of(seed, number);
        let made = caller.make(call, &format!("{ID}{number}")).await;
        if let Ok(made) = made {
            known.push((number, made));
        }
        tally.enter(
            call.act as usize,
            true,
            made.map(drop).map_err(|wrong| format!("call {number}, {call:?}: {wrong}")),
        );
    }
}
