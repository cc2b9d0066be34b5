//! The bytes of a connection, plain or through TLS, to a peer that has to take what is written to it.
//!
//! Invariant: a write that waits longer than the stall timeout fails.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;

/// A connection's bytes.
pub(super) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

macro_rules! either {
    ($socket:expr, $stream:ident => $do:expr) => {
        match $socket {
            Socket::Plain($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
            Socket::Tls($stream) => {
                let $stream = Pin::new(&mut **$stream);
                $do
            }
        }
    };
}

/// Whether a connection is to end by a reset. An end that is not one would say, where it is the end of the body too
/// (HTTP/1.0), that a response is whole. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Cut(Arc<AtomicBool>);

impl Cut {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A socket whose writes may not wait for ever.
pub(super) struct Watched {
    cut: Cut,
    socket: Socket,
    stall: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Watched {
    pub(super) fn new(socket: Socket, stall: Duration, cut: Cut) -> Self {
        Self { cut, socket, stall, waiting: None }
    }

    /// Passes on what a write said, unless it waits too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, said: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if said.is_ready() {
            self.waiting = None;
            return said;
        }
        let timer = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.stall)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing of what is written to it")))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.cut.0.load(Ordering::Relaxed) {
            let stream = match &self.socket {
                Socket::Plain(stream) => stream,
                Socket::Tls(stream) => stream.get_ref().0,
            };
            // Where that cannot be set the peer is gone already.
            let _ = stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        either!(&mut self.get_mut().socket, stream => stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let said = either!(&mut this.socket, stream => stream.poll_write(cx, bytes));
        this.watch(cx, said)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let said = either!(&mut this.socket, stream => stream.poll_write_vectored(cx, slices));
        this.watch(cx, said)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.socket {
            Socket::Plain(stream) => stream.is_write_vectored(),
            Socket::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let said = either!(&mut this.socket, stream => stream.poll_flush(cx));
        this.watch(cx, said)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let said = either!(&mut this.socket, stream => stream.poll_shutdown(cx));
        this.watch(cx, said)
    }
}
