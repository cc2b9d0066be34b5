//! Servers on loopback that say exactly what a test wants.

use std::future::Future;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Serves every connection by `serve`, and says where.
pub async fn serving<F, R>(serve: F) -> SocketAddr
where
    F: Fn(TcpStream) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket));
        }
    });
    address
}

/// Reads up to the end of a head.
pub async fn head<S: AsyncRead + Unpin>(socket: &mut S) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).expect("text")
}

/// Answers every request with `answer` and closes.
pub async fn saying(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let answer = answer.into();
    serving(move |mut socket| {
        let answer = answer.clone();
        async move {
            head(&mut socket).await;
            // The client may have refused the answer halfway.
            let _ = socket.write_all(&answer).await;
            let _ = socket.shutdown().await;
            let _ = socket.read_to_end(&mut Vec::new()).await;
        }
    })
    .await
}

/// Answers with `answer`, says nothing more, and tells when the client closes.
pub async fn stopping_after(answer: &'static str) -> (SocketAddr, mpsc::Receiver<()>) {
    let (closed, closing) = mpsc::channel(16);
    let address = serving(move |mut socket| {
        let closed = closed.clone();
        async move {
            head(&mut socket).await;
            // The client may have gone already.
            let _ = socket.write_all(answer.as_bytes()).await;
            let _ = socket.read_to_end(&mut Vec::new()).await;
            let _ = closed.send(()).await;
        }
    })
    .await;
    (address, closing)
}

/// Answers with the request: its head, then its body up to the end of the connection or `content-length`.
pub async fn echoing_heads() -> SocketAddr {
    serving(|mut socket| async move {
        let head = head(&mut socket).await;
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{head}", head.len());
        let _ = socket.write_all(answer.as_bytes()).await;
    })
    .await
}
