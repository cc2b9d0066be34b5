//! HTTP in a deployment manifest: the requests that it answers, and those that its guests may make.
//!
//! Invariant: routes and grants are sorted and each is there once, whatever order and form they were written in.

use ipnet::{IpNet, Ipv6Net};
use latent_core::http::{
    GRANT_NETWORKS_MAX, HOST_BYTES_MAX, HostPattern, HttpAuthentication, HttpIngress, HttpRoute, OUTGOING_GRANTS_MAX,
    OutgoingGrant, OutgoingScheme, ROUTE_PATH_BYTES_MAX, ROUTE_SEGMENTS_MAX, ROUTES_MAX, canonical_prefix,
};
use serde_json::{Map, Value};

use super::ManifestError;
use super::json::{Json, Path, Quoted};
use super::read::{self, Object};

const HOST: &str = "a host such as api.example.com, a domain such as *.example.com, or *";

pub(super) const INGRESS: &str = "http";
pub(super) const OUTGOING: &str = "outgoing";
pub(super) const KEYS: [&str; 2] = [INGRESS, OUTGOING];

/// Reads both keys of a manifest.
pub(super) fn read(object: &mut Object<'_>) -> Result<(HttpIngress, Box<[OutgoingGrant]>), ManifestError> {
    let http = object.optional(INGRESS, ingress)?.unwrap_or_default();
    Ok((http, object.optional(OUTGOING, outgoing)?.unwrap_or_default()))
}

fn ingress(json: Json, path: &Path<'_>) -> Result<HttpIngress, ManifestError> {
    let mut object = Object::open(json, path, &["routes", "authentication"])?;
    let routes = object.required("routes", |json, path| {
        let routes = read::list(json, path, route)?;
        let expected = format_args!("1 to {ROUTES_MAX} routes");
        check_count(&routes, 1, ROUTES_MAX, path, expected)?;
        sorted_once(routes, path, ToString::to_string)
    })?;
    let authentication = object.optional("authentication", authentication)?.unwrap_or_default();
    Ok(HttpIngress { routes, authentication })
}

/// A route in either form: `"host/path"`, or an object with both.
fn route(json: Json, path: &Path<'_>) -> Result<HttpRoute, ManifestError> {
    if let Json::Text(text) = &json {
        return HttpRoute::parse(text).ok_or_else(|| {
            let expected =
                format_args!("a route such as api.example.com/v1, */v1 or api.example.com: {HOST}; {PREFIX}");
            ManifestError::new(path, expected, Quoted(text))
        });
    }
    let mut object = Object::open(json, path, &["host", "path"])?;
    let host = object.required("host", host)?;
    Ok(HttpRoute { host, path: object.optional("path", prefix)?.unwrap_or_else(|| "/".into()) })
}

fn host(json: Json, path: &Path<'_>) -> Result<HostPattern, ManifestError> {
    let text = read::text(json, path)?;
    HostPattern::parse(&text).ok_or_else(|| {
        let expected = format_args!("{HOST}, of at most {HOST_BYTES_MAX} bytes and without a port");
        ManifestError::new(path, expected, Quoted(&text))
    })
}

const PREFIX: &str = "a path begins with / and has no empty segment, no . or .. as a segment, no query, no fragment and \
                      nothing percent-encoded";

fn prefix(json: Json, path: &Path<'_>) -> Result<Box<str>, ManifestError> {
    let text = read::text(json, path)?;
    canonical_prefix(&text).ok_or_else(|| {
        let expected =
            format_args!("a path of at most {ROUTE_PATH_BYTES_MAX} bytes and {ROUTE_SEGMENTS_MAX} segments: {PREFIX}");
        ManifestError::new(path, expected, Quoted(&text))
    })
}

fn authentication(json: Json, path: &Path<'_>) -> Result<HttpAuthentication, ManifestError> {
    let text = read::text(json, path)?;
    HttpAuthentication::parse(&text).ok_or_else(|| ManifestError::new(path, "open or bearer", Quoted(&text)))
}

fn outgoing(json: Json, path: &Path<'_>) -> Result<Box<[OutgoingGrant]>, ManifestError> {
    let grants = read::list(json, path, grant)?;
    check_count(&grants, 0, OUTGOING_GRANTS_MAX, path, format_args!("at most {OUTGOING_GRANTS_MAX} grants"))?;
    // One grant says all about its scheme, host and port, its networks too.
    sorted_once(grants, path, ToString::to_string)
}

