//! What failures of the layers below are to a guest.
//!
//! Invariant: nothing of an address, a name or a certificate passes, only which kind of failure it was.

use std::error::Error;
use std::io;

use latent_executor::{HttpBodyError, OutgoingError};

use super::upload::Progress;

/// Of a question for addresses.
pub(super) fn of_lookup(error: &io::Error) -> OutgoingError {
    match error.kind() {
        io::ErrorKind::TimedOut => OutgoingError::NameTimeout,
        _ => OutgoingError::NameUnknown,
    }
}

/// Of a connection that did not come about.
pub(super) fn of_connect(error: &io::Error) -> OutgoingError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => OutgoingError::ConnectionRefused,
        io::ErrorKind::TimedOut => OutgoingError::ConnectionTimeout,
        _ => OutgoingError::Unavailable,
    }
}

/// Of a TLS handshake.
pub(super) fn of_handshake(error: &io::Error) -> OutgoingError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => OutgoingError::CertificateRefused,
        _ => OutgoingError::TlsFailed,
    }
}

/// Of a request whose response did not come. What the upload failed for is the cause, where it did.
pub(super) fn of_exchange(error: &hyper::Error, progress: &Progress) -> OutgoingError {
    if let Some(failure) = progress.failure() {
        return failure;
    }
    if error.is_parse_too_large() {
        OutgoingError::ResponseHeadTooLarge
    } else if is_malformed(error) {
        OutgoingError::Protocol
    } else {
        OutgoingError::ConnectionTerminated
    }
}

/// Of a response's body.
pub(super) fn of_body(error: &hyper::Error) -> HttpBodyError {
    if is_malformed(error) { HttpBodyError::Malformed } else { HttpBodyError::Incomplete }
}

/// Whether the server said something that is no HTTP/1, rather than stopped or reset what it had begun. In HTTP/2, the
/// answer to what is none is a reset too, so that the two are not told apart there.
fn is_malformed(error: &hyper::Error) -> bool {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let mut kinds = causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    error.is_parse() || kinds.any(|kind| matches!(kind, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData))
}
