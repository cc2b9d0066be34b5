//! TLS of outgoing connections.
//!
//! Invariant: certificates are verified, for the host of the request; sessions are not resumed, so that no tenant's
//! connection has anything of another's.

use std::path::Path;
use std::sync::Arc;

use latent_core::PlatformError;
use latent_executor::OutgoingError;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

use super::target::Place;

/// HTTP/2 in a handshake.
pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// The system's roots, as far as they can be read, and those of `file`.
pub(super) fn trusted(file: Option<&Path>) -> Result<RootCertStore, PlatformError> {
    let mut roots = match file {
        Some(file) => latent_wire::tls::authorities(file)?,
        None => RootCertStore::empty(),
    };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(roots)
}

/// TLS 1.2 and 1.3, with HTTP/2 offered before HTTP/1.1.
pub(super) fn configure(roots: RootCertStore) -> ClientConfig {
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider's own suites are of both versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    config
}

/// Whose certificate is expected.
pub(super) fn server_name(place: &Place) -> Result<ServerName<'static>, OutgoingError> {
    match place {
        Place::Address(address) => Ok(ServerName::IpAddress((*address).into())),
        Place::Name(name) => ServerName::try_from(String::from(&**name)).map_err(|_| OutgoingError::UriInvalid),
    }
}
