//! Which node, and with what to prove who calls.

use std::fmt;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tonic::metadata::{Ascii, MetadataValue};

/// How long a connection may take to be made.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest token, in bytes.
const TOKEN_BYTES_MAX: usize = 4096;

/// A node and its caller.
#[derive(Debug, Clone)]
pub struct Target {
    /// The URL of the listener that has `Invoke`, such as `http://127.0.0.1:7070`.
    pub invoke: String,
    /// The URL of the listener that has everything else.
    pub control: String,
    /// What is sent as `authorization: Bearer`.
    pub token: Option<Token>,
    /// For `https`.
    pub tls: Tls,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
}

/// What TLS needs, in PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// The certificate of the authority that vouches for the node.
    pub authority: Option<Vec<u8>>,
    /// The caller's own certificate and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Tls {
    pub(super) fn is_empty(&self) -> bool {
        self.authority.is_none() && self.identity.is_none()
    }

    /// Says what is not what it should be. Without this an authority that cannot be read would vouch for nobody.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let is_certificate = |pem: &[u8]| CertificateDer::from_pem_slice(pem).is_ok();
        if self.authority.as_deref().is_some_and(|pem| !is_certificate(pem)) {
            return Err("the certificate of the authority");
        }
        let Some((certificate, key)) = &self.identity else { return Ok(()) };
        if !is_certificate(certificate) {
            return Err("the caller's own certificate");
        }
        PrivateKeyDer::from_pem_slice(key).map(drop).map_err(|_unreadable| "the caller's key")
    }
}

impl fmt::Debug for Tls {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("authority", &self.authority.is_some())
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

/// A bearer token. Shown nowhere.
#[derive(Clone)]
pub struct Token(Box<str>);

impl Token {
    /// The token in `text`, without the white space around it.
    ///
    /// # Errors
    /// What is wrong with it, without the token itself.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let token = text.trim();
        if token.is_empty() {
            return Err("it is empty");
        }
        if token.len() > TOKEN_BYTES_MAX {
            return Err("it has more than 4096 bytes");
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("expected one token, of visible ASCII characters");
        }
        Ok(Self(token.into()))
    }

    pub(super) fn header(&self) -> Result<MetadataValue<Ascii>, BadTarget> {
        let mut value = MetadataValue::try_from(format!("Bearer {}", self.0))
            .map_err(|_not_ascii| BadTarget("the token: expected visible ASCII characters".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Why there can be no client: one sentence, with the address it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTarget(String);

impl BadTarget {
    pub(super) fn of(url: &str, reason: &str) -> Self {
        Self(format!("the address {url} cannot be used: {reason}"))
    }
}

impl fmt::Display for BadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadTarget {}
