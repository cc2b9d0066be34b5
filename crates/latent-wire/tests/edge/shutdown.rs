//! The end of a listener.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::support::{Told, answer_until, config, get_kept, serve, soon, until_closed};

fn from_now(time: Duration) -> std::time::Instant {
    (Instant::now() + time).into_std()
}

#[tokio::test]
async fn idle_connections_end_at_once_and_nothing_is_cut() {
    let served = serve(config());
    let mut stream = served.connect().await;
    get_kept(&mut stream, "/", "here").await;
    let start = Instant::now();
    assert_eq!(served.listener.shutdown(from_now(Duration::from_secs(15))).await, 0);
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    assert!(until_closed(&mut stream).await.is_empty());
    assert!(soon(TcpStream::connect(served.address)).await.is_err(), "nothing listens any more");
}

#[tokio::test]
async fn a_request_under_way_is_answered_within_the_grace() {
    let mut served = serve(config());
    let mut stream = served.connect().await;
    stream.write_all(b"GET /hold HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    let closing = tokio::spawn(served.listener.shutdown(from_now(Duration::from_secs(15))));
    served.gate.add_permits(1);
    answer_until(&mut stream, "released").await;
    assert_eq!(closing.await.expect("no panic"), 0);
    assert!(until_closed(&mut stream).await.is_empty());
}

#[tokio::test]
async fn what_is_left_at_the_deadline_is_cut_and_counted() {
    let mut served = serve(config());
    let mut stream = served.connect().await;
    stream.write_all(b"GET /hold HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    let cut = soon(served.listener.shutdown(from_now(Duration::from_millis(300)))).await;
    assert_eq!(cut, 1);
    assert!(until_closed(&mut stream).await.is_empty());
    assert_eq!(soon(served.told.recv()).await, Some(Told::Dropped));
}

#[tokio::test]
async fn a_listener_whose_owner_is_gone_cuts_all() {
    let served = serve(config());
    let mut stream = served.connect().await;
    get_kept(&mut stream, "/", "here").await;
    drop(served.listener);
    assert!(until_closed(&mut stream).await.is_empty());
}
