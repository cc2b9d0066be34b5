//! Connections to addresses that were checked.
//!
//! Invariant: a connection counts until its socket is closed.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use latent_executor::OutgoingError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::counts::Held;
use super::error;

/// A socket that is counted. The socket goes first.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    _held: Held,
}

/// Connects to the first address that answers, each within its share of the time that is left.
///
/// # Errors
/// That of the last address.
pub(super) async fn connect(addresses: &[SocketAddr], held: Held, end: Instant) -> Result<Socket, OutgoingError> {
    let mut failure = OutgoingError::NameUnknown;
    for (tried, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let share = end.saturating_duration_since(now) / u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        match timeout_at(now + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // A socket that cannot be told not to wait is slower, and nothing else.
                let _ = stream.set_nodelay(true);
                return Ok(Socket { stream, _held: held });
            }
            Ok(Err(refused)) => failure = error::of_connect(&refused),
            Err(_) => failure = OutgoingError::ConnectionTimeout,
        }
    }
    Err(failure)
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
