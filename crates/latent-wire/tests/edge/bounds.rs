//! Bounds on connections and heads.

use latent_wire::listener::{Bound, ListenerConfig};
use tokio::io::AsyncWriteExt as _;

use super::support::{answer_until, config, get_kept, get_once, serve, soon, until_closed};

#[tokio::test]
async fn beyond_its_connections_a_listener_lets_peers_wait() {
    let served = serve(ListenerConfig { connections_max: 1, connections_per_peer_max: 1, ..config() });
    let mut first = served.connect().await;
    get_kept(&mut first, "/", "here").await;
    let mut second = served.connect().await;
    second.write_all(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("writable");
    get_kept(&mut first, "/", "here").await;
    assert_eq!(served.listener.counts().accepted, 1);
    drop(first);
    answer_until(&mut second, "here").await;
    assert_eq!(served.listener.counts().refused, 0);
}

#[tokio::test]
async fn one_peer_cannot_take_all_connections() {
    let served = serve(ListenerConfig { connections_max: 3, connections_per_peer_max: 1, ..config() });
    let mut first = served.connect().await;
    get_kept(&mut first, "/", "here").await;
    let mut second = served.connect().await;
    assert!(until_closed(&mut second).await.is_empty());
    let other = tokio::net::TcpSocket::new_v4().expect("a socket");
    other.bind(([127, 0, 0, 2], 0).into()).expect("another address of this machine");
    let mut other = soon(other.connect(served.address)).await.expect("the listener listens");
    get_kept(&mut other, "/", "here").await;
    let counts = served.listener.counts();
    assert_eq!((counts.accepted, counts.open, counts.refused), (3, 2, 1));
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let served = serve(config());
    let mut stream = served.connect().await;
    let head = format!("GET / HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {}\r\n\r\n", "x".repeat(1 << 20));
    let (mut reading, mut writing) = stream.split();
    let (_, answer) = tokio::join!(writing.write_all(head.as_bytes()), until_closed(&mut reading));
    // A reset may overtake the answer, whose status is all that it has.
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn too_many_header_fields_are_refused() {
    let served = serve(ListenerConfig { header_count_max: 8, ..config() });
    let mut stream = served.connect().await;
    let head = format!("GET / HTTP/1.1\r\nhost: here\r\n{}\r\n", "a: b\r\n".repeat(8));
    stream.write_all(head.as_bytes()).await.expect("writable");
    let answer = String::from_utf8(until_closed(&mut stream).await).expect("text");
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    let served = serve(config());
    for garbage in ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\na b: c\r\n\r\n"] {
        let mut stream = served.connect().await;
        stream.write_all(garbage.as_bytes()).await.expect("writable");
        let answer = String::from_utf8(until_closed(&mut stream).await).expect("text");
        assert!(answer.starts_with("HTTP/1.1 400"), "{garbage:?}: {answer}");
    }
    assert!(get_once(served.address, "/").await.ends_with("here"));
}

#[tokio::test]
async fn lengths_that_contradict_each_other_are_refused() {
    let served = serve(config());
    let mut stream = served.connect().await;
    let head = b"POST /echo HTTP/1.1\r\nhost: here\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx";
    stream.write_all(head).await.expect("writable");
    let answer = String::from_utf8(until_closed(&mut stream).await).expect("text");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let served = serve(config());
    let error = Bound::new(ListenerConfig::new(served.address)).expect_err("taken");
    assert!(error.has_detail("listener.bind"));
    let expected =
        format!("cannot listen on {}: something else listens there; stop it, or choose another port", served.address);
    assert_eq!(error.message(), expected);
}
