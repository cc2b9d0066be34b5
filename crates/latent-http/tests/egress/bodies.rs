//! Bodies in both directions in HTTP/1.1: whole, cut, and of another length than was said.

use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use latent_executor::{HttpBody, HttpBodyError, OutgoingError};
use latent_http::egress::EgressConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::servers::{head, saying, serving};
use super::support::{client, empty, full, get, loopback, read, send, soon, until_closed};

fn pieces(pieces: &'static [&'static str]) -> HttpBody {
    let frames = pieces.iter().map(|piece| Ok(Frame::data((*piece).into())));
    StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync()
}

#[tokio::test]
async fn a_response_is_whole_or_an_error() {
    let client = client(EgressConfig::default());
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", Ok("ab")),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabcd", Ok("ab")),
        ("HTTP/1.0 200 OK\r\n\r\nab", Ok("ab")),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", Ok("ab")),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", Ok("ab")),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab", Err(HttpBodyError::Incomplete)),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab", Err(HttpBodyError::Incomplete)),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n", Err(HttpBodyError::Incomplete)),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\nab", Err(HttpBodyError::Malformed)),
    ] {
        let port = saying(answer).await.port();
        let response = send(&client, get(&format!("http://a.example:{port}/")), loopback(port)).await.expect("a head");
        assert_eq!(read(response).await, expected.map(bytes::Bytes::from), "{answer:?}");
    }
    until_closed(&client).await;
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_from_no_answer() {
    let client = client(EgressConfig::default());
    for (answer, expected) in [
        ("", OutgoingError::ConnectionTerminated),
        ("HTTP/1.1 200", OutgoingError::ConnectionTerminated),
        ("HTTP/1.1 100 Continue\r\n\r\n", OutgoingError::ConnectionTerminated),
        ("SSH-2.0-server\r\n", OutgoingError::Protocol),
        ("HTTP/1.1 nothing\r\n\r\n", OutgoingError::Protocol),
        ("HTTP/1.1 200 OK\r\na b: c\r\n\r\n", OutgoingError::Protocol),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na", OutgoingError::Protocol),
        ("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", OutgoingError::Protocol),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", OutgoingError::Protocol),
    ] {
        let port = saying(answer).await.port();
        let response = send(&client, get(&format!("http://a.example:{port}/")), loopback(port)).await;
        assert_eq!(response.err(), Some(expected), "{answer:?}");
    }
    let refused = send(&client, get("http://a.example:1/"), loopback(1)).await;
    assert_eq!(refused.err(), Some(OutgoingError::ConnectionRefused));
    until_closed(&client).await;
}

#[tokio::test]
async fn trailers_pass() {
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: sum\r\n\r\n2\r\nab\r\n0\r\nsum: 1\r\n\r\n";
    let port = saying(answer).await.port();
    let response =
        send(&client(EgressConfig::default()), get(&format!("http://a.example:{port}/")), loopback(port)).await;
    let all = soon(response.expect("a head").into_body().collect()).await.expect("whole");
    assert_eq!(all.trailers().expect("trailers")["sum"], "1");
}

#[tokio::test]
async fn a_request_goes_out_whole_by_its_length_or_in_chunks() {
    let (seen, mut bodies) = mpsc::channel(1);
    let port = serving(move |mut socket| {
        let seen = seen.clone();
        async move {
            let mut request = head(&mut socket).await;
            let announced = request.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if let Some(length) = announced {
                let mut body = vec![0; length];
                socket.read_exact(&mut body).await.expect("as many as were announced");
                request.push_str(std::str::from_utf8(&body).expect("text"));
            } else if request.contains("chunked") {
                request.push_str(&head(&mut socket).await);
            }
            seen.send(request).await.expect("a test that looks");
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
    })
    .await
    .port();
    let client = client(EgressConfig::default());
    for (length, body, field, sent) in [
        (None, full("abcd"), "content-length: 4\r\n", "abcd"),
        (Some("4"), pieces(&["ab", "cd"]), "content-length: 4\r\n", "abcd"),
        (None, pieces(&["ab", "cd"]), "transfer-encoding: chunked\r\n", "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"),
        (Some("0"), empty(), "content-length: 0\r\n", ""),
        (None, empty(), "content-length: 0\r\n", ""),
    ] {
        let mut request = Request::post(format!("http://a.example:{port}/"));
        if let Some(length) = length {
            request = request.header("content-length", length);
        }
        let answer = send(&client, request.body(body).expect("a request"), loopback(port)).await;
        assert_eq!(answer.expect("an answer").status(), 200);
        let seen = soon(bodies.recv()).await.expect("a request");
        assert!(seen.contains(field) && seen.ends_with(&format!("\r\n\r\n{sent}")), "{seen}");
    }
}

#[tokio::test]
async fn a_request_of_another_length_than_announced_or_that_breaks_off_fails() {
    let port = serving(|mut socket| async move {
        let _ = socket.read_to_end(&mut Vec::new()).await;
    })
    .await
    .port();
    let client = client(EgressConfig { request_body_bytes_max: 10, ..EgressConfig::default() });
    let broken = futures_util::stream::iter([Ok(Frame::data("ab".into())), Err(HttpBodyError::Incomplete)]);
    for (length, body, expected) in [
        (Some("5"), pieces(&["ab", "cd"]), OutgoingError::Protocol),
        (Some("3"), pieces(&["ab", "cd"]), OutgoingError::Protocol),
        (Some("3"), empty(), OutgoingError::Protocol),
        (None, StreamBody::new(broken).boxed_unsync(), OutgoingError::Protocol),
        (None, pieces(&["abcdef", "ghijkl"]), OutgoingError::RequestTooLarge { limit: 10 }),
    ] {
        let mut request = Request::post(format!("http://a.example:{port}/"));
        if let Some(length) = length {
            request = request.header("content-length", length);
        }
        let answer = send(&client, request.body(body).expect("a request"), loopback(port)).await;
        assert_eq!(answer.err(), Some(expected));
    }
    until_closed(&client).await;
}

#[tokio::test]
async fn both_bodies_flow_at_once_and_one_may_outlast_the_other() {
    let port = serving(|mut socket| async move {
        head(&mut socket).await;
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n").await;
        let mut chunk = [0; "4\r\nping\r\n".len()];
        socket.read_exact(&mut chunk).await.expect("a piece, although nobody reads the answer yet");
        socket.write_all(&chunk[3..7]).await.expect("a client that reads");
        let _ = socket.read_to_end(&mut Vec::new()).await;
    })
    .await
    .port();
    let (sending, coming) = mpsc::channel::<Result<Frame<bytes::Bytes>, HttpBodyError>>(1);
    let stream = futures_util::stream::unfold(coming, |mut coming| async { coming.recv().await.map(|f| (f, coming)) });
    let request = Request::post(format!("http://a.example:{port}/")).body(StreamBody::new(stream).boxed_unsync());
    let client = client(EgressConfig::default());
    let response = send(&client, request.expect("a request"), loopback(port)).await.expect("a head before the body");
    sending.send(Ok(Frame::data("ping".into()))).await.expect("a body that is read");
    assert_eq!(read(response).await.expect("whole"), "ping");
    until_closed(&client).await;
}
