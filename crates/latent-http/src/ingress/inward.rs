//! What the guest is given: the request as it came, without what is between the client and the node.
//!
//! Invariant: nothing that a client writes passes for the node's own word, and a body beyond its bound ends with an error.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Request, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::{HttpBody, HttpBodyError};
use latent_wire::api::Peer;
use latent_wire::json::text;
use latent_wire::listener::{BodyError, RequestBody};

use super::config::{Forwarded, IngressConfig};
use super::head::{remove_hop_by_hop, remove_nodes_own};
use super::problem::STALLED;
use super::target::Target;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// What proxies say, and a client that is none could.
const FORWARDED: [HeaderName; 6] = [
    http::header::FORWARDED,
    FORWARDED_FOR,
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-port"),
    FORWARDED_PROTO,
    HeaderName::from_static("x-real-ip"),
];

/// What was wrong with the body of a request, once it is known.
pub(super) type Fault = Arc<OnceLock<HttpBodyError>>;

/// Refuses a body whose length is known to be too large, or known in two ways.
///
/// # Errors
/// `invalid-argument`, detail `http.body` with `max`, or `http.header`.
pub(super) fn check_length(headers: &HeaderMap, max: u64) -> Result<(), PlatformError> {
    let name = CONTENT_LENGTH.as_str();
    let Some(length) = text::raw_header(headers, name)? else { return Ok(()) };
    if headers.contains_key(TRANSFER_ENCODING) {
        return Err(text::invalid("http.header", name, "is not sent together with transfer-encoding"));
    }
    if text::number::<u64>("http.header", name, length)? > max { Err(too_large(max)) } else { Ok(()) }
}

/// The request that the guest handles, and where it is said what was wrong with its body.
pub(super) fn request(
    parts: Parts,
    body: RequestBody,
    target: Target,
    peer: Peer,
    config: &IngressConfig,
) -> (Request<HttpBody>, Fault) {
    let Parts { method, version, mut headers, .. } = parts;
    remove_hop_by_hop(&mut headers);
    remove_nodes_own(&mut headers);
    headers.remove(EXPECT);
    forward(&mut headers, peer, config);
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(config.scheme.scheme());
    uri.authority = Some(target.authority);
    uri.path_and_query = Some(target.path_and_query);
    let fault = Fault::default();
    let max = config.request_body_bytes_max;
    let body = if body.is_end_stream() {
        http_body_util::Empty::new().map_err(|never| match never {}).boxed_unsync()
    } else {
        Bounded { inner: Some(body), left: max, max, fault: Arc::clone(&fault) }.boxed_unsync()
    };
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.version_mut() = version;
    *request.headers_mut() = headers;
    // Scheme, authority and path are all there, which is what a URI needs.
    *request.uri_mut() = Uri::from_parts(uri).unwrap_or_default();
    *request.extensions_mut() = Extensions::new();
    (request, fault)
}

/// Says for whom the request is.
fn forward(headers: &mut HeaderMap, peer: Peer, config: &IngressConfig) {
    if config.forwarded == Forwarded::Replace {
        for name in FORWARDED {
            headers.remove(name);
        }
    }
    let address = peer.address.and_then(|address| HeaderValue::try_from(address.to_canonical().to_string()).ok());
    if let Some(address) = address {
        headers.append(FORWARDED_FOR, address);
    }
    headers.entry(FORWARDED_PROTO).or_insert(HeaderValue::from_static(config.scheme.as_str()));
}

/// The body of a request, up to its bound.
struct Bounded {
    /// There until it ended or failed.
    inner: Option<RequestBody>,
    left: u64,
    max: u64,
    fault: Fault,
}

impl Bounded {
    fn fail(&mut self, error: HttpBodyError) -> HttpBodyError {
        self.inner = None;
        *self.fault.get_or_init(|| error)
    }
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        Poll::Ready(match ready!(Pin::new(inner).poll_frame(cx)) {
            None => {
                this.inner = None;
                None
            }
            Some(Err(error)) => Some(Err(this.fail(fault(&error)))),
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                match this.left.checked_sub(bytes) {
                    Some(left) => {
                        this.left = left;
                        Some(Ok(frame))
                    }
                    None => Some(Err(this.fail(HttpBodyError::TooLarge { limit: this.max }))),
                }
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

fn fault(error: &BodyError) -> HttpBodyError {
    match error {
        BodyError::Stalled { .. } => HttpBodyError::Stalled,
        BodyError::Empty => HttpBodyError::Malformed,
        BodyError::Transport(error) if error.is_parse() => HttpBodyError::Malformed,
        BodyError::Transport(_) => HttpBodyError::Incomplete,
    }
}

/// A request that failed because of its body.
pub(super) fn failed(fault: HttpBodyError) -> PlatformError {
    match fault {
        HttpBodyError::TooLarge { limit } => too_large(limit),
        HttpBodyError::Incomplete | HttpBodyError::Stalled | HttpBodyError::Malformed => {
            let kind = if fault == HttpBodyError::Stalled { STALLED } else { "http.body" };
            let detail = ErrorDetail::new(kind).with("reason", fault);
            PlatformError::new(PlatformErrorCode::InvalidArgument, fault).with_detail(detail)
        }
    }
}

fn too_large(max: u64) -> PlatformError {
    let message = format_args!("the body has more than {max} bytes, which is what a request may have");
    PlatformError::new(PlatformErrorCode::InvalidArgument, message)
        .with_detail(ErrorDetail::new("http.body").with("max", max))
}
