//! Who calls: from the headers and the connection of a request to an access, or a refusal.
//!
//! Invariant: what was presented is never repeated, in no error and no log.

use std::sync::Arc;
use std::time::SystemTime;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use latent_core::{PlatformError, PlatformErrorCode};
use latent_node::access::{Access, Authenticator, Presented};

use super::call::{Peer, Refused};

/// The longest `authorization` header that is looked at, in bytes.
pub const AUTHORIZATION_BYTES_MAX: usize = 4096;

/// What a request shows, as one of `authorization: Bearer` and a client certificate. A token goes before a certificate.
///
/// # Errors
/// `unauthenticated`, detail `access.authorization` with `rule`, for a header that is there twice, too long, of another
/// scheme, empty, or not visible ASCII; otherwise as [`Authenticator::authenticate`].
pub fn authenticate(
    authenticator: &dyn Authenticator,
    headers: &HeaderMap,
    peer: Peer,
    now: SystemTime,
) -> Result<Arc<Access>, Refused> {
    let presented = match bearer(headers)? {
        Some(token) => Some(Presented::Bearer(token)),
        None => peer.certificate.map(Presented::Certificate),
    };
    Ok(authenticator.authenticate(presented, peer.address, now)?)
}

fn bearer(headers: &HeaderMap) -> Result<Option<&[u8]>, PlatformError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(malformed("once", "send the authorization header once"));
    }
    let bytes = value.as_bytes();
    if bytes.len() > AUTHORIZATION_BYTES_MAX {
        return Err(malformed("bytes", "the authorization header is longer than any token; send the token alone"));
    }
    let (scheme, token) =
        bytes.split_first_chunk::<7>().map_or((bytes, None), |(scheme, token)| (&scheme[..], Some(token)));
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return Err(malformed("scheme", "the authorization header has to be Bearer and a token"));
    }
    match token {
        Some(token) if !token.is_empty() && token.iter().all(u8::is_ascii_graphic) => Ok(Some(token)),
        _ => Err(malformed("token", "the token of the authorization header has to be visible ASCII without spaces")),
    }
}

fn malformed(rule: &str, message: &str) -> PlatformError {
    let detail = latent_core::ErrorDetail::new("access.authorization").with("rule", rule);
    PlatformError::new(PlatformErrorCode::Unauthenticated, message).with_detail(detail)
}
