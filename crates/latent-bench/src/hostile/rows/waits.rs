//! Peers that leave, and peers that say nothing.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::stops::spin;
use crate::hostile::case::Outcome;
use crate::hostile::expect::{holds, same};
use crate::hostile::peer::{self, request};
use crate::hostile::rest::HEALTHY_MAX;
use crate::hostile::scene::Scene;
use crate::nodes::fixtures::{LOOK, echo};
use crate::nodes::load::until_running;
use crate::nodes::verdict::{Times, within};

/// When a guest whose client left has ended: in the fastest of [`ROUNDS`], the machine may be busy with something else.
const INTERRUPTED_MAX: Duration = Duration::from_millis(100);
/// The same in the slowest.
const INTERRUPTED_LATE: Duration = Duration::from_secs(1);
/// The way to leave in which the guest hears of it too.
const BEFORE: &str = "before the body";
/// Rounds of each way to leave.
const ROUNDS: usize = 5;
/// When a silent peer is closed: after ten seconds, and the way of a thousand of them.
const CLOSED_MAX: Duration = Duration::from_millis(10_500);
/// Silent peers.
const PEERS: usize = 1000;
/// Peers of one address on one listener: below the bound of both.
const PEERS_PER_ADDRESS: usize = 125;

/// Row 100.
pub async fn leave(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    scene.deploy("containment-capsule").await?;
    let mut told = Vec::new();
    for (what, head, reads) in [
        (BEFORE, "POST /count", false),
        ("in the call", "GET /sleep?ms=60000", false),
        ("in the response", "GET /drip?n=1000&ms=60", true),
    ] {
        let mut times = Times::default();
        for round in 0..ROUNDS {
            let id = format!("left-{}-{round}", what.replace(' ', "-"));
            let (method, path) = head.split_once(' ').unwrap_or_default();
            let mut lines = format!("latent-activation-id: {id}\r\n");
            if method == "POST" {
                lines += "content-length: 10\r\n";
            }
            let mut stream = peer::connect(scene.served.http).await?;
            let sent = stream.write_all(request(method, path, &lines).as_bytes()).await;
            sent.map_err(|error| format!("{what}: {error}"))?;
            until_running(&scene.hostile, &id).await?;
            if reads {
                peer::head(&mut stream).await?;
            }
            drop(stream);
            times.push(interrupted(scene, &id, what == BEFORE).await?);
        }
        told.push(judged(what, &times)?);
    }
    let mut times = Times::default();
    for round in 0..ROUNDS {
        let id = format!("left-rpc-{round}");
        let (client, request) = (scene.client()?, spin(&id));
        let running = tokio::spawn(async move { client.invoke(request).await });
        until_running(&scene.hostile, &id).await?;
        running.abort();
        times.push(interrupted(scene, &id, false).await?);
    }
    told.push(judged("a call that spins", &times)?);
    Ok(told.join("; "))
}

fn judged(what: &str, times: &Times) -> Result<String, String> {
    within(&format!("{what}, the fastest"), times.percentile(0), INTERRUPTED_MAX)?;
    within(&format!("{what}, the slowest"), times.percentile(100), INTERRUPTED_LATE)?;
    Ok(format!("{what}: {times}"))
}

/// How long it takes from now until an activation has ended, as one whose client left. A guest that waits for the body may
/// come to its own end before that: it is told that the body is cut off.
async fn interrupted(scene: &Scene, id: &str, may_complete: bool) -> Result<Duration, String> {
    let left = Instant::now();
    loop {
        let record = scene.record(id).await?;
        if let Some(terminal) = record.terminal {
            let took = left.elapsed();
            let kinds: Vec<_> =
                terminal.error.into_iter().flat_map(|error| error.details).map(|one| one.kind).collect();
            if may_complete && terminal.state == "completed" {
                return Ok(took);
            }
            same(id, &terminal.state.as_str(), &"cancelled")?;
            holds(
                &format!("{id} says why: {kinds:?}"),
                kinds.iter().any(|kind| kind == "activation.transport-stopped"),
            )?;
            return Ok(took);
        }
        if left.elapsed() > INTERRUPTED_LATE * 2 {
            return Err(format!("{id} goes on: {record:?}"));
        }
        sleep(LOOK / 4).await;
    }
}

/// What a silent peer does before it is silent.
#[derive(Debug, Clone, Copy)]
enum Silence {
    FromTheBegin,
    AfterOneByte,
    AfterARequest,
}

/// Row 101.
pub async fn silent(scene: &Scene) -> Outcome {
    let listeners = [scene.served.invoke, scene.served.control, scene.served.http];
    let mut peers = JoinSet::new();
    for at in 0..PEERS {
        let silence = match at % 10 {
            0 => Silence::AfterOneByte,
            1 => Silence::AfterARequest,
            _ => Silence::FromTheBegin,
        };
        let address = u8::try_from(2 + at / (3 * PEERS_PER_ADDRESS)).unwrap_or(2);
        let to = listeners[at % 3];
        let stream = peer::connect_from(address, to).await?;
        peers.spawn(is_closed(stream, to, silence));
    }
    let mut healthy = Times::default();
    let mut closed = Times::default();
    while !peers.is_empty() {
        let began = Instant::now();
        echo(&scene.healthy).await?;
        healthy.push(began.elapsed());
        scene.served.healthz().await?;
        if let Ok(Some(peer)) = timeout(Duration::from_millis(250), peers.join_next()).await {
            closed.push(peer.map_err(|error| error.to_string())??);
            while let Some(peer) = peers.try_join_next() {
                closed.push(peer.map_err(|error| error.to_string())??);
            }
        }
    }
    same("peers that were closed", &closed.len(), &PEERS)?;
    within("the last to be closed", closed.percentile(100), CLOSED_MAX)?;
    within("the slowest healthy call meanwhile", healthy.percentile(100), HEALTHY_MAX)?;
    Ok(format!("closed after {closed}; {} healthy calls: {healthy}", healthy.len()))
}

/// Is silent until the node closes; how long that took.
async fn is_closed(mut stream: TcpStream, to: SocketAddr, silence: Silence) -> Result<Duration, String> {
    let io = |error: std::io::Error| format!("a silent peer of {to}: {error}");
    match silence {
        Silence::FromTheBegin => {}
        Silence::AfterOneByte => stream.write_all(b"G").await.map_err(io)?,
        Silence::AfterARequest => {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: node\r\n\r\n").await.map_err(io)?;
            let answer = peer::head(&mut stream).await?;
            holds("the first request is answered", answer.status().is_some())?;
        }
    }
    let began = Instant::now();
    let mut rest = Vec::new();
    match timeout(CLOSED_MAX * 2, stream.read_to_end(&mut rest)).await {
        Ok(_) => Ok(began.elapsed()),
        Err(_) => Err(format!("a peer of {to}, silent {silence:?}, is not closed")),
    }
}
