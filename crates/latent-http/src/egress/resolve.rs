//! Addresses of names.
//!
//! Invariant: a question counts until nobody works on its answer, whether anybody still waits for it or not.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

use futures_util::future::BoxFuture;

use super::counts::Held;

/// Counts a question for as long as it lives. To be kept until the work on the answer is over.
#[derive(Debug)]
#[must_use]
pub struct LookupHold {
    _held: Held,
}

impl LookupHold {
    pub(super) fn new(held: Held) -> Self {
        Self { _held: held }
    }
}

/// Answers questions for the addresses of a name. Asked once for a request.
pub trait Resolver: Send + Sync {
    /// The addresses of `host`, which has [`canonical_host`](latent_core::http::canonical_host)'s form and is no address. No
    /// address may be answered as an empty list or as an error. Whoever asks drops the future when it takes too long.
    fn resolve(&self, host: &str, hold: LookupHold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Asks the system (`getaddrinfo`, so with its files and its search domains), on a thread of the runtime for blocking
/// work.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str, hold: LookupHold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let host = host.to_owned();
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                let _hold = hold;
                (host.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
            });
            asked.await.map_err(io::Error::other)?
        })
    }
}
