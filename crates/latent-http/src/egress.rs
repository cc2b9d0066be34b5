//! Requests that guests make: each is checked against its revision's grants, goes out on a connection of its own, and
//! is bounded in time, size and number.
//!
//! Invariant: a connection is opened only to an address that was checked for this request, is used once, and is closed
//! when the request's future or the response's body is dropped. Redirects are answers like others: the guest's next
//! request is checked anew.

mod address;
mod config;
mod connect;
mod conversation;
mod counts;
mod error;
mod head;
mod resolve;
mod response;
mod target;
mod tasks;
mod times;
mod tls;
mod upload;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Response;
use http::uri::PathAndQuery;
use latent_core::PlatformError;
use latent_core::http::OutgoingScheme;
use latent_executor::{HttpBody, OutgoingError, OutgoingHttp, OutgoingRequest};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

pub use self::address::reachable;
pub use self::config::EgressConfig;
use self::connect::Socket;
use self::conversation::{Conversation, Spoken};
use self::counts::{Caps, Counts};
use self::head::Head;
pub use self::resolve::{LookupHold, Resolver, SystemResolver};
use self::target::{Place, Target};
use self::times::Times;
use self::upload::Upload;

/// The most addresses of one name that are tried, of those that may be reached.
const ADDRESSES_MAX: usize = 8;

/// What is open for guests at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EgressSnapshot {
    /// Requests that have, or wait for, a connection. Each counts until its socket is closed.
    pub connections: usize,
    /// Names whose addresses are asked for, those that nobody waits for any more included.
    pub lookups: usize,
    /// Tenants that have any of the connections.
    pub tenants: usize,
}

/// Makes the requests of guests.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    config: EgressConfig,
    resolver: Arc<dyn Resolver>,
    tls: TlsConnector,
    roots: usize,
    connections: Arc<Counts>,
    lookups: Arc<Counts>,
}

impl Client {
    /// A client that asks the system for addresses. Reads the system's trusted roots, and those of `config.ca_file`,
    /// once; blocks on the disk for that.
    ///
    /// # Errors
    /// As [`EgressConfig::check`], and as [`latent_wire::tls::authorities`] for the file.
    pub fn new(config: EgressConfig) -> Result<Self, PlatformError> {
        Self::with_resolver(config, Arc::new(SystemResolver))
    }

    /// A client that asks `resolver` for addresses.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_resolver(config: EgressConfig, resolver: Arc<dyn Resolver>) -> Result<Self, PlatformError> {
        config.check()?;
        let roots = tls::trusted(config.ca_file.as_deref())?;
        let count = roots.len();
        let tls = TlsConnector::from(Arc::new(tls::configure(roots)));
        let connections = Caps { node: config.connections_per_node, tenant: config.connections_per_tenant };
        let lookups = Caps { node: config.lookups_per_node, tenant: config.lookups_per_tenant };
        let shared = Shared {
            config,
            resolver,
            tls,
            roots: count,
            connections: Counts::new(connections),
            lookups: Counts::new(lookups),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What is open now. All zero when no guest has a request or a body of a response.
    #[must_use]
    pub fn snapshot(&self) -> EgressSnapshot {
        let (connections, tenants) = self.shared.connections.open();
        let (lookups, _) = self.shared.lookups.open();
        EgressSnapshot { connections, lookups, tenants }
    }

    /// How many roots are trusted. With none, every `https` request fails with `CertificateRefused`.
    #[must_use]
    pub fn trusted_roots(&self) -> usize {
        self.shared.roots
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = &self.shared;
        f.debug_struct("Client")
            .field("config", &shared.config)
            .field("trusted_roots", &shared.roots)
            .field("open", &self.snapshot())
            .finish_non_exhaustive()
    }
}

impl OutgoingHttp for Client {
    fn send(&self, outgoing: OutgoingRequest) -> BoxFuture<'static, Result<Response<HttpBody>, OutgoingError>> {
        Box::pin(send(Arc::clone(&self.shared), outgoing))
    }
}

async fn send(shared: Arc<Shared>, outgoing: OutgoingRequest) -> Result<Response<HttpBody>, OutgoingError> {
    let times = Times::new(&shared.config, &outgoing, Instant::now());
    let (parts, body) = outgoing.request.into_parts();
    let target = Target::of(&parts.uri, &outgoing.policy.execution.outgoing)?;
    let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let head = Head::new(parts.method, path, parts.headers, shared.config.request_head_bytes_max)?;
    let upload = Upload::new(body, head.announced, shared.config.request_body_bytes_max)?;
    let tenant = &outgoing.context.principal.tenant;
    let counted = shared.connections.hold(tenant).ok_or(OutgoingError::ConnectionLimit)?;
    let addresses = match &target.place {
        Place::Address(address) => vec![*address],
        Place::Name(name) => {
            let lookup = shared.lookups.hold(tenant).ok_or(OutgoingError::ConnectionLimit)?;
            let asked = shared.resolver.resolve(name, LookupHold::new(lookup));
            let answer = timeout_at(times.connect_end, asked).await.map_err(|_| OutgoingError::NameTimeout)?;
            answer.map_err(|error| error::of_lookup(&error))?
        }
    };
    let addresses = checked(addresses, &target)?;
    let socket = connect::connect(&addresses, counted, times.connect_end).await?;
    let conversation = Conversation { config: &shared.config, target: &target, times: &times };
    match target.scheme {
        OutgoingScheme::Http => conversation.hold(socket, Spoken::Http1, head, upload).await,
        OutgoingScheme::Https => {
            let (stream, spoken) = secured(&shared.tls, &target, socket, times.connect_end).await?;
            conversation.hold(Box::new(stream), spoken, head, upload).await
        }
    }
}

/// The addresses that the target's grants reach, in their order, at most [`ADDRESSES_MAX`].
fn checked(addresses: Vec<std::net::IpAddr>, target: &Target) -> Result<Vec<SocketAddr>, OutgoingError> {
    if addresses.is_empty() {
        return Err(OutgoingError::NameUnknown);
    }
    let permitted = addresses.into_iter().filter(|address| reachable(*address, &target.networks));
    let permitted: Vec<_> =
        permitted.take(ADDRESSES_MAX).map(|address| SocketAddr::new(address, target.port)).collect();
    if permitted.is_empty() { Err(OutgoingError::AddressProhibited) } else { Ok(permitted) }
}

async fn secured(
    tls: &TlsConnector,
    target: &Target,
    socket: Socket,
    end: Instant,
) -> Result<(tokio_rustls::client::TlsStream<Socket>, Spoken), OutgoingError> {
    let name = tls::server_name(&target.place)?;
    let handshake = timeout_at(end, tls.connect(name, socket)).await;
    let stream =
        handshake.map_err(|_| OutgoingError::ConnectionTimeout)?.map_err(|error| error::of_handshake(&error))?;
    let spoken = if stream.get_ref().1.alpn_protocol() == Some(tls::HTTP2) { Spoken::Http2 } else { Spoken::Http1 };
    Ok((stream, spoken))
}
