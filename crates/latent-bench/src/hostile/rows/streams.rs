//! Bodies, both ways: without an end, without progress, of another length than was said, and read slowly.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::results::ended;
use crate::hostile::case::Outcome;
use crate::hostile::expect::{OVERSHOOT_MAX, holds, same, short};
use crate::hostile::peer::{self, Answer, connect, get, request, until_closed};
use crate::hostile::scene::Scene;
use crate::nodes::fixtures::LOOK;
use crate::nodes::verdict::within;

/// The largest bodies of the node: of requests, and of responses.
const REQUEST_BODY: usize = 1 << 20;
const RESPONSE_BODY: usize = 16 << 20;
/// What a body without an end may leave of itself in memory.
const GROWN_MAX: u64 = 16 << 20;
/// How long a body may make no progress, and how long it takes to be told.
const STALLED_MAX: Duration = Duration::from_secs(12);
/// The whole time of the suite's node for a reader that is slow, and what follows.
const READER_MAX: Duration = Duration::from_secs(4);

/// Row 109.
pub async fn bodies(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    let before = scene.served.process().resident_bytes()?;
    let endless = endless_request(scene).await?;
    let (stalled, cut) = (stalled_request(scene).await?, cut_request(scene).await?);
    zero_length(scene).await?;
    let large = get(scene.served.http, "/large?n=1000000000").await?;
    holds(&format!("a response of 1 GB is cut: {} bytes", large.length), !large.is_whole())?;
    holds(&format!("{} bytes of it were sent", large.length), large.length < RESPONSE_BODY * 5 / 4)?;
    let grown = scene.served.process().resident_bytes()?.saturating_sub(before);
    holds(&format!("bodies are not kept, memory grew by {grown} bytes"), grown < GROWN_MAX)?;
    let late = stalled_response(scene).await?;
    Ok(format!(
        "endless: {endless}; stalled: {stalled}; cut: {cut}; response of 1 GB cut after {} MiB; one that \
         stalls {late:.1?} after its deadline; memory +{} KiB",
        large.length >> 20,
        grown >> 10
    ))
}

async fn begin(scene: &Scene, head: &str) -> Result<TcpStream, String> {
    let mut stream = connect(scene.served.http).await?;
    stream.write_all(head.as_bytes()).await.map_err(|error| format!("a request: {error}"))?;
    Ok(stream)
}

/// A body in chunks that has no end.
async fn endless_request(scene: &Scene) -> Result<String, String> {
    let mut stream = begin(scene, &request("POST", "/count", "transfer-encoding: chunked\r\n")).await?;
    let piece = format!("10000\r\n{}\r\n", "x".repeat(1 << 16));
    let (mut reading, mut writing) = stream.split();
    let mut sent = 0;
    let write = async {
        loop {
            if writing.write_all(piece.as_bytes()).await.is_err() {
                std::future::pending::<()>().await;
            }
            sent += piece.len();
        }
    };
    let answer = tokio::select! {
        never = write => never,
        answer = until_closed(&mut reading) => answer,
    }?;
    let told = matches!(answer.status(), None | Some(413));
    holds(&format!("it is too large: {}", short(&answer.text())), told || answer.text().contains("incomplete"))?;
    holds(&format!("{sent} bytes of it were taken"), sent < REQUEST_BODY * 16)?;
    Ok(format!("{} after {} KiB", answer.status().map_or("closed".to_owned(), |status| status.to_string()), sent >> 10))
}

/// A body that makes no progress.
async fn stalled_request(scene: &Scene) -> Result<String, String> {
    let mut stream = begin(scene, &(request("POST", "/count", "content-length: 100\r\n") + "four")).await?;
    let began = Instant::now();
    let answer = until_closed(&mut stream).await?;
    within("a body that stalls", began.elapsed(), STALLED_MAX)?;
    let told = answer.status() == Some(408) || answer.text().contains("4 incomplete");
    holds(&format!("it stalled: {}", short(&answer.text())), told)?;
    Ok(format!("{} after {:.1?}", answer.status().unwrap_or_default(), began.elapsed()))
}

