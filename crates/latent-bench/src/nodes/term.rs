//! Load and SIGTERM, once, twice and during the start: the node ends clean and in time, and no call is left without word.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::Options;
use super::fixtures::deploy;
use super::load::{Load, Outcomes};
use super::program::{Ended, Home, Served};
use super::verdict::{Cycles, Times, Trial, within};
use crate::crash::Plan;

/// What activations under way have to end.
const GRACE: Duration = Duration::from_millis(300);
/// What a node has for its end beyond the grace.
const END: Duration = Duration::from_secs(1);
/// When every call has to have its end, once its node is gone.
const CALLS_END: Duration = Duration::from_secs(5);
/// The longest load before a signal, in microseconds.
const LOAD_MICROS: u64 = 100_000;
/// The latest moment of a signal during a start, in microseconds.
const START_MICROS: u64 = 40_000;
/// Guests run as long as the node lets them.
const CONFIG: &str = "[shutdown]\ngrace = \"300ms\"\n[limits]\nwall = \"1h\"\nfuel = 1000000000000000";

/// What a cycle does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Once,
    Twice,
    AtStart,
}

impl Kind {
    /// Every eighth cycle sends the signal twice, another eighth during the start.
    fn of(cycle: u64) -> Self {
        match cycle % 8 {
            2 => Self::Twice,
            3 => Self::AtStart,
            _ => Self::Once,
        }
    }
}

/// Figures of all cycles.
#[derive(Debug, Default)]
struct Figures {
    once: Times,
    twice: Times,
    at_start: Times,
    outcomes: Outcomes,
}

/// Runs `count` cycles on one data directory.
///
/// # Errors
/// When `out` is lost, or there is no directory.
pub async fn trial(options: &Options, count: u64, out: &mut impl Write) -> io::Result<Trial> {
    let dir = tempfile::tempdir()?;
    let home = Home::new(&options.program, dir.path(), CONFIG)?;
    let mut plan = Plan::new(options.seed);
    let (mut cycles, mut figures) = (Cycles::default(), Figures::default());
    cycles.count("term, before all cycles", 0, prepare(&home).await, out)?;
    for cycle in 0..count {
        let outcome = match Kind::of(cycle) {
            Kind::AtStart => at_start(&home, &mut plan, &mut figures).await,
            kind => under_load(&home, kind, cycle, &mut plan, &mut figures).await,
        };
        cycles.count("term", cycle, outcome, out)?;
    }
    let Figures { once, twice, at_start, outcomes } = figures;
    Ok(cycles.over(format!(
        "term: grace {GRACE:?}; {} ends by one signal under load: {once}; {} by two: {twice}; {} during the start: \
         {at_start}; calls: {} answered, {} refused, {} not connected, 0 accepted and lost, {} cut before they were accepted; {} streams \
         ended",
        once.len(),
        twice.len(),
        at_start.len(),
        outcomes.answered,
        outcomes.refused,
        outcomes.unreached,
        outcomes.lost.len(),
        outcomes.streams
    )))
}

/// Deploys what is called in every cycle.
async fn prepare(home: &Home) -> Result<(), String> {
    let mut served = home.serve().await?;
    let client = served.client()?;
    for fixture in ["echo", "containment-capsule", "clock-park"] {
        deploy(&client, fixture).await?;
    }
    super::fixtures::echo(&client).await?;
    drop(client);
    served.signal(Signal::TERM);
    clean(&served.ended().await?)
}

async fn under_load(home: &Home, kind: Kind, cycle: u64, plan: &mut Plan, figures: &mut Figures) -> Result<(), String> {
    let mut served = home.serve().await?;
    let silent = [served.invoke, served.control].map(TcpStream::connect);
    let silent = futures_util::future::try_join_all(silent).await.map_err(|error| format!("a peer: {error}"))?;
    let load = Load::begin(&format!("cycle-{cycle}"), || served.client()).await?;
    sleep(Duration::from_micros(plan.number() % LOAD_MICROS)).await;
    let (ended, took) = tell(&mut served, kind == Kind::Twice).await?;
    let outcomes = load.end(CALLS_END).await?;
    drop(silent);
    let lost = accepted(&home.data().join("usage"), &outcomes.lost);
    let wrong = outcomes.wrong.first().cloned();
    let bound = if kind == Kind::Twice { END } else { GRACE + END };
    let times = if kind == Kind::Twice { &mut figures.twice } else { &mut figures.once };
    times.push(took);
    figures.outcomes.add(outcomes);
    clean(&ended)?;
    within("the end", took, bound)?;
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    match lost? {
        lost if lost.is_empty() => Ok(()),
        lost => Err(format!("accepted, and without an answer: {}; the node said {}", lost.join(", "), ended.stderr)),
    }
}

/// Sends the signal as soon as the process catches it, or a moment later.
async fn at_start(home: &Home, plan: &mut Plan, figures: &mut Figures) -> Result<(), String> {
    let mut served = home.begin()?;
    while !catches(served.id, Signal::TERM)? {
        sleep(Duration::from_micros(200)).await;
    }
    sleep(Duration::from_micros(plan.number() % START_MICROS)).await;
    let (ended, took) = tell(&mut served, false).await?;
    figures.at_start.push(took);
    clean(&ended)?;
    within("the end", took, GRACE + END)
}

/// Sends SIGTERM, and once more if `twice`; the end, and how long it took.
async fn tell(served: &mut Served, twice: bool) -> Result<(Ended, Duration), String> {
    let began = Instant::now();
    served.signal(Signal::TERM);
    if twice {
        // Two that come at once may be one for the system.
        sleep(Duration::from_millis(20)).await;
        served.signal(Signal::TERM);
    }
    let ended = served.ended().await?;
    let took = ended.at - began;
    Ok((ended, took))
}

fn clean(ended: &Ended) -> Result<(), String> {
    if ended.status.code() == Some(0) {
        return Ok(());
    }
    Err(format!("the node ended with {}: {}", ended.status, ended.stderr.trim()))
}

/// Which of `ids` the usage log has: activations that the node had accepted.
fn accepted(usage: &Path, ids: &[String]) -> Result<Vec<String>, String> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let read = || {
        let mut text = String::new();
        for file in std::fs::read_dir(usage)? {
            text.push_str(&std::fs::read_to_string(file?.path())?);
        }
        Ok::<_, io::Error>(text)
    };
    let text = read().map_err(|error| format!("the usage log in {}: {error}", usage.display()))?;
    Ok(ids.iter().filter(|id| text.contains(&format!("\"{id}\""))).cloned().collect())
}

/// Whether a process has a handler for `signal`.
fn catches(id: Pid, signal: Signal) -> Result<bool, String> {
    let file = format!("/proc/{}/status", id.as_raw_nonzero());
    let status = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).ok_or("the system tells no handlers")?;
    Ok((mask >> (signal.as_raw() - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_usage_log_has_was_accepted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "{\"activation_id\":\"echo-1\"}\n").unwrap();
        let ids = ["echo-1", "echo-11", "echo"].map(str::to_owned);
        assert_eq!(accepted(dir.path(), &ids).unwrap(), ["echo-1"]);
        assert!(accepted(&dir.path().join("b"), &ids).unwrap_err().contains("usage log"));
    }

    #[test]
    fn each_kind_has_its_share_of_the_cycles() {
        let count = |kind| (0..200).filter(|cycle| Kind::of(*cycle) == kind).count();
        assert_eq!([Kind::Once, Kind::Twice, Kind::AtStart].map(count), [150, 25, 25]);
    }
}
