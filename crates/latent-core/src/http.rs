//! What deployments say about HTTP: which requests they answer, and which they may make.
//!
//! Invariant: hosts are lower-case without a trailing dot, and match whole labels alone; a path prefix matches whole
//! segments alone.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use ipnet::IpNet;

/// The longest host that a rule names, in bytes: what DNS allows.
pub const HOST_BYTES_MAX: usize = 253;
/// The longest path prefix of a route, in bytes.
pub const ROUTE_PATH_BYTES_MAX: usize = 1024;
/// The most segments of a route's path prefix.
pub const ROUTE_SEGMENTS_MAX: usize = 32;
/// The most routes of one deployment.
pub const ROUTES_MAX: usize = 32;
/// The most outgoing grants of one deployment.
pub const OUTGOING_GRANTS_MAX: usize = 64;
/// The most networks of one outgoing grant.
pub const GRANT_NETWORKS_MAX: usize = 16;

/// Which hosts a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostPattern {
    /// Exactly this host: a name, an IPv4 address, or an IPv6 address in brackets.
    Exact(Box<str>),
    /// Every host below this domain, at any depth, but not the domain itself: `*.example.com`.
    Under(Box<str>),
    /// Every host: `*`.
    Any,
}

impl HostPattern {
    /// Reads `*`, `*.domain` or a host. `None` for anything else: an empty or too long host, one with a port, with
    /// characters that no host has, or with an empty label. Upper case is folded, a trailing dot dropped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        match text.strip_prefix("*.") {
            Some(domain) => canonical_host(domain).filter(|host| !is_address(host)).map(Self::Under),
            None => canonical_host(text).map(Self::Exact),
        }
    }

    /// Whether `host`, as [`canonical_host`] writes it, is meant.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => &**exact == host,
            Self::Under(domain) => {
                host.strip_suffix(&**domain).is_some_and(|labels| labels.len() > 1 && labels.ends_with('.'))
            }
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(host) => f.write_str(host),
            Self::Under(domain) => write!(f, "*.{domain}"),
        }
    }
}

/// The one way in which a host is written: lower case, without a trailing dot. `None` for what is no host: a port,
/// userinfo, an empty label, a character that names and addresses do not have, an address in another spelling than four
/// decimal numbers (`127.1`, `0x7f000001`), or more than [`HOST_BYTES_MAX`] bytes.
#[must_use]
pub fn canonical_host(text: &str) -> Option<Box<str>> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_empty() || text.len() > HOST_BYTES_MAX {
        return None;
    }
    if let Some(inner) = text.strip_prefix('[') {
        let address: std::net::Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(format!("[{address}]").into());
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(fits);
    if !text.split('.').all(label) {
        return None;
    }
    // Whatever ends in a number is an address to somebody, and has only one spelling here.
    if ends_in_number(text) && text.parse::<std::net::Ipv4Addr>().is_err() {
        return None;
    }
    Some(text.to_ascii_lowercase().into())
}

fn ends_in_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match hex {
        Some(hex) => hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Whether the last label is a number, as that of an address, which has no hosts below it.
fn is_address(host: &str) -> bool {
    host.starts_with('[') || ends_in_number(host)
}

/// The one way in which a route's path prefix is written: without the `/` at its end, `/` itself aside. `None` for what
/// is no prefix: one that does not begin with `/`, has more than [`ROUTE_PATH_BYTES_MAX`] bytes or
/// [`ROUTE_SEGMENTS_MAX`] segments, an empty segment, the segment `.` or `..`, or a character that a request's path has
/// only in its percent-encoding, `%` itself among them.
#[must_use]
pub fn canonical_prefix(text: &str) -> Option<Box<str>> {
    let below = text.strip_prefix('/').filter(|_| text.len() <= ROUTE_PATH_BYTES_MAX)?;
    let below = below.strip_suffix('/').unwrap_or(below);
    if below.is_empty() {
        return (text == "/").then(|| "/".into());
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
    let segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(fits);
    let few = below.split('/').count() <= ROUTE_SEGMENTS_MAX;
    (few && below.split('/').all(segment)).then(|| format!("/{below}").into())
}

/// The segments of a path: what is between its slashes. A percent-encoded character is the character, so that a request
/// cannot get around a rule by writing it differently; what stands for no text stays as it is. None of a path that does
/// not begin with `/`, and none of `/`.
pub fn path_segments(path: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let below = path.strip_prefix('/').filter(|below| !below.is_empty());
    below.into_iter().flat_map(|below| below.split('/')).map(decoded)
}

fn decoded(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return segment.into();
    }
    let mut rest = segment.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        let byte = if *first == b'%' { encoded(after) } else { None };
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(segment), Cow::Owned)
}

