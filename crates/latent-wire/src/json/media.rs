//! What a request is by its method and its media type: a call in gRPC, one of the table, or neither.
//!
//! Invariant: a body is read as what its headers say that it is, or not at all.

use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

use super::routes::{Unrouted, method_refused};
use super::text::raw_header;

/// What begins the media types of gRPC; what may follow it are its messages, which are Protocol Buffers here.
const GRPC: &[u8] = b"application/grpc";
const GRPC_MESSAGES: [&[u8]; 2] = [b"", b"+proto"];
/// What begins the paths of our services in gRPC.
const GRPC_PATH: &str = "/latent.v1.";

/// Whether a request is a call in gRPC.
pub(super) fn is_grpc(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::POST && grpc_messages(headers).is_some_and(|messages| GRPC_MESSAGES.contains(&messages))
}

/// What is said of the messages in a media type of gRPC.
fn grpc_messages(headers: &HeaderMap) -> Option<&[u8]> {
    let messages = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes)?.strip_prefix(GRPC)?;
    let end = messages.iter().position(|byte| matches!(byte, b';' | b' '));
    Some(&messages[..end.unwrap_or(messages.len())])
}

/// Refuses what means gRPC and is none, and a body that is written down in a way that nobody here reads.
pub(super) fn check(parts: &Parts) -> Result<(), Unrouted> {
    let path = parts.uri.path();
    if path.starts_with(GRPC_PATH) || grpc_messages(&parts.headers).is_some() {
        return Err(no_grpc(&parts.method, path, &parts.headers));
    }
    let encoding = raw_header(&parts.headers, CONTENT_ENCODING.as_str()).map_err(Unrouted::Refused)?;
    match encoding.filter(|encoding| !encoding.trim().eq_ignore_ascii_case("identity")) {
        Some(found) => Err(refused(CONTENT_ENCODING.as_str(), found, "identity; send the body as it is")),
        None => Ok(()),
    }
}

fn no_grpc(method: &Method, path: &str, headers: &HeaderMap) -> Unrouted {
    if *method != Method::POST {
        let methods = vec![Method::POST];
        let refused = method_refused(method, path, &methods);
        return Unrouted::Method(methods, refused);
    }
    let found = raw_header(headers, CONTENT_TYPE.as_str()).ok().flatten().unwrap_or_default();
    refused(CONTENT_TYPE.as_str(), found, "application/grpc for a call in gRPC")
}

fn refused(name: &str, found: &str, expected: &str) -> Unrouted {
    let found: String = found.chars().take(64).collect();
    let message = format!("the header {name} is {found:?}; expected is {expected}");
    let detail = ErrorDetail::new("http.media-type").with("name", name).with("found", found).with("expected", expected);
    Unrouted::Refused(PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail))
}
