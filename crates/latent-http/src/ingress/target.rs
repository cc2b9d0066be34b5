//! Where a request goes: its host and its path.
//!
//! Invariant: there is exactly one host, and no segment of the path leads upwards, however it is written.

use http::header::HOST;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, Method};
use latent_core::http::canonical_host;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

use super::config::ListenerScheme;
use crate::coding::is_plainly_chunked;

/// Host and path of a request.
#[derive(Debug)]
pub(super) struct Target {
    /// As [`canonical_host`] writes it.
    pub(super) host: Box<str>,
    /// As the client wrote it, port included.
    pub(super) authority: Authority,
    /// As the client wrote it.
    pub(super) path_and_query: PathAndQuery,
}

impl Target {
    /// Reads the head of a request. The port counts for nothing.
    ///
    /// # Errors
    /// `invalid-argument`, detail `http.target` with `part` and `expected`: without a host or with more than one, with one
    /// that is none or that differs from that of the URI, with user information; for a path that leads upwards; for
    /// `CONNECT`, and for `*` with another method than `OPTIONS`.
    pub(super) fn of(parts: &Parts) -> Result<Self, PlatformError> {
        if parts.method == Method::CONNECT {
            return Err(refused("method", "no CONNECT; the node is no proxy"));
        }
        if !is_plainly_chunked(&parts.headers) {
            return Err(refused("transfer-encoding", "chunked, once, or none"));
        }
        let (authority, host) = authority(parts)?;
        let path_and_query = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        match path_and_query.path() {
            "*" if parts.method == Method::OPTIONS => {}
            path if !path.starts_with('/') => return Err(refused("path", "a path that begins with /")),
            path if leads_upwards(path) => return Err(refused("path", "a path without the segments . and ..")),
            _ => {}
        }
        Ok(Self { host, authority, path_and_query })
    }

    /// The path that routes are looked up by.
    pub(super) fn path(&self) -> &str {
        match self.path_and_query.path() {
            "*" => "/",
            path => path,
        }
    }

    /// The refusal of a request that no deployment answers.
    pub(super) fn unrouted(&self) -> PlatformError {
        let message = "no deployment answers this host and path; look at the routes of the deployment that should";
        let detail = ErrorDetail::new("http.no-route").with("host", &self.host);
        PlatformError::new(PlatformErrorCode::RouteUnavailable, message).with_detail(detail)
    }
}

/// The one authority of a request, and its host.
fn authority(parts: &Parts) -> Result<(Authority, Box<str>), PlatformError> {
    let named = host_header(&parts.headers)?;
    let Some(absolute) = parts.uri.authority() else {
        let authority = named.ok_or_else(|| refused("host", "one host header"))?;
        let (host, _) = host_and_port(&authority)?;
        return Ok((authority, host));
    };
    let (host, port) = host_and_port(absolute)?;
    if let Some(named) = named {
        let default = |port: Option<u16>| match parts.uri.scheme_str() {
            Some("https") => port.unwrap_or(ListenerScheme::Https.default_port()),
            _ => port.unwrap_or(ListenerScheme::Http.default_port()),
        };
        let (named_host, named_port) = host_and_port(&named)?;
        if named_host != host || default(named_port) != default(port) {
            return Err(refused("host", "the host of the URI, or no host header"));
        }
    }
    Ok((absolute.clone(), host))
}

fn host_header(headers: &HeaderMap) -> Result<Option<Authority>, PlatformError> {
    let mut values = headers.get_all(HOST).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(refused("host", "one host header"));
    }
    let authority = Authority::try_from(value.as_bytes());
    authority.map(Some).map_err(|_| refused("host", "a host, or a host and a port"))
}

fn host_and_port(authority: &Authority) -> Result<(Box<str>, Option<u16>), PlatformError> {
    let text = authority.as_str();
    if text.contains('@') {
        return Err(refused("host", "no user information"));
    }
    // The port begins after the bracket of an IPv6 address, or after the only colon.
    let bracket = text.find(']').map_or(0, |at| at + 1);
    let (_, rest) = text.split_at(bracket);
    let (host, port) = match rest.split_once(':') {
        None => (text, None),
        Some((name, port)) => (&text[..bracket + name.len()], Some(port)),
    };
    let invalid = || refused("host", "a host, or a host and a port");
    let port = port.map(|port| digits(port).ok_or_else(invalid)).transpose()?;
    Ok((canonical_host(host).ok_or_else(invalid)?, port))
}

fn digits(port: &str) -> Option<u16> {
    port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok())?
}

/// Whether a segment is `.` or `..`, also where dots, slashes and backslashes are percent-encoded.
fn leads_upwards(path: &str) -> bool {
    let mut dots = 0_usize;
    let mut only_dots = true;
    let mut rest = path.as_bytes();
    loop {
        let (byte, width) = match rest {
            [] => (b'/', 0),
            [b'%', high, low, ..] => (encoded(*high, *low), 3),
            [byte, ..] => (*byte, 1),
        };
        match byte {
            b'.' => dots += 1,
            b'/' | b'\\' => {
                if only_dots && (1..=2).contains(&dots) {
                    return true;
                }
                (dots, only_dots) = (0, true);
            }
            _ => only_dots = false,
        }
        if width == 0 {
            return false;
        }
        rest = &rest[width..];
    }
}

/// What a percent-encoded byte is, where it is one of those that matter here.
fn encoded(high: u8, low: u8) -> u8 {
    match (high, low.to_ascii_lowercase()) {
        (b'2', b'e') => b'.',
        (b'2', b'f') => b'/',
        (b'5', b'c') => b'\\',
        _ => b'%',
    }
}

fn refused(part: &str, expected: &str) -> PlatformError {
    let message = format_args!("the request's {part} cannot be used; expected is {expected}");
    let detail = ErrorDetail::new("http.target").with("part", part).with("expected", expected);
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

#[cfg(test)]
mod tests;