/// A grant in either form: `"scheme://host:port"`, or an object, which may have networks.
fn grant(json: Json, path: &Path<'_>) -> Result<OutgoingGrant, ManifestError> {
    if let Json::Text(text) = &json {
        return OutgoingGrant::parse(text).ok_or_else(|| {
            let expected = format_args!("a grant such as https://api.example.com or http://*.example.com:8080: {HOST}");
            ManifestError::new(path, expected, Quoted(text))
        });
    }
    let mut object = Object::open(json, path, &["scheme", "host", "port", "networks"])?;
    let scheme = object.required("scheme", scheme)?;
    let host = object.required("host", host)?;
    let port = object.optional("port", |json, path| read::integer(&json, path, 1, u16::MAX.into()))?;
    let port = port.and_then(|port| u16::try_from(port).ok());
    let networks = object.optional("networks", networks)?.unwrap_or_default();
    Ok(OutgoingGrant { networks, ..OutgoingGrant::new(scheme, host, port) })
}

fn scheme(json: Json, path: &Path<'_>) -> Result<OutgoingScheme, ManifestError> {
    let text = read::text(json, path)?;
    OutgoingScheme::parse(&text).ok_or_else(|| ManifestError::new(path, "http or https", Quoted(&text)))
}

fn networks(json: Json, path: &Path<'_>) -> Result<Box<[IpNet]>, ManifestError> {
    let networks = read::list(json, path, |json, path| {
        let text = read::text(json, path)?;
        let network: Option<IpNet> = text.parse().ok();
        let expected = match network {
            Some(IpNet::V6(v6)) if is_mapped(v6) => "an IPv4 network in its own form, such as 10.0.0.0/8",
            Some(network) if network.trunc() == network => return Ok(network),
            _ => "a network such as 10.0.0.0/8 or fd00::/8, with no bit set behind its prefix",
        };
        Err(ManifestError::new(path, expected, Quoted(&text)))
    })?;
    check_count(&networks, 0, GRANT_NETWORKS_MAX, path, format_args!("at most {GRANT_NETWORKS_MAX} networks"))?;
    sorted_once(networks, path, ToString::to_string)
}

/// Whether all addresses of `network` are IPv4 ones, mapped into IPv6. Nothing is ever asked for by such an address.
fn is_mapped(network: Ipv6Net) -> bool {
    network.prefix_len() >= 96 && network.network().to_ipv4_mapped().is_some()
}

fn check_count<T>(
    list: &[T],
    min: usize,
    max: usize,
    path: &Path<'_>,
    expected: std::fmt::Arguments<'_>,
) -> Result<(), ManifestError> {
    if (min..=max).contains(&list.len()) { Ok(()) } else { Err(ManifestError::new(path, expected, list.len())) }
}

/// The list sorted, in which no two elements have the same name.
fn sorted_once<T: Ord>(
    mut list: Vec<T>,
    path: &Path<'_>,
    name: impl Fn(&T) -> String,
) -> Result<Box<[T]>, ManifestError> {
    list.sort();
    match list.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
        Some(pair) => Err(ManifestError::new(path, "each once", format_args!("{} twice", Quoted(&name(&pair[0]))))),
        None => Ok(list.into()),
    }
}

/// The canonical form of both keys; one of which there is nothing to say is left out.
pub(super) fn write(ingress: &HttpIngress, grants: &[OutgoingGrant]) -> Map<String, Value> {
    let both = [(INGRESS, write_ingress(ingress)), (OUTGOING, write_outgoing(grants))];
    both.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Each route in its short form. `None` without routes.
fn write_ingress(ingress: &HttpIngress) -> Option<Value> {
    if ingress.routes.is_empty() {
        return None;
    }
    let mut object = Map::new();
    object.insert("routes".to_owned(), ingress.routes.iter().map(ToString::to_string).collect());
    if ingress.authentication != HttpAuthentication::default() {
        object.insert("authentication".to_owned(), ingress.authentication.as_str().into());
    }
    Some(Value::Object(object))
}

/// Grants without networks in the short form.
fn write_outgoing(grants: &[OutgoingGrant]) -> Option<Value> {
    (!grants.is_empty()).then(|| grants.iter().map(write_grant).collect())
}

fn write_grant(grant: &OutgoingGrant) -> Value {
    if grant.networks.is_empty() {
        return grant.to_string().into();
    }
    let networks: Value = grant.networks.iter().map(ToString::to_string).collect();
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("scheme", grant.scheme.as_str().into());
    put("host", grant.host.to_string().into());
    put("networks", networks);
    if let Some(port) = grant.port {
        put("port", port.into());
    }
    Value::Object(object)
}
