//! Servers that keep a guest waiting, in each phase.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use latent_executor::{HttpBodyError, OutgoingError, OutgoingHttp as _};
use latent_http::egress::EgressConfig;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;

use super::servers::{head, serving, stopping_after};
use super::support::{asked, client, get, loopback, read, send, soon, until_closed};

/// So short that waiting for it costs a test nothing.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_connection_that_nobody_accepts_is_given_up() {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let listener = socket.listen(0).expect("a queue for one");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    while let Ok(connected) = tokio::time::timeout(SHORT * 10, TcpStream::connect(address)).await {
        waiting.push(connected.expect("a place in the queue"));
    }
    let client = client(EgressConfig { connect_timeout: SHORT, ..EgressConfig::default() });
    let answer = send(&client, get(&format!("http://{address}/")), loopback(address.port())).await;
    assert_eq!(answer.err(), Some(OutgoingError::ConnectionTimeout));
    until_closed(&client).await;
}

#[tokio::test]
async fn a_handshake_that_is_not_answered_is_given_up() {
    let port = serving(|socket| async move {
        pending::<()>().await;
        drop(socket);
    })
    .await
    .port();
    let client = client(EgressConfig { connect_timeout: SHORT, ..EgressConfig::default() });
    let answer = send(&client, get(&format!("https://a.example:{port}/")), loopback(port)).await;
    assert_eq!(answer.err(), Some(OutgoingError::ConnectionTimeout));
    until_closed(&client).await;
}

#[tokio::test]
async fn a_head_that_does_not_come_is_given_up_after_the_shorter_time() {
    let (server, mut closing) = stopping_after("HTTP/1.1 200 OK\r\n").await;
    let port = server.port();
    let impatient_node = client(EgressConfig { first_byte_timeout: SHORT, ..EgressConfig::default() });
    let answer = send(&impatient_node, get(&format!("http://a.example:{port}/")), loopback(port)).await;
    assert_eq!(answer.err(), Some(OutgoingError::ResponseTimeout));
    soon(closing.recv()).await.expect("closed");
    let patient_node = client(EgressConfig::default());
    let mut impatient = asked(get(&format!("http://a.example:{port}/")), "a", loopback(port));
    impatient.first_byte_timeout = Some(SHORT);
    assert_eq!(soon(patient_node.send(impatient)).await.err(), Some(OutgoingError::ResponseTimeout));
    soon(closing.recv()).await.expect("closed");
}

#[tokio::test]
async fn a_head_is_waited_for_while_the_request_goes_out() {
    let port = serving(|mut socket| async move {
        let mut seen = String::new();
        while !seen.ends_with("0\r\n\r\n") {
            seen.push_str(&head(&mut socket).await);
        }
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    })
    .await
    .port();
    let client = client(EgressConfig { first_byte_timeout: SHORT * 20, ..EgressConfig::default() });
    // Twelve pieces, each well within the time, all together beyond it.
    let pieces = futures_util::stream::unfold(0, |piece| async move {
        tokio::time::sleep(SHORT * 2).await;
        (piece < 12).then(|| (Ok::<_, HttpBodyError>(Frame::data("piece".into())), piece + 1))
    });
    let request = Request::post(format!("http://a.example:{port}/")).body(StreamBody::new(pieces).boxed_unsync());
    let answer = send(&client, request.expect("a request"), loopback(port)).await;
    assert_eq!(answer.expect("an answer").status(), 200);
}

#[tokio::test]
async fn a_body_that_stops_is_given_up_after_the_shorter_time() {
    let (server, mut closing) = stopping_after("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab").await;
    let port = server.port();
    let impatient_node = client(EgressConfig { between_bytes_timeout: SHORT, ..EgressConfig::default() });
    let response = send(&impatient_node, get(&format!("http://a.example:{port}/")), loopback(port)).await;
    let mut body = response.expect("a head").into_body();
    let first = soon(body.frame()).await.expect("a piece").expect("good").into_data().expect("data");
    assert_eq!(first, "ab");
    assert_eq!(soon(body.frame()).await.expect("an end").err(), Some(HttpBodyError::Stalled));
    assert!(soon(body.frame()).await.is_none());
    soon(closing.recv()).await.expect("closed by the failure, the body still there");
    let mut impatient = asked(get(&format!("http://a.example:{port}/")), "a", loopback(port));
    impatient.between_bytes_timeout = Some(SHORT);
    let response = soon(client(EgressConfig::default()).send(impatient)).await.expect("a head");
    assert_eq!(read(response).await, Err(HttpBodyError::Stalled));
}

#[tokio::test]
async fn a_request_ends_in_all_however_much_comes() {
    let port = serving(|mut socket| async move {
        head(&mut socket).await;
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while socket.write_all(b"drop").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .port();
    let client = client(EgressConfig { total_timeout: SHORT * 20, ..EgressConfig::default() });
    let response = send(&client, get(&format!("http://a.example:{port}/")), loopback(port)).await;
    assert_eq!(read(response.expect("a head")).await, Err(HttpBodyError::Stalled));
    // Also where nobody reads.
    let response = send(&client, get(&format!("http://a.example:{port}/")), loopback(port)).await.expect("a head");
    until_closed(&client).await;
    assert_eq!(read(response).await, Err(HttpBodyError::Stalled));
}

#[tokio::test]
async fn a_guest_that_reads_late_has_not_waited() {
    let sent = Arc::new(Notify::new());
    let done = Arc::clone(&sent);
    let port = serving(move |mut socket| {
        let done = Arc::clone(&done);
        async move {
            head(&mut socket).await;
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab").await;
            done.notify_one();
        }
    })
    .await
    .port();
    let client = client(EgressConfig { between_bytes_timeout: SHORT, ..EgressConfig::default() });
    let response = send(&client, get(&format!("http://a.example:{port}/")), loopback(port)).await.expect("a head");
    soon(sent.notified()).await;
    tokio::time::sleep(SHORT * 2).await;
    assert_eq!(read(response).await.expect("whole"), "ab");
}