/// The byte for which the two hexadecimal digits at the beginning stand.
fn encoded(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| digits.get(at).and_then(|digit| char::from(*digit).to_digit(16));
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}

/// Requests that a deployment answers: those to a host, below a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HttpRoute {
    /// The hosts.
    pub host: HostPattern,
    /// The path prefix as [`canonical_prefix`] writes it: begins with `/` and ends with none, except that `/` alone is
    /// every path. It matches itself and whatever follows it after a `/`.
    pub path: Box<str>,
}

impl HttpRoute {
    /// Reads `host/path`; `host` alone is every path there, and `/path` alone is that of any host. `None` where
    /// [`HostPattern::parse`] or [`canonical_prefix`] has none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let at = text.find('/').unwrap_or(text.len());
        let (host, path) = text.split_at(at);
        let host = if host.is_empty() && !path.is_empty() { HostPattern::Any } else { HostPattern::parse(host)? };
        Some(Self { host, path: if path.is_empty() { "/".into() } else { canonical_prefix(path)? } })
    }

    /// Whether `path`, without its query, is below the prefix, segment by segment as [`path_segments`] has them.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        let mut segments = path_segments(path);
        path_segments(&self.path).all(|wanted| segments.next().is_some_and(|segment| segment == wanted))
    }
}

impl fmt::Display for HttpRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.host, self.path)
    }
}

/// Who may make requests of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HttpAuthentication {
    /// Whoever reaches the listener.
    #[default]
    Open,
    /// Whoever has a bearer token of the route's tenant with the role `invoke`.
    Bearer,
}

impl HttpAuthentication {
    /// The name in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Bearer => "bearer",
        }
    }

    /// What is called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Open, Self::Bearer].into_iter().find(|known| known.as_str() == name)
    }
}

/// What a deployment answers over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct HttpIngress {
    /// Which requests. None: the deployment is not reached over HTTP, except by the routes of its service's others.
    pub routes: Box<[HttpRoute]>,
    /// From whom.
    pub authentication: HttpAuthentication,
}

/// Schemes of outgoing requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OutgoingScheme {
    /// Without TLS; port 80 where the request names none.
    Http,
    /// With TLS; port 443 where the request names none.
    Https,
}

impl OutgoingScheme {
    /// The scheme as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// What is written `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|known| known.as_str() == text)
    }

    /// The port that a request has that names none.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Requests that a guest may make. Addresses that are not public (loopback, private, link-local, shared, metadata, and
/// what maps to them) are refused even so, unless they are in one of the networks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutgoingGrant {
    /// The scheme.
    pub scheme: OutgoingScheme,
    /// The hosts.
    pub host: HostPattern,
    /// The port; `None`: the scheme's own.
    pub port: Option<u16>,
    /// Networks that are no public ones and may be reached by this grant.
    pub networks: Box<[IpNet]>,
}

impl OutgoingGrant {
    /// Whether a request to `host`, as [`canonical_host`] writes it, is granted, its address left aside.
    #[must_use]
    pub fn covers(&self, scheme: OutgoingScheme, host: &str, port: u16) -> bool {
        self.scheme == scheme && self.port.unwrap_or(scheme.default_port()) == port && self.host.matches(host)
    }

    /// Reads `scheme://host` or `scheme://host:port`, a grant without networks. The scheme's own port is no port. `None`
    /// for anything else, a port of zero and a path among it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let scheme = OutgoingScheme::parse(scheme)?;
        let digits = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if digits(port) => (host, Some(port.parse().ok().filter(|port| *port != 0)?)),
            _ => (authority, None),
        };
        Some(Self::new(scheme, HostPattern::parse(host)?, port))
    }

    /// A grant without networks.
    #[must_use]
    pub fn new(scheme: OutgoingScheme, host: HostPattern, port: Option<u16>) -> Self {
        Self { scheme, host, port: port.filter(|port| *port != scheme.default_port()), networks: Box::default() }
    }
}

impl fmt::Display for OutgoingGrant {
    /// Scheme, host and port, as [`parse`](Self::parse) reads them; the networks are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}
