//! A listener: its socket, its connections and their end.
//!
//! Invariant: connections, and what each of them may hold, are bounded; a shutdown ends at its deadline.

mod accept;
mod activity;
mod bodies;
mod config;
mod connection;
mod counters;
mod rounds;
mod socket;
mod streams;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower::Service;

pub use self::bodies::{BodyError, RequestBody};
pub use self::config::{Http2Config, ListenerConfig};
use self::connection::Shared;
use self::counters::Counters;
pub use self::counters::ListenerCounts;
use crate::tls::Tls;

/// Connections that wait in the kernel until they are accepted.
const BACKLOG: u32 = 1024;

/// A socket that listens; nothing is accepted yet.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    config: ListenerConfig,
}

impl Bound {
    /// Listens where `config` says. Within a tokio runtime, on which nothing is spawned.
    ///
    /// # Errors
    /// As [`ListenerConfig::check`]; `unavailable`, detail `listener.bind`, when the address cannot be had.
    pub fn new(config: ListenerConfig) -> Result<Self, PlatformError> {
        config.check()?;
        let (listener, address) = listen(config.address).map_err(|error| not_bound(config.address, &error))?;
        Ok(Self { listener, address, config })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves every request with `service`, through TLS if there is `tls`, on the runtime that this is called in. Each
    /// request has a [`Peer`](crate::api::Peer) and an [`Arrival`](crate::api::Arrival) in its extensions.
    pub fn serve<S, B>(self, tls: Option<Arc<Tls>>, service: S) -> Listener
    where
        S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (close, closing) = watch::channel(None);
        let counters = Arc::new(Counters::default());
        let shared = Shared { config: self.config, tls, service, counters: Arc::clone(&counters), closing };
        let accepting = tokio::spawn(accept::run(self.listener, Arc::new(shared)));
        Listener { address: self.address, counters, close, accepting }
    }
}

/// A listener that serves. Dropped without [`shutdown`](Self::shutdown), it cuts all its connections.
#[derive(Debug)]
#[must_use]
pub struct Listener {
    address: SocketAddr,
    counters: Arc<Counters>,
    close: watch::Sender<Option<Instant>>,
    accepting: JoinHandle<u64>,
}

impl Listener {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has counted.
    #[must_use]
    pub fn counts(&self) -> ListenerCounts {
        self.counters.read()
    }

    /// Accepts no more, lets each connection finish the requests that are under way, and cuts whatever is left at
    /// `deadline`. Returns how many connections were cut.
    pub async fn shutdown(self, deadline: std::time::Instant) -> u64 {
        self.close.send_replace(Some(Instant::from_std(deadline)));
        // It neither panics nor is it aborted, unless the runtime goes away and all connections with it.
        self.accepting.await.unwrap_or_default()
    }
}

fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // So that a node can start again while connections of the one before are still being forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn not_bound(address: SocketAddr, error: &io::Error) -> PlatformError {
    let what = match error.kind() {
        io::ErrorKind::AddrInUse => "something else listens there; stop it, or choose another port",
        io::ErrorKind::AddrNotAvailable => "no interface of this machine has it",
        io::ErrorKind::PermissionDenied => "this user may not listen there; choose a port from 1024 on",
        _ => "the system refuses it",
    };
    let detail = ErrorDetail::new("listener.bind").with("address", address).with("reason", error);
    PlatformError::new(PlatformErrorCode::Unavailable, format!("cannot listen on {address}: {what}"))
        .with_detail(detail)
}
