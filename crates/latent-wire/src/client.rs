//! The client half of the API: one method a call, over gRPC, to a node's two listeners.
//!
//! Invariant: what a node answers is one of its messages or its error; whatever else may happen to a call is a
//! [`CallError`] that says so. No token is in any error or `Debug`.

mod calls;
mod error;
mod publish;
mod stream;
mod target;
pub mod times;

use std::fmt;

use http::Uri;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

pub use error::{CallError, NodeError};
pub use publish::CHUNK_BYTES;
pub use stream::Messages;
pub use target::{BadTarget, CONNECT_TIMEOUT, Target, Tls, Token};

/// How often a connection with a call under way is asked whether it still lives, and how long it may take to answer.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(20);
/// The longest answer that is read, in bytes: more than any result that a node may be set to.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A node, as its clients see it. Connects with the first call, and again after a connection was lost. Clones share
/// their connections.
#[derive(Clone)]
pub struct Client {
    invoke: Channel,
    control: Channel,
    bearer: Bearer,
}

impl fmt::Debug for Client {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the node that `target` names. Nothing is sent before the first call. Must be called within a tokio
    /// runtime.
    ///
    /// # Errors
    /// [`BadTarget`] when an address is no URL, or when its scheme and what is given for TLS do not fit.
    pub fn connect(target: Target) -> Result<Self, BadTarget> {
        let invoke = endpoint(&target.invoke, &target)?;
        let control = endpoint(&target.control, &target)?;
        let bearer = Bearer(target.token.map(|token| token.header()).transpose()?);
        Ok(Self { invoke: invoke.connect_lazy(), control: control.connect_lazy(), bearer })
    }
}

fn endpoint(url: &str, target: &Target) -> Result<Endpoint, BadTarget> {
    let bad = |reason: &str| BadTarget::of(url, reason);
    let uri: Uri = url.parse().map_err(|_not_one| bad("it is no URL"))?;
    if uri.authority().is_none() || uri.path().len() > 1 || uri.query().is_some() {
        return Err(bad("expected a scheme, a host and a port, and nothing else"));
    }
    let endpoint = Endpoint::from(uri.clone())
        .connect_timeout(target.connect_timeout)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE);
    match (uri.scheme_str(), &target.tls) {
        (Some("http"), tls) if tls.is_empty() => Ok(endpoint),
        (Some("http"), _) => Err(bad("certificates are of use to https alone")),
        (Some("https"), Tls { authority: Some(authority), identity }) => {
            target.tls.check().map_err(|what| bad(&format!("{what} is not there in PEM")))?;
            let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority));
            let tls = match identity {
                Some((certificate, key)) => tls.identity(Identity::from_pem(certificate, key)),
                None => tls,
            };
            endpoint
                .tls_config(tls)
                .map_err(|error| bad(&format!("its certificates cannot be used: {}", innermost(&error))))
        }
        (Some("https"), _) => Err(bad("https needs the certificate of the authority to trust (--ca)")),
        _ => Err(bad("expected http:// or https://")),
    }
}

/// What is at the bottom of an error, which is the part that says something.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(below) = at.source() {
        at = below;
    }
    at.to_string()
}

/// Adds the token to every call.
#[derive(Clone)]
struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests;
