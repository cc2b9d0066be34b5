//! Which call a method and a path are, on which listener, with which query parameters.
//!
//! Invariant: one table has all of it, and an error about a request says what the table has instead.

use http::Method;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

use super::text::decode;
use crate::api::Listener;

/// The calls, as they are named in the proto file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Invoke,
    Cancel,
    GetActivation,
    WatchActivation,
    ListActivations,
    GetLogs,
    FollowLogs,
    Publish,
    GetRelease,
    ListReleases,
    DeleteRelease,
    Apply,
    GetDeployment,
    ListDeployments,
    DeleteDeployment,
    GetRoute,
    Resolve,
    ApplyTenant,
    GetTenant,
    ListTenants,
    DeleteTenant,
    CreateCredential,
    ListCredentials,
    RevokeCredential,
    GetInventory,
    Drain,
    Resume,
    Backup,
    GetUsage,
    Health,
    Readiness,
    Metrics,
}

/// Which listeners serve a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Both,
    Only(Listener),
}

pub(super) struct Route {
    pub(super) method: Method,
    /// `{name}` is one segment, `{name..}` any number of them.
    pub(super) path: &'static str,
    pub(super) query: &'static [&'static str],
    pub(super) on: On,
    pub(super) call: Call,
}

const PAGE: &[&str] = &["page_size", "page_token"];
const INVOKE: On = On::Only(Listener::Invoke);
const CONTROL: On = On::Only(Listener::Control);

macro_rules! routes {
    ($($method:ident $path:literal $query:expr, $on:ident => $call:ident;)*) => {
        &[$(Route { method: Method::$method, path: $path, query: $query, on: on!($on), call: Call::$call },)*]
    };
}

macro_rules! on {
    (both) => {
        On::Both
    };
    (invoke) => {
        INVOKE
    };
    (control) => {
        CONTROL
    };
}

/// The table, the busiest first.
pub(super) const ROUTES: &[Route] = routes! {
    POST "/v1/invoke/{service}/{contract..}/{function}" &["route", "timeout"], invoke => Invoke;
    GET "/v1/activations/{id}" &[], both => GetActivation;
    POST "/v1/activations/{id}/cancel" &["reason"], both => Cancel;
    GET "/v1/activations/{id}/events" &["after_sequence"], both => WatchActivation;
    GET "/v1/activations" PAGE, both => ListActivations;
    GET "/healthz" &[], both => Health;
    GET "/readyz" &[], both => Readiness;
    GET "/metrics" &[], control => Metrics;
    GET "/v1/activations/{id}/logs" &[], control => GetLogs;
    GET "/v1/logs" &["service", "tail", "tail_only"], control => FollowLogs;
    POST "/v1/releases" &["manifest", "expected_digest"], control => Publish;
    GET "/v1/releases" PAGE, control => ListReleases;
    GET "/v1/releases/{digest}" &[], control => GetRelease;
    DELETE "/v1/releases/{digest}" &[], control => DeleteRelease;
    POST "/v1/deployments" &["expected_generation", "dry_run"], control => Apply;
    GET "/v1/deployments" &["service", "page_size", "page_token"], control => ListDeployments;
    GET "/v1/deployments/{service}/{deployment}" &[], control => GetDeployment;
    DELETE "/v1/deployments/{service}/{deployment}" &["expected_generation"], control => DeleteDeployment;
    GET "/v1/routes/{service}" &[], control => GetRoute;
    GET "/v1/routes/{service}/{route}" &[], control => GetRoute;
    GET "/v1/routes/{service}/{route}/resolve" &["contract", "function", "activation_id"], control => Resolve;
    PUT "/v1/tenants/{name}" &[], control => ApplyTenant;
    GET "/v1/tenants/{name}" &[], control => GetTenant;
    DELETE "/v1/tenants/{name}" &[], control => DeleteTenant;
    GET "/v1/tenants" PAGE, control => ListTenants;
    POST "/v1/credentials" &[], control => CreateCredential;
    GET "/v1/credentials" &["tenant", "page_size", "page_token"], control => ListCredentials;
    DELETE "/v1/credentials/{id}" &[], control => RevokeCredential;
    GET "/v1/node" &[], control => GetInventory;
    POST "/v1/node/drain" &[], control => Drain;
    POST "/v1/node/resume" &[], control => Resume;
    POST "/v1/node/backup" &[], control => Backup;
    GET "/v1/usage" &["tenant", "since", "until"], control => GetUsage;
};

/// What is named in a path or a query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named(Vec<(&'static str, String)>);

