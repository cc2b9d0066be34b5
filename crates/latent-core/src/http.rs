//! What deployments say about HTTP: which requests they answer, and which they may make.
//!
//! Invariant: hosts are lower-case without a trailing dot, and match whole labels alone; a path prefix matches whole
//! segments alone.

use std::fmt;

use ipnet::IpNet;

/// The longest host that a rule names, in bytes: what DNS allows.
pub const HOST_BYTES_MAX: usize = 253;
/// The longest path prefix of a route, in bytes.
pub const ROUTE_PATH_BYTES_MAX: usize = 1024;
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
            Some(domain) => canonical_host(domain).filter(|host| !host.starts_with('[')).map(Self::Under),
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
/// userinfo, an empty label, a character that names and addresses do not have, or more than [`HOST_BYTES_MAX`] bytes.
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
    text.split('.').all(label).then(|| text.to_ascii_lowercase().into())
}

/// Requests that a deployment answers: those to a host, below a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HttpRoute {
    /// The hosts.
    pub host: HostPattern,
    /// The path prefix: begins with `/` and ends with none, except that `/` alone is every path. It matches itself and
    /// whatever follows it after a `/`.
    pub path: Box<str>,
}

impl HttpRoute {
    /// Whether `path`, without its query, is below the prefix.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        &*self.path == "/"
            || path.strip_prefix(&*self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_one_form_and_what_is_none_has_no_form() {
        for (text, form) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::0001]", "[::1]"),
            ("under_score", "under_score"),
        ] {
            assert_eq!(canonical_host(text).as_deref(), Some(form), "{text}");
        }
        let long = "a.".repeat(127) + "aa";
        for text in ["", ".", "a..b", "a:80", "u@a", "[::1", "::1", "a b", "ä.de", "a/b", "*.a", &long, &"a".repeat(64)]
        {
            assert_eq!(canonical_host(text), None, "{text}");
        }
    }

    #[test]
    fn patterns_match_whole_labels() {
        let under = HostPattern::parse("*.Example.com").unwrap();
        assert!(under.matches("a.example.com") && under.matches("a.b.example.com"));
        for host in ["example.com", "aexample.com", ".example.com", "example.com.evil"] {
            assert!(!under.matches(host), "{host}");
        }
        let exact = HostPattern::parse("example.com").unwrap();
        assert!(exact.matches("example.com") && !exact.matches("a.example.com"));
        assert!(HostPattern::parse("*").unwrap().matches("anything"));
        for text in ["*.", "**", "*a", "*.*.a", "a.*", "*.[::1]", ""] {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
    }

    #[test]
    fn prefixes_match_whole_segments() {
        let route = |path: &str| HttpRoute { host: HostPattern::Any, path: path.into() };
        assert!(route("/").covers("/") && route("/").covers("/a/b"));
        assert!(route("/a").covers("/a") && route("/a").covers("/a/") && route("/a").covers("/a/b"));
        assert!(!route("/a").covers("/ab") && !route("/a").covers("/") && !route("/a/b").covers("/a"));
    }

    #[test]
    fn a_grant_without_a_port_is_for_that_of_its_scheme() {
        let grant = |port| OutgoingGrant {
            scheme: OutgoingScheme::Https,
            host: HostPattern::Any,
            port,
            networks: Box::default(),
        };
        assert!(grant(None).covers(OutgoingScheme::Https, "a", 443));
        assert!(!grant(None).covers(OutgoingScheme::Https, "a", 8443));
        assert!(grant(Some(8443)).covers(OutgoingScheme::Https, "a", 8443));
        assert!(!grant(None).covers(OutgoingScheme::Http, "a", 443));
    }
}
