//! One HTTP request on its way through a guest: what the guest reads and what it answers, streamed.
//!
//! Invariant: request and response are handed over once; whoever comes second finds nothing. Bodies are pulled, so
//! that nobody holds more of one than its buffers have room for.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use latent_core::RevisionPolicy;
use tokio::sync::oneshot;

use crate::backend::ActivationContext;

/// A streamed body: data, then trailers if there are any.
pub type HttpBody = UnsyncBoxBody<Bytes, HttpBodyError>;

/// Why a body ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpBodyError {
    /// Whoever sends it is gone, or ended it without finishing it.
    Incomplete,
    /// It has more bytes than are taken.
    TooLarge {
        /// How many are.
        limit: u64,
    },
    /// Nothing of it came for too long.
    Stalled,
    /// It does not follow the protocol.
    Malformed,
}

impl fmt::Display for HttpBodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => f.write_str("the body ended before it was complete"),
            Self::TooLarge { limit } => write!(f, "the body has more than {limit} bytes"),
            Self::Stalled => f.write_str("nothing of the body came for too long"),
            Self::Malformed => f.write_str("the body does not follow the protocol"),
        }
    }
}

impl std::error::Error for HttpBodyError {}

/// A request for a guest's HTTP handler and the place for its response. Shared by the transport and the activation.
pub struct HttpExchange {
    parts: Mutex<Option<HttpExchangeParts>>,
    guest_gone: AtomicBool,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

/// What a backend takes out of an exchange.
pub struct HttpExchangeParts {
    /// The request. Its URI has a scheme and an authority.
    pub request: Request<HttpBody>,
    /// Where the head of the response goes, with the body that the guest writes. Dropped, there is none.
    pub response: oneshot::Sender<Response<HttpBody>>,
}

impl HttpExchange {
    /// An exchange, and where its response comes. The latter fails when the guest sets none.
    #[must_use]
    pub fn new(request: Request<HttpBody>) -> (Arc<Self>, oneshot::Receiver<Response<HttpBody>>) {
        let (response, coming) = oneshot::channel();
        let exchange = Self {
            parts: Mutex::new(Some(HttpExchangeParts { request, response })),
            guest_gone: AtomicBool::new(false),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
        };
        (Arc::new(exchange), coming)
    }

    /// Request and response, for the one that runs the guest; `None` the second time.
    #[must_use]
    pub fn take(&self) -> Option<HttpExchangeParts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Says that the guest's code runs no more. To be called before its store is dropped: a response body that ends
    /// after this was cut off by that, unless the guest had finished it.
    pub fn guest_is_gone(&self) {
        self.guest_gone.store(true, Ordering::Release);
    }

    /// Whether the guest's code runs no more.
    #[must_use]
    pub fn is_guest_gone(&self) -> bool {
        self.guest_gone.load(Ordering::Acquire)
    }

    /// Counts bytes of the request's body.
    pub fn count_in(&self, bytes: u64) {
        self.bytes_in.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes of the response's body.
    pub fn count_out(&self, bytes: u64) {
        self.bytes_out.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of both bodies so far: of the request's, and of the response's.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes_in.load(Ordering::Relaxed), self.bytes_out.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for HttpExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpExchange").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

/// Makes the requests of guests. The one place that opens connections for them, and the one that refuses to.
pub trait OutgoingHttp: Send + Sync {
    /// Makes one request, if it is granted. Dropping the future or the response's body closes the connection.
    fn send(&self, outgoing: OutgoingRequest) -> BoxFuture<'static, Result<Response<HttpBody>, OutgoingError>>;
}

/// One request of a guest.
pub struct OutgoingRequest {
    /// The request. Its URI has a scheme and an authority.
    pub request: Request<HttpBody>,
    /// How long the guest wants to wait for a connection; `None`: as long as the node allows.
    pub connect_timeout: Option<Duration>,
    /// For the head of the response.
    pub first_byte_timeout: Option<Duration>,
    /// Between two pieces of the response's body.
    pub between_bytes_timeout: Option<Duration>,
    /// Whose guest it is.
    pub context: Arc<ActivationContext>,
    /// What its revision allows; `execution.outgoing` is what counts here.
    pub policy: Arc<RevisionPolicy>,
}

/// Why a request of a guest has no response. Guests see these by the names of `wasi:http`'s error codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutgoingError {
    /// No grant covers scheme, host and port.
    Denied,
    /// An address of the host is none that the grant reaches.
    AddressProhibited,
    /// The URI has no host, or none that is one.
    UriInvalid,
    /// The method or the protocol is none that is spoken.
    Unsupported,
    /// The name has no address.
    NameUnknown,
    /// Nobody answered the question for the address in time.
    NameTimeout,
    /// No connection in time.
    ConnectionTimeout,
    /// Nobody listens there.
    ConnectionRefused,
    /// The connection ended before the response.
    ConnectionTerminated,
    /// The tenant or the node has too many open.
    ConnectionLimit,
    /// TLS was not agreed on.
    TlsFailed,
    /// The certificate is not trusted or is another host's.
    CertificateRefused,
    /// No head of a response in time.
    ResponseTimeout,
    /// The request has more bytes than may be sent.
    RequestTooLarge {
        /// How many may.
        limit: u64,
    },
    /// The head of the response has more bytes than are taken.
    ResponseHeadTooLarge,
    /// The response is none, or the request's body is not what its head announced.
    Protocol,
    /// The node cannot.
    Unavailable,
}

/// Refuses every request: what a node without outgoing HTTP has.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOutgoingHttp;

impl OutgoingHttp for NoOutgoingHttp {
    fn send(&self, _outgoing: OutgoingRequest) -> BoxFuture<'static, Result<Response<HttpBody>, OutgoingError>> {
        Box::pin(std::future::ready(Err(OutgoingError::Denied)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt as _, Empty};

    fn empty() -> HttpBody {
        Empty::new().map_err(|never| match never {}).boxed_unsync()
    }

    #[test]
    fn an_exchange_is_taken_once_and_a_response_that_is_not_set_is_noticed() {
        let (exchange, mut coming) = HttpExchange::new(Request::new(empty()));
        let parts = exchange.take().expect("nobody was there before");
        assert!(exchange.take().is_none());
        drop(parts);
        assert!(matches!(coming.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }

    #[test]
    fn bytes_of_both_directions_are_counted_apart() {
        let (exchange, _coming) = HttpExchange::new(Request::new(empty()));
        exchange.count_in(3);
        exchange.count_out(5);
        exchange.count_in(4);
        assert_eq!(exchange.bytes(), (7, 5));
    }
}
