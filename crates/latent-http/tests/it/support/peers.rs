//! Clients: byte by byte, and of HTTP/2.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use latent_executor::HttpBody;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Whatever should happen soon has happened by then, on the slowest machine too.
const SOON: Duration = Duration::from_secs(20);

pub async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(SOON, future).await.expect("it happens soon")
}

/// A request of HTTP/1.1 for `t.example`, with more lines of its head.
pub fn request(method: &str, path: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().flat_map(|line| [line, "\r\n"]).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: t.example\r\n{lines}\r\n")
}

/// Sends `bytes` on a connection of its own.
pub async fn raw(address: SocketAddr, bytes: impl AsRef<[u8]>) -> TcpStream {
    let mut stream = soon(TcpStream::connect(address)).await.expect("the listener listens");
    stream.write_all(bytes.as_ref()).await.expect("writable");
    stream
}

/// Everything until the other side closes, in whichever way.
pub async fn until_closed(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    // A reset is an end as well.
    let _ = soon(stream.read_to_end(&mut all)).await;
    all
}

/// The next head of a response, as text.
pub async fn read_head(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    while !all.ends_with(b"\r\n\r\n") {
        all.push(soon(stream.read_u8()).await.unwrap_or_else(|_| panic!("no head: {}", String::from_utf8_lossy(&all))));
    }
    String::from_utf8(all).expect("a head of text")
}

/// An answer as it came over HTTP/1.1.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A field of the problem that is the body.
    pub fn problem(&self, field: &str) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: serde_json::Value = serde_json::from_slice(&self.body).expect("a problem in JSON");
        match &problem[field] {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Sends `bytes`, which ask for the connection to be closed, and reads the one answer.
pub async fn h1(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Answer {
    let mut stream = raw(address, bytes).await;
    let all = until_closed(&mut stream).await;
    let end = all.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head: {}", String::from_utf8_lossy(&all)));
    let head = String::from_utf8(all[..end].to_vec()).expect("a head of text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head, body: all[end + 4..].to_vec() }
}

/// A connection of HTTP/2.
pub async fn h2(address: SocketAddr) -> SendRequest<HttpBody> {
    let stream = soon(TcpStream::connect(address)).await.expect("the listener listens");
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = shaken.expect("it speaks HTTP/2");
    tokio::spawn(connection);
    sender
}

/// The whole answer to one request: its error when the stream is reset.
pub async fn whole(
    sender: &mut SendRequest<HttpBody>,
    request: Request<HttpBody>,
) -> Result<(StatusCode, HeaderMap, Bytes, Option<HeaderMap>), hyper::Error> {
    let (head, body) = soon(sender.send_request(request)).await?.into_parts();
    let body = soon(body.collect()).await?;
    let trailers = body.trailers().cloned();
    Ok((head.status, head.headers, body.to_bytes(), trailers))
}
