//! Peers that flood a listener with frames of HTTP/2.

use std::net::SocketAddr;

use tokio::io::AsyncWriteExt as _;

use crate::hostile::case::Outcome;
use crate::hostile::expect::holds;
use crate::hostile::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, begin, block, flood, frame,
};
use crate::hostile::peer::connect;
use crate::hostile::scene::Scene;

/// What a node may take from a peer that floods it until it closes, in bytes.
const SENT_MAX: u64 = 256 << 20;
/// What its memory may grow by meanwhile.
const GROWN_MAX: u64 = 32 << 20;

/// Row 102.
pub async fn all(scene: &Scene) -> Outcome {
    let before = scene.served.process().resident_bytes()?;
    let mut told = Vec::new();
    for (name, to) in [("invoke", scene.served.invoke), ("control", scene.served.control), ("http", scene.served.http)]
    {
        let sent = [resets(to).await?, continuations(to).await?, empty_frames(to).await?];
        holds(&format!("{name} takes little of a flood: {sent:?} bytes"), sent.iter().all(|sent| *sent < SENT_MAX))?;
        told.push(format!("{name} closed after {} KiB", sent.map(|sent| (sent >> 10).to_string()).join(", ")));
    }
    let grown = scene.served.process().resident_bytes()?.saturating_sub(before);
    holds(&format!("memory is flat, and grew by {grown} bytes"), grown < GROWN_MAX)?;
    Ok(format!("{}; memory +{} KiB", told.join("; "), grown >> 10))
}

fn get() -> Vec<u8> {
    block(&[(":method", "GET"), (":scheme", "http"), (":path", "/hello"), (":authority", "hostile.example")])
}

fn post() -> Vec<u8> {
    let path = "/latent.v1.Invocation/Invoke";
    block(&[(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "hostile.example")])
}

async fn flooded(to: SocketAddr, first: Vec<u8>, piece: impl FnMut() -> Vec<u8>) -> Result<u64, String> {
    let mut stream = connect(to).await?;
    let first = [begin(), first].concat();
    stream.write_all(&first).await.map_err(|error| format!("{to}: {error}"))?;
    let (_, sent) = flood(&mut stream, piece).await?;
    Ok(sent)
}

async fn resets(to: SocketAddr) -> Result<u64, String> {
    let (mut id, get) = (1, get());
    let batch = move || {
        let mut batch = Vec::new();
        for _ in 0..500 {
            batch.extend(frame(HEADERS, END_HEADERS | END_STREAM, id, &get));
            batch.extend(frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
            id += 2;
        }
        batch
    };
    flooded(to, Vec::new(), batch).await
}

async fn continuations(to: SocketAddr) -> Result<u64, String> {
    let field = block(&[("a", &"v".repeat(100))]);
    let piece = frame(CONTINUATION, 0, 1, &field).repeat(100);
    flooded(to, frame(HEADERS, END_STREAM, 1, &get()), move || piece.clone()).await
}

async fn empty_frames(to: SocketAddr) -> Result<u64, String> {
    let piece = frame(DATA, 0, 1, &[]).repeat(1000);
    flooded(to, frame(HEADERS, END_HEADERS, 1, &post()), move || piece.clone()).await
}
