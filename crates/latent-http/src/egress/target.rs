//! Where a request wants to go, and whether a grant lets it.
//!
//! Invariant: pure. A target has a host in its one form and a port that was said or is the scheme's; nothing that a
//! resolver might read as an address is a name.

use std::net::{IpAddr, Ipv4Addr};

use http::Uri;
use http::uri::Authority;
use ipnet::IpNet;
use latent_core::http::{OutgoingGrant, OutgoingScheme, canonical_host};
use latent_executor::OutgoingError;

/// How the host is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Address(IpAddr),
    Name(Box<str>),
}

/// A request's destination that is granted, its address left aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) scheme: OutgoingScheme,
    pub(super) place: Place,
    pub(super) port: u16,
    /// The networks of all grants that cover the request.
    pub(super) networks: Box<[IpNet]>,
    /// Host, and port where it is not the scheme's.
    pub(super) authority: Authority,
}

impl Target {
    /// The destination of `uri`.
    ///
    /// # Errors
    /// `Unsupported` for another scheme than `http` and `https`. `UriInvalid` without scheme or host, with userinfo, a
    /// port that is none, or a host that is none: IPv4 addresses are four decimal numbers. `Denied` without a grant.
    pub(super) fn of(uri: &Uri, grants: &[OutgoingGrant]) -> Result<Self, OutgoingError> {
        let scheme = match uri.scheme_str() {
            Some("http") => OutgoingScheme::Http,
            Some("https") => OutgoingScheme::Https,
            Some(_) => return Err(OutgoingError::Unsupported),
            None => return Err(OutgoingError::UriInvalid),
        };
        let (host, port) = uri.authority().and_then(split).ok_or(OutgoingError::UriInvalid)?;
        let host = canonical_host(host).ok_or(OutgoingError::UriInvalid)?;
        let place = place(&host).ok_or(OutgoingError::UriInvalid)?;
        let port = port.unwrap_or(scheme.default_port());
        let covering: Vec<_> = grants.iter().filter(|grant| grant.covers(scheme, &host, port)).collect();
        if covering.is_empty() {
            return Err(OutgoingError::Denied);
        }
        let networks = covering.iter().flat_map(|grant| grant.networks.iter().copied()).collect();
        let text = if port == scheme.default_port() { String::from(host) } else { format!("{host}:{port}") };
        let authority = Authority::try_from(text).map_err(|_| OutgoingError::UriInvalid)?;
        Ok(Self { scheme, place, port, networks, authority })
    }
}

/// Host and port. `None` with userinfo, or with something after the host that is no port.
fn split(authority: &Authority) -> Option<(&str, Option<u16>)> {
    let text = authority.as_str();
    if text.contains('@') {
        return None;
    }
    let host = authority.host();
    let rest = text.strip_prefix(host)?;
    if rest.is_empty() {
        return Some((host, None));
    }
    let digits = rest.strip_prefix(':')?;
    let port = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (port != 0).then_some((host, Some(port)))
}

/// What a host in its one form is. `None` for what resolvers read as an IPv4 address although it is not written as four
/// decimal numbers: octal, hexadecimal, too few or too many of them.
fn place(host: &str) -> Option<Place> {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.strip_suffix(']')?.parse().ok().map(Place::Address);
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Some(Place::Address(address.into()));
    }
    let last = host.rsplit('.').next()?;
    (!is_number(last)).then(|| Place::Name(host.into()))
}

fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests;
