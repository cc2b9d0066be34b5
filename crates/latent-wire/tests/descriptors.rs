//! A process without file descriptors, which needs a process of its own.

use std::fs::File;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use latent_wire::listener::{Bound, ListenerConfig};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

#[tokio::test]
async fn accepting_recovers_when_descriptors_come_back() {
    let few = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, few).expect("a lower limit is always allowed");
    let bound = Bound::new(ListenerConfig::new(([127, 0, 0, 1], 0).into())).expect("a free port");
    let address = bound.address();
    let listener = bound.serve(None, Router::new().route("/", get(|| async { "here" })));
    let mut hoard = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        hoard.push(file);
    }
    // One for the peer's own socket; the listener has none to accept it with.
    hoard.pop();
    let mut stream = TcpStream::connect(address).await.expect("the kernel takes the connection");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").await.expect("writable");
    let mut look = tokio::time::interval(Duration::from_millis(5));
    // Until the pauses have reached their longest.
    while listener.counts().accept_failures < 9 {
        look.tick().await;
    }
    let freed = Instant::now();
    drop(hoard);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.ends_with("here"), "{answer}");
    assert!(freed.elapsed() < Duration::from_secs(2), "{:?}", freed.elapsed());
}
