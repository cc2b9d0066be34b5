//! Peers that flood with frames of HTTP/2.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::support::{impatient, serve, soon, until_closed};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;
/// `POST http://x/echo` in HPACK.
const POST_ECHO: &[u8] = b"\x83\x86\x04\x05/echo\x41\x01x";
/// `GET http://x/` in HPACK.
const GET: &[u8] = b"\x82\x86\x84\x41\x01x";
/// What a flood may leave behind in the whole process, in which other tests run.
const MEMORY_BYTES_MAX: usize = 64 << 20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

async fn begin(stream: &mut TcpStream) {
    let mut begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    begin.extend(frame(4, 0, 0, &[]));
    stream.write_all(&begin).await.expect("writable");
}

/// Writes `flood` again and again until the other side closes. Returns what it said, and how often that was.
async fn flood(stream: &mut TcpStream, mut flood: impl FnMut() -> Vec<u8>) -> (Vec<u8>, u64) {
    let (mut reading, mut writing) = stream.split();
    let mut times = 0;
    let write = async {
        while writing.write_all(&flood()).await.is_ok() {
            times += 1;
        }
        std::future::pending::<()>().await;
    };
    let said = tokio::select! {
        () = write => unreachable!("writing never ends by itself"),
        said = until_closed(&mut reading) => said,
    };
    (said, times)
}

/// The error code of the GOAWAY among `said`, if there is one.
fn goaway(mut said: &[u8]) -> Option<u32> {
    while said.len() >= 9 {
        let length = u32::from_be_bytes([0, said[0], said[1], said[2]]) as usize;
        let (head, rest) = said.split_at(9);
        if head[3] == GOAWAY {
            return Some(u32::from_be_bytes(rest.get(4..8)?.try_into().ok()?));
        }
        said = rest.get(length..)?;
    }
    None
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
}

#[tokio::test]
async fn a_flood_of_resets_closes_the_connection() {
    let served = serve(impatient());
    let mut stream = served.connect().await;
    begin(&mut stream).await;
    let before = resident_bytes();
    let mut id = 1;
    let (said, times) = flood(&mut stream, || {
        let mut batch = Vec::new();
        for _ in 0..500 {
            batch.extend(frame(HEADERS, END_HEADERS | END_STREAM, id, GET));
            batch.extend(frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
            id += 2;
        }
        batch
    })
    .await;
    assert!(times < 1000, "{times} batches were taken");
    // Unless the reset of the socket overtook it, there is a reason: ENHANCE_YOUR_CALM.
    assert!(matches!(goaway(&said), None | Some(11)), "{said:?}");
    assert!(resident_bytes().saturating_sub(before) < MEMORY_BYTES_MAX);
    let answer = super::support::get_once(served.address, "/").await;
    assert!(answer.ends_with("here"), "{answer}");
}

#[tokio::test]
async fn a_flood_of_continuations_closes_the_connection() {
    let served = serve(impatient());
    let mut stream = served.connect().await;
    begin(&mut stream).await;
    stream.write_all(&frame(HEADERS, END_STREAM, 1, GET)).await.expect("writable");
    let before = resident_bytes();
    // A header that is never indexed, with a name of one byte and a value of 100.
    let mut field = b"\x10\x01a\x64".to_vec();
    field.extend([b'v'; 100]);
    let piece = frame(CONTINUATION, 0, 1, &field);
    let (_, times) = flood(&mut stream, || piece.repeat(100)).await;
    assert!(times < 10_000, "{times} batches were taken");
    assert!(resident_bytes().saturating_sub(before) < MEMORY_BYTES_MAX);
}

#[tokio::test]
async fn a_flood_of_empty_data_frames_closes_the_connection() {
    let served = serve(impatient());
    let mut stream = served.connect().await;
    begin(&mut stream).await;
    stream.write_all(&frame(HEADERS, END_HEADERS, 1, POST_ECHO)).await.expect("writable");
    let (before, start) = (resident_bytes(), Instant::now());
    let piece = frame(0, 0, 1, &[]).repeat(1000);
    flood(&mut stream, || piece.clone()).await;
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(resident_bytes().saturating_sub(before) < MEMORY_BYTES_MAX);
}

#[tokio::test]
async fn a_flood_of_pings_is_answered_or_closed_in_flat_memory() {
    let served = serve(impatient());
    let mut stream = served.connect().await;
    begin(&mut stream).await;
    let (before, start) = (resident_bytes(), Instant::now());
    let piece = frame(6, 0, 0, &[0; 8]).repeat(1000);
    // Nothing is read until the writing stops.
    let wrote = soon(async { while stream.write_all(&piece).await.is_ok() {} });
    wrote.await;
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(resident_bytes().saturating_sub(before) < MEMORY_BYTES_MAX);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}
