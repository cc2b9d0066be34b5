//! What the guest is given: the request as it came, without what is between the client and the node.
//!
//! Invariant: nothing that a client writes passes for the node's own word.

use http::header::{CONTENT_LENGTH, EXPECT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Empty};
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::{HttpBody, HttpBodyError};
use latent_wire::api::Peer;
use latent_wire::json::text;
use latent_wire::listener::RequestBody;

use super::config::{Forwarded, IngressConfig};
use super::head::{remove_hop_by_hop, remove_nodes_own};
use super::problem::STALLED;
use super::target::Target;
use super::upload::Upload;

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

/// Refuses a body whose announced length is too large, or is none.
///
/// # Errors
/// `invalid-argument`, detail `http.body` with `max`, or `http.header`.
pub(super) fn check_length(headers: &HeaderMap, max: u64) -> Result<(), PlatformError> {
    let name = CONTENT_LENGTH.as_str();
    let Some(length) = text::raw_header(headers, name)? else { return Ok(()) };
    if text::number::<u64>("http.header", name, length)? > max { Err(too_large(max)) } else { Ok(()) }
}

/// The request that the guest handles, and the transport's side of its body if it has one.
pub(super) fn request(
    parts: Parts,
    body: RequestBody,
    target: Target,
    peer: Peer,
    config: &IngressConfig,
) -> (Request<HttpBody>, Option<Upload>) {
    let Parts { method, version, mut headers, .. } = parts;
    remove_hop_by_hop(&mut headers);
    remove_nodes_own(&mut headers);
    let expects = headers.remove(EXPECT).is_some();
    forward(&mut headers, peer, config);
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(config.scheme.scheme());
    uri.authority = Some(target.authority);
    uri.path_and_query = Some(target.path_and_query);
    let (upload, body) = if body.is_end_stream() {
        (None, Empty::new().map_err(|never| match never {}).boxed_unsync())
    } else {
        let (upload, body) = Upload::new(body, config.request_body_bytes_max, expects);
        (Some(upload), body.boxed_unsync())
    };
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.version_mut() = version;
    *request.headers_mut() = headers;
    // Scheme, authority and path are all there, which is what a URI needs.
    *request.uri_mut() = Uri::from_parts(uri).unwrap_or_default();
    (request, upload)
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
