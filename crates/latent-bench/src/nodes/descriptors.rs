//! A node that has no descriptor left for the connections that come, and gets them back.

use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::Options;
use super::fixtures::{LOOK, deploy, echo};
use super::program::{Home, Served};
use super::verdict::within;

/// Descriptors that the node may have beyond those that it holds.
const SPARE: u64 = 16;
/// Connections that come.
const PEERS: usize = 64;
/// For how long there is none left.
const WITHOUT: Duration = Duration::from_secs(1);
/// How soon it answers again.
const RECOVERED_MAX: Duration = Duration::from_secs(2);
/// What a node may compute while it can do nothing: half of a processor.
const TICKS_MAX: u64 = 50;

/// Lets peers take every descriptor, looks that the node neither ends nor burns a processor, and lets them go.
pub async fn trial(options: &Options) -> Result<String, String> {
    let dir = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let home = Home::new(&options.program, dir.path(), "").map_err(|error| format!("no configuration: {error}"))?;
    let served = home.serve().await?;
    let client = served.client()?;
    deploy(&client, "echo").await?;
    echo(&client).await?;
    let limit = held(&served)? + SPARE;
    let maximum = getrlimit(Resource::Nofile).maximum;
    let before = prlimit(Some(served.id), Resource::Nofile, Rlimit { current: Some(limit), maximum });
    before.map_err(|error| format!("cannot limit the node's descriptors: {error}"))?;
    let peers = peers(&served).await?;
    until_none_is_left(&served, limit).await?;
    let ticks = ticks(served.id)?;
    sleep(WITHOUT).await;
    let burnt = self::ticks(served.id)? - ticks;
    if held(&served)? < limit {
        return Err("the node let go of descriptors by itself".to_owned());
    }
    echo(&client).await.map_err(|error| format!("over the connection that was there before: {error}"))?;
    drop(peers);
    let took = until_answers(&served).await?;
    within("the recovery", took, RECOVERED_MAX)?;
    echo(&served.client()?).await?;
    if burnt > TICKS_MAX {
        return Err(format!("the node computed for {burnt} hundredths of a second in {WITHOUT:?} without descriptors"));
    }
    let freed = took.as_secs_f64() * 1e3;
    Ok(format!(
        "{limit} descriptors, all held by {PEERS} peers; calls on a connection of before go on; answers {freed:.0} ms after \
         they left; {burnt} hundredths of a second computed in {WITHOUT:?} without"
    ))
}

async fn peers(served: &Served) -> Result<Vec<TcpStream>, String> {
    let mut peers = Vec::new();
    for at in 0..PEERS {
        let to = if at % 2 == 0 { served.control } else { served.invoke };
        peers.push(TcpStream::connect(to).await.map_err(|error| format!("peer {at}: {error}"))?);
    }
    Ok(peers)
}

async fn until_none_is_left(served: &Served, limit: u64) -> Result<(), String> {
    let look = async {
        while held(served)? < limit {
            sleep(LOOK).await;
        }
        Ok(())
    };
    timeout(RECOVERED_MAX, look).await.map_err(|_| "the peers did not take all descriptors".to_owned())?
}

/// Asks over connections of their own until one is answered; from when on it took how long.
async fn until_answers(served: &Served) -> Result<Duration, String> {
    let began = Instant::now();
    let ask = async { while timeout(RECOVERED_MAX, served.healthz()).await.is_ok_and(|answer| answer.is_err()) {} };
    timeout(RECOVERED_MAX * 2, ask).await.map_err(|_| "the node does not answer any more".to_owned())?;
    Ok(began.elapsed())
}

fn held(served: &Served) -> Result<u64, String> {
    Ok(served.process().descriptors()? as u64)
}

/// Hundredths of a second that the process has computed.
fn ticks(id: Pid) -> Result<u64, String> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero()));
    let stat = stat.map_err(|error| format!("the node's times: {error}"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok());
    ticks(11).zip(ticks(12)).map(|(user, system)| user + system).ok_or_else(|| "no times of the node".to_owned())
}