impl Named {
    /// Takes the value of `name`.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// A request that is none of the calls.
#[derive(Debug)]
pub(super) enum Unrouted {
    /// With the reason.
    Refused(PlatformError),
    /// The path exists, with these methods.
    Method(Vec<Method>, PlatformError),
}

/// Finds the call.
pub(super) fn find(method: &Method, path: &str, listener: Listener) -> Result<(&'static Route, Named), Unrouted> {
    let segments: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    // What a method GET answers, HEAD asks for without its body.
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    let here = || ROUTES.iter().filter(|route| fits(route.path, &segments));
    let Some(route) = here().find(|route| route.method == *method) else {
        let methods: Vec<Method> = here().map(|route| route.method.clone()).collect();
        let refused = if methods.is_empty() { no_path(path) } else { method_refused(method, path, &methods) };
        return Err(if methods.is_empty() { Unrouted::Refused(refused) } else { Unrouted::Method(methods, refused) });
    };
    if let On::Only(other) = route.on
        && other != listener
    {
        return Err(Unrouted::Refused(elsewhere(route.path, other)));
    }
    captures(route.path, &segments).map(|named| (route, named)).map_err(Unrouted::Refused)
}

/// Whether `segments` are a path of `pattern`. A name stands for at least one byte.
fn fits(pattern: &str, segments: &[&str]) -> bool {
    let pattern = pattern.get(1..).unwrap_or_default();
    let one = |part: &str, segment: &str| if part.starts_with('{') { !segment.is_empty() } else { part == segment };
    let fit = |pattern: &str, segments: &[&str]| {
        let mut segments = segments.iter();
        pattern.split('/').all(|part| segments.next().is_some_and(|segment| one(part, segment)))
            && segments.next().is_none()
    };
    let Some((before, after)) = pattern.split_once("/{contract..}/") else { return fit(pattern, segments) };
    let (first, last) = (before.split('/').count(), after.split('/').count());
    segments.len() >= first + last
        && fit(before, &segments[..first])
        && fit(after, &segments[segments.len() - last..])
        && segments.iter().all(|segment| !segment.is_empty())
}

fn captures(pattern: &'static str, segments: &[&str]) -> Result<Named, PlatformError> {
    let mut named = Named::default();
    let mut take = |part: &'static str, text: &str| -> Result<(), PlatformError> {
        if let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            named.0.push((name, decode("http.path", name, text)?));
        }
        Ok(())
    };
    let parts: Vec<&'static str> = pattern[1..].split('/').collect();
    let rest = parts.iter().position(|part| part.ends_with("..}"));
    let many = (segments.len() + 1).saturating_sub(parts.len());
    for (at, part) in parts.iter().enumerate() {
        match rest {
            Some(rest) if at == rest => take("{contract}", &segments[at..at + many].join("/"))?,
            Some(rest) if at > rest => take(part, segments[at + many - 1])?,
            _ => take(part, segments[at])?,
        }
    }
    Ok(named)
}

/// The parameters of a query, each of which the route knows and has once.
pub(super) fn query(route: &Route, query: Option<&str>) -> Result<Named, PlatformError> {
    let mut named = Named::default();
    for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = decode("http.query", "the name of a query parameter", name)?;
        let Some(known) = route.query.iter().find(|known| **known == name) else {
            return Err(unknown_parameter(route, &name));
        };
        if named.0.iter().any(|(before, _)| before == known) {
            return Err(super::text::invalid("http.query", known, "is there more than once; give it once"));
        }
        named.0.push((known, decode("http.query", known, value)?));
    }
    Ok(named)
}

fn unknown_parameter(route: &Route, name: &str) -> PlatformError {
    let known =
        if route.query.is_empty() { "it takes none".into() } else { format!("it takes {}", route.query.join(", ")) };
    let shown: String = name.chars().take(64).collect();
    let detail = ErrorDetail::new("http.query").with("name", &shown).with("known", route.query.join(","));
    let message = format!("{} {} takes no query parameter {shown:?}; {known}", route.method, route.path);
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

fn no_path(path: &str) -> PlatformError {
    let shown: String = path.chars().take(128).collect();
    let mut roots: Vec<&str> = ROUTES.iter().map(|route| root(route.path)).collect();
    roots.sort_unstable();
    roots.dedup();
    let message = format!("there is no {shown:?}; the paths begin with {}", roots.join(", "));
    PlatformError::new(PlatformErrorCode::NotFound, message)
        .with_detail(ErrorDetail::new("http.path").with("path", shown))
}

/// A path up to the second slash after its begin, `/v1/invoke` for instance.
fn root(path: &str) -> &str {
    path.match_indices('/').nth(2).map_or(path, |(at, _)| &path[..at])
}

/// That a path has other methods.
pub(super) fn method_refused(method: &Method, path: &str, methods: &[Method]) -> PlatformError {
    let allowed: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let shown: String = path.chars().take(128).collect();
    let method: String = method.as_str().chars().take(32).collect();
    let message = format!("{shown:?} has no method {method}; it has {}", allowed.join(", "));
    PlatformError::new(PlatformErrorCode::InvalidArgument, message)
        .with_detail(ErrorDetail::new("http.method").with("method", method).with("allowed", allowed.join(",")))
}

fn elsewhere(path: &str, other: Listener) -> PlatformError {
    let other = match other {
        Listener::Invoke => "invoke",
        Listener::Control => "control",
    };
    let message = format!("{path} is not served here; ask the node's {other} listener");
    PlatformError::new(PlatformErrorCode::NotFound, message)
        .with_detail(ErrorDetail::new("api.other-listener").with("listener", other))
}

#[cfg(test)]
mod tests;
