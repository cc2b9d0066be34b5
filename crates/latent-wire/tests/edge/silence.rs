//! Peers that say nothing, little, or nothing any more.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use super::support::{Told, answer_until, config, get_kept, get_once, impatient, serve, soon, until_closed};
use latent_wire::listener::ListenerConfig;

#[tokio::test]
async fn a_thousand_silent_peers_are_closed_and_others_are_served() {
    let served = serve(ListenerConfig { first_byte_timeout: Duration::from_secs(5), ..config() });
    let mut silent = Vec::new();
    for _ in 0..1000 {
        silent.push(served.connect().await);
    }
    assert!(get_once(served.address, "/").await.ends_with("here"));
    for stream in &mut silent {
        assert!(until_closed(stream).await.is_empty());
    }
    assert_eq!(served.listener.counts().timed_out, 1000);
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_cut() {
    let served = serve(impatient());
    let mut stream = served.connect().await;
    let start = Instant::now();
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    let written = soon(async {
        for written in 0_u32.. {
            pace.tick().await;
            if stream.write_all(b"G").await.is_err() {
                return written;
            }
        }
        unreachable!("the peer writes for ever")
    })
    .await;
    assert!(written > 1, "the first bytes are taken");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_kept_connection_is_closed_when_it_is_idle() {
    let served = serve(impatient());
    let mut stream = served.connect().await;
    get_kept(&mut stream, "/", "here").await;
    get_kept(&mut stream, "/", "here").await;
    assert!(until_closed(&mut stream).await.is_empty());
}

#[tokio::test]
async fn a_connection_is_not_idle_while_a_request_is_held() {
    let mut served = serve(impatient());
    let mut stream = served.connect().await;
    stream.write_all(b"GET /hold HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    // Another connection lives through three whole idle times, one after the other.
    for _ in 0..3 {
        let mut other = served.connect().await;
        until_closed(&mut other).await;
    }
    served.gate.add_permits(1);
    answer_until(&mut stream, "released").await;
}

#[tokio::test]
async fn an_http2_peer_without_a_request_is_closed() {
    let served = serve(impatient());
    let mut stream = served.connect().await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("writable");
    let start = Instant::now();
    until_closed(&mut stream).await;
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(served.listener.counts().timed_out, 1);
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_is_cut() {
    let mut served = serve(impatient());
    let mut stream = served.connect().await;
    stream.write_all(b"POST /echo HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\n").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    let (mut reading, mut writing) = stream.split();
    let trickle = async {
        loop {
            pace.tick().await;
            if writing.write_all(b"x").await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = trickle => {}
        answer = until_closed(&mut reading) => assert!(answer.starts_with(b"HTTP/1.1 200"), "after the handler gave up"),
    }
    assert_eq!(served.told().await, Told::Broke("the body made no progress within 400 ms".into()));
}

#[tokio::test]
async fn a_peer_that_reads_nothing_is_cut() {
    let mut served = serve(impatient());
    let mut stream = served.connect().await;
    stream.write_all(b"GET /endless HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    assert_eq!(served.told().await, Told::Dropped);
}
