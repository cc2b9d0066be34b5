//! Hosts, paths, routes and grants: one spelling each, which is read as itself, and rules that nothing gets around.

use latent_core::http::{
    HOST_BYTES_MAX, HostPattern, HttpRoute, OutgoingGrant, ROUTE_PATH_BYTES_MAX, canonical_host, canonical_prefix,
    path_segments,
};

/// Takes the first line of `data` as a rule and the second as what a request has.
///
/// # Panics
/// When something has two spellings, or a rule covers what it does not say.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (rule, asked) = text.split_once('\n').unwrap_or((text, ""));
    let host = host(asked.split('/').next().unwrap_or_default());
    let path = asked.find('/').map_or("", |at| &asked[at..]);
    prefix(rule);
    if let Some(route) = HttpRoute::parse(rule) {
        assert_eq!(HttpRoute::parse(&route.to_string()), Some(route.clone()), "{route}");
        covers(&route, path);
        host.as_deref().inspect(|host| matches(&route.host, host));
    }
    if let Some(grant) = OutgoingGrant::parse(rule) {
        assert_eq!(OutgoingGrant::parse(&grant.to_string()), Some(grant.clone()), "{grant}");
        assert_ne!(grant.port, Some(grant.scheme.default_port()), "{grant}");
        host.as_deref().inspect(|host| matches(&grant.host, host));
    }
}

fn host(text: &str) -> Option<Box<str>> {
    let host = canonical_host(text)?;
    assert_eq!(canonical_host(&host).as_ref(), Some(&host), "{text:?}");
    assert!(host.len() <= HOST_BYTES_MAX && !host.contains(|c: char| c.is_ascii_uppercase() || c == '@'), "{host:?}");
    assert_eq!(canonical_host(&text.to_ascii_uppercase()).as_ref(), Some(&host), "{text:?}");
    Some(host)
}

fn prefix(text: &str) {
    let Some(prefix) = canonical_prefix(text) else { return };
    assert_eq!(canonical_prefix(&prefix).as_ref(), Some(&prefix), "{text:?}");
    assert!(prefix.starts_with('/') && prefix.len() <= ROUTE_PATH_BYTES_MAX && !prefix.contains('%'), "{prefix:?}");
    assert_eq!(&*prefix == "/", prefix.ends_with('/'), "{prefix:?}");
}

/// A pattern matches by whole labels alone.
fn matches(pattern: &HostPattern, host: &str) {
    let expected = match pattern {
        HostPattern::Any => true,
        HostPattern::Exact(exact) => **exact == *host,
        HostPattern::Under(domain) => {
            let (above, labels) = (domain.split('.').rev(), host.split('.').rev());
            labels.count() > domain.split('.').count()
                && above.zip(host.split('.').rev()).all(|(one, other)| one == other)
        }
    };
    assert_eq!(pattern.matches(host), expected, "{pattern} and {host:?}");
}

/// A prefix covers itself and what is below it, however the path is written.
fn covers(route: &HttpRoute, path: &str) {
    let below = |tail: &str| format!("{}{tail}", if &*route.path == "/" { "" } else { &route.path });
    assert!(route.covers(&route.path) && route.covers(&below("/x")), "{route}");
    assert!(&*route.path == "/" || !route.covers(&below("x")), "{route}");
    if !path.starts_with('/') {
        assert!(path_segments(path).next().is_none(), "{path:?}");
        return;
    }
    let encoded: String = path.bytes().map(|byte| written(byte, path)).collect();
    assert_eq!(route.covers(path), route.covers(&encoded), "{route}: {path:?} and {encoded:?}");
}

/// The byte in its percent-encoding, where that means the same.
fn written(byte: u8, path: &str) -> String {
    let plain = byte.is_ascii_alphanumeric() && !path.contains('%');
    if plain { format!("%{byte:02x}") } else { char::from(byte).to_string() }
}