/// A body that is cut off, with a peer that still listens.
async fn cut_request(scene: &Scene) -> Result<String, String> {
    let mut stream = begin(scene, &(request("POST", "/count", "content-length: 100\r\n") + "four")).await?;
    stream.shutdown().await.map_err(|error| error.to_string())?;
    let answer = until_closed(&mut stream).await?;
    holds(&format!("it is not whole: {}", short(&answer.text())), !answer.text().contains("4 complete"))?;
    Ok(answer.status().map_or("closed".to_owned(), |status| status.to_string()))
}

/// Bodies of no bytes at all.
async fn zero_length(scene: &Scene) -> Result<(), String> {
    for body in ["content-length: 0\r\n\r\n", "transfer-encoding: chunked\r\n\r\n0\r\n\r\n"] {
        let head = format!("POST /count HTTP/1.1\r\nhost: hostile.example\r\nconnection: close\r\n{body}");
        let answer = peer::ask(scene.served.http, head).await?;
        holds(&format!("{body:?} is whole: {}", short(&answer.text())), answer.text().contains("0 complete"))?;
    }
    Ok(())
}

/// A guest that stops in the midst of its response; how late its deadline ends it.
async fn stalled_response(scene: &Scene) -> Result<Duration, String> {
    const WAITS: Duration = Duration::from_millis(300);
    let lines = format!("connection: close\r\nlatent-timeout: {}ms\r\n", WAITS.as_millis());
    let began = Instant::now();
    let answer = peer::ask(scene.served.http, request("GET", "/drip?n=2&ms=60000", &lines)).await?;
    let took = began.elapsed();
    holds(&format!("it is cut: {}", short(&answer.text())), answer.status() == Some(200) && !answer.is_whole())?;
    same("how it ended", &ended(scene, &answer).await?.0.as_str(), &"deadline-exceeded")?;
    let late = took.checked_sub(WAITS).ok_or_else(|| format!("it was cut early, after {took:?}"))?;
    within("what came after the deadline", late, OVERSHOOT_MAX)?;
    Ok(late)
}

/// Row 110.
pub async fn misdeeds(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    let asked = async |path: &str| get(scene.served.http, path).await;
    let is = |answer: &Answer, status, text: &str| answer.status() == Some(status) && answer.text().contains(text);
    // The guest is told, and says so.
    for path in ["/bad-header", "/bad-length?v=many", "/bad-status?n=99", "/bad-status?n=1000"] {
        let answer = asked(path).await?;
        holds(&format!("{path} is refused to the guest: {}", short(&answer.text())), is(&answer, 200, "refused"))?;
    }
    let mut told = Vec::new();
    for path in ["/long-body", "/short-body", "/bad-length?v=5", "/bad-status?n=101"] {
        let answer = asked(path).await?;
        let whole = answer.status() == Some(200) && answer.text().ends_with("12345");
        let typed = answer.status() == Some(502) || (answer.status() == Some(200) && !whole);
        holds(&format!("{path} is no response: {}", short(&answer.text())), typed)?;
        let status = answer.status().unwrap_or_default();
        told.push(format!("{path} {}", if status == 200 { "cut".to_owned() } else { status.to_string() }));
    }
    Ok(format!("4 refused to the guest; {}", told.join(", ")))
}

/// Row 111.
pub async fn slow_reader(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    let lines = "latent-activation-id: slow-reader\r\n";
    let mut stream = begin(scene, &request("GET", "/large?n=10485760", lines)).await?;
    let head = peer::head(&mut stream).await?;
    same("its status", &head.status(), &Some(200))?;
    let began = Instant::now();
    let mut next = Instant::now();
    let mut read = 0;
    let freed_after = loop {
        if scene.count("leases").await? == 0 {
            break began.elapsed();
        }
        if Instant::now() >= next {
            stream.read_u8().await.map_err(|error| format!("a byte of the response: {error}"))?;
            read += 1;
            next = Instant::now() + Duration::from_secs(1);
        }
        within("how long it holds a cell", began.elapsed(), READER_MAX)?;
        sleep(LOOK).await;
    };
    let (state, kinds) = ended(scene, &head).await?;
    holds(
        &format!("its reader stopped it: {state} {kinds:?}"),
        kinds.iter().any(|kind| kind == "activation.transport-stopped"),
    )?;
    let rest = until_closed(&mut stream).await?;
    holds("the response is cut", !rest.is_whole())?;
    Ok(format!("the cell is free after {freed_after:.1?} and {read} bytes (reader_wait is 1 s); the response is cut"))
}
