//! Peers that speak byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// After this a node that neither answers nor closes is one that hangs.
const WATCHDOG: Duration = Duration::from_secs(45);
/// What is kept of an answer, in bytes. The rest is read and counted.
const KEPT_MAX: usize = 1 << 20;

/// What came until the other side closed, in whichever way.
#[derive(Debug, Default)]
pub struct Answer {
    /// Its begin.
    pub bytes: Vec<u8>,
    /// How long it was.
    pub length: usize,
    /// Its end.
    pub ends: Vec<u8>,
}

impl Answer {
    /// The status, if there is an answer.
    pub fn status(&self) -> Option<u16> {
        let head = self.bytes.strip_prefix(b"HTTP/1.")?.get(2..5)?;
        std::str::from_utf8(head).ok()?.parse().ok()
    }

    /// As text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        let text = self.text();
        let head = text.split("\r\n\r\n").next()?;
        let value = head.lines().filter_map(|line| line.split_once(": ")).find(|(found, _)| *found == name);
        value.map(|(_, value)| value.to_owned())
    }

    /// How many answers there are.
    pub fn answers(&self) -> usize {
        self.text().matches("HTTP/1.1 ").count()
    }

    /// Whether a body in chunks came to its end.
    pub fn is_whole(&self) -> bool {
        self.ends.ends_with(b"0\r\n\r\n")
    }
}

/// A connection.
pub async fn connect(to: SocketAddr) -> Result<TcpStream, String> {
    let connected = timeout(WATCHDOG, TcpStream::connect(to)).await;
    connected
        .map_err(|_| format!("no connection to {to} within {WATCHDOG:?}"))?
        .map_err(|error| format!("{to}: {error}"))
}

/// A connection from one of the machine's own addresses, `127.0.0.of`.
pub async fn connect_from(of: u8, to: SocketAddr) -> Result<TcpStream, String> {
    let connected = async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(([127, 0, 0, of], 0).into())?;
        socket.connect(to).await
    };
    connected.await.map_err(|error| format!("from 127.0.0.{of} to {to}: {error}"))
}

/// Everything until the other side closes.
///
/// # Errors
/// When it does not.
pub async fn until_closed(stream: &mut (impl AsyncRead + Unpin)) -> Result<Answer, String> {
    let mut answer = Answer::default();
    let mut piece = vec![0; 64 << 10];
    let read = async {
        // A reset is an end as well.
        while let Ok(bytes @ 1..) = stream.read(&mut piece).await {
            let piece = &piece[..bytes];
            answer.length += bytes;
            let room = KEPT_MAX - answer.bytes.len();
            answer.bytes.extend(&piece[..bytes.min(room)]);
            answer.ends.extend(piece);
            let begin = answer.ends.len().saturating_sub(16);
            answer.ends.drain(..begin);
        }
    };
    let read = timeout(WATCHDOG, read).await;
    read.map_err(|_| format!("the node neither answers nor closes within {WATCHDOG:?}"))?;
    Ok(answer)
}

/// Sends bytes on a connection of its own, and reads until the other side closes.
pub async fn ask(to: SocketAddr, bytes: impl AsRef<[u8]>) -> Result<Answer, String> {
    let mut stream = connect(to).await?;
    let (mut reading, mut writing) = stream.split();
    let write = async {
        // Who closes early does not want the rest.
        let _closed = writing.write_all(bytes.as_ref()).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = write => unreachable!("writing never ends by itself"),
        answer = until_closed(&mut reading) => answer,
    }
}

/// The head of a response.
pub async fn head(stream: &mut TcpStream) -> Result<Answer, String> {
    let mut bytes = Vec::new();
    let read = async {
        while !bytes.ends_with(b"\r\n\r\n") {
            bytes.push(stream.read_u8().await.map_err(|error| format!("no head of a response: {error}"))?);
        }
        Ok::<_, String>(())
    };
    timeout(WATCHDOG, read).await.map_err(|_| format!("no head of a response within {WATCHDOG:?}"))??;
    Ok(Answer { length: bytes.len(), ends: Vec::new(), bytes })
}

/// A request of HTTP/1.1 for the probe of the hostile tenant, with more lines of its head, each with its end.
pub fn request(method: &str, path: &str, lines: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: hostile.example\r\n{lines}\r\n")
}

/// The answer to a `GET` of the probe, over a connection of its own.
pub async fn get(to: SocketAddr, path: &str) -> Result<Answer, String> {
    ask(to, request("GET", path, "connection: close\r\n")).await
}
