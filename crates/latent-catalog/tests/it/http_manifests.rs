//! HTTP in deployment manifests: both forms of routes and grants, the canonical one, and what is refused where.

use latent_catalog::{DeploymentManifest, ManifestError, ManifestLimits};
use latent_core::http::{
    GRANT_NETWORKS_MAX, HostPattern, HttpAuthentication, HttpIngress, HttpRoute, OUTGOING_GRANTS_MAX, OutgoingGrant,
    OutgoingScheme, ROUTES_MAX,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{http, manifest};

/// Reads a manifest with these keys beside those that every manifest has.
fn read_with(keys: &Value) -> Result<DeploymentManifest, ManifestError> {
    let mut json: Value = serde_json::from_str(&manifest("acme", "text", "blue").to_json()).unwrap();
    let object = json.as_object_mut().unwrap();
    object.extend(keys.as_object().unwrap().clone());
    DeploymentManifest::from_json(json.to_string().as_bytes(), &ManifestLimits::default())
}

fn canonical(manifest: &DeploymentManifest, key: &str) -> Value {
    let json: Value = serde_json::from_str(&manifest.to_json()).unwrap();
    json[key].clone()
}

#[test]
fn routes_are_read_in_either_form_and_written_in_the_short_one() {
    let read = read_with(&json!({"http": {"authentication": "bearer", "routes": [
        {"host": "API.example.com.", "path": "/v1/"}, "*.example.com", "/any", {"host": "*"}, "[::0001]/a"
    ]}}))
    .unwrap();
    let routes = ["api.example.com/v1", "[::1]/a", "*.example.com/", "*/", "*/any"];
    assert_eq!(read.http, http(&routes, HttpAuthentication::Bearer));
    assert_eq!(canonical(&read, "http"), json!({"authentication": "bearer", "routes": routes_sorted(&read)}));
    let open = read_with(&json!({"http": {"routes": ["a.example"], "authentication": "open"}})).unwrap();
    assert_eq!(canonical(&open, "http"), json!({"routes": ["a.example/"]}), "a default is left out");
    assert_eq!(read_with(&json!({})).unwrap().http, HttpIngress::default());
}

fn routes_sorted(manifest: &DeploymentManifest) -> Vec<String> {
    assert!(manifest.http.routes.is_sorted());
    manifest.http.routes.iter().map(ToString::to_string).collect()
}

#[test]
fn grants_are_read_in_either_form_and_written_in_the_short_one_where_it_says_all() {
    let read = read_with(&json!({"outgoing": [
        "https://api.example.com:443",
        {"scheme": "http", "host": "*.internal", "port": 8080, "networks": ["fd00::/8", "10.0.0.0/8"]},
        {"scheme": "http", "host": "A.example", "port": 80},
        {"scheme": "https", "host": "a.example", "networks": []}
    ]}))
    .unwrap();
    assert_eq!(
        canonical(&read, "outgoing"),
        json!([
            "http://a.example",
            {"scheme": "http", "host": "*.internal", "port": 8080, "networks": ["10.0.0.0/8", "fd00::/8"]},
            "https://a.example",
            "https://api.example.com"
        ])
    );
    assert!(read.outgoing.is_sorted());
    let again = DeploymentManifest::from_json(read.to_json().as_bytes(), &ManifestLimits::default()).unwrap();
    assert_eq!(again, read);
    assert_eq!(canonical(&read_with(&json!({"outgoing": []})).unwrap(), "outgoing"), Value::Null);
}

#[test]
fn what_is_no_route_is_refused_where_it_stands() {
    let many: Vec<_> = (0..=ROUTES_MAX).map(|at| format!("h{at}/")).collect();
    for (http, path, expected, found) in [
        (json!([]), "$.http", "an object", "an array"),
        (json!({}), "$.http", "the key \"routes\"", "none"),
        (json!({"routes": [], "authentication": "bearer"}), "$.http.routes", "1 to 32 routes", "0"),
        (json!({"routes": many}), "$.http.routes", "1 to 32 routes", "33"),
        (json!({"routes": ["a/b"], "auth": 1}), "$.http", "only the keys", "auth"),
        (json!({"routes": ["a/b"], "authentication": "none"}), "$.http.authentication", "open or bearer", "none"),
        (json!({"routes": [7]}), "$.http.routes[0]", "an object", "7"),
        (json!({"routes": ["a", "a:80/b"]}), "$.http.routes[1]", "a route such as", "a:80/b"),
        (json!({"routes": ["a/b//c"]}), "$.http.routes[0]", "no empty segment", "a/b//c"),
        (json!({"routes": [{"path": "/"}]}), "$.http.routes[0]", "the key \"host\"", "none"),
        (json!({"routes": [{"host": "a:80"}]}), "$.http.routes[0].host", "without a port", "a:80"),
        (json!({"routes": [{"host": "a", "path": "b"}]}), "$.http.routes[0].path", "begins with /", "b"),
        (json!({"routes": [{"host": "a", "path": "/a/../b"}]}), "$.http.routes[0].path", "no . or ..", "/a/../b"),
        (json!({"routes": [{"host": "a", "path": "/a?b"}]}), "$.http.routes[0].path", "no query", "/a?b"),
        (json!({"routes": [{"host": "a", "path": "/%61"}]}), "$.http.routes[0].path", "percent-encoded", "/%61"),
        (json!({"routes": ["A/b", {"host": "a", "path": "/b/"}]}), "$.http.routes", "each once", "a/b\" twice"),
    ] {
        assert_refused(&json!({"http": http}), path, expected, found);
    }
}

#[test]
fn what_is_no_grant_is_refused_where_it_stands() {
    let grant = |extra: Value| {
        let mut grant = json!({"scheme": "https", "host": "a"});
        grant.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!([grant])
    };
    let many: Vec<_> = (0..=OUTGOING_GRANTS_MAX).map(|at| format!("http://h{at}")).collect();
    let networks: Vec<_> = (0..=GRANT_NETWORKS_MAX).map(|at| format!("10.0.{at}.0/24")).collect();
    let twice = json!(["https://a:443", {"scheme": "https", "host": "a", "networks": ["10.0.0.0/8"]}]);
    for (outgoing, path, expected, found) in [
        (json!({}), "$.outgoing", "an array", "an object"),
        (json!(many), "$.outgoing", "at most 64 grants", "65"),
        (json!(["https://a/b"]), "$.outgoing[0]", "a grant such as", "https://a/b"),
        (json!(["ftp://a"]), "$.outgoing[0]", "a grant such as", "ftp://a"),
        (json!([{"scheme": "ftp", "host": "a"}]), "$.outgoing[0].scheme", "http or https", "ftp"),
        (json!([{"scheme": "http"}]), "$.outgoing[0]", "the key \"host\"", "none"),
        (json!([{"host": "a"}]), "$.outgoing[0]", "the key \"scheme\"", "none"),
        (grant(json!({"port": 0})), "$.outgoing[0].port", "1 to 65535", "0"),
        (grant(json!({"port": 65_536})), "$.outgoing[0].port", "1 to 65535", "65536"),
        (grant(json!({"path": "/"})), "$.outgoing[0]", "only the keys", "path"),
        (grant(json!({"networks": networks})), "$.outgoing[0].networks", "at most 16 networks", "17"),
        (grant(json!({"networks": ["10.0.0.1/8"]})), "$.outgoing[0].networks[0]", "no bit set", "10.0.0.1/8"),
        (grant(json!({"networks": ["::ffff:10.0.0.0/104"]})), "$.outgoing[0].networks[0]", "in its own form", "::ffff"),
        (grant(json!({"networks": ["10.0.0.0"]})), "$.outgoing[0].networks[0]", "a network such as", "10.0.0.0"),
        (grant(json!({"networks": ["10.0.0.0/8", "10.0.0.0/8"]})), "$.outgoing[0].networks", "each once", "twice"),
        (twice, "$.outgoing", "each once", "https://a\" twice"),
    ] {
        assert_refused(&json!({"outgoing": outgoing}), path, expected, found);
    }
}

#[track_caller]
fn assert_refused(keys: &Value, path: &str, expected: &str, found: &str) {
    let error = read_with(keys).expect_err("this is no manifest");
    assert_eq!(error.path(), path, "{error}");
    assert!(error.expected().contains(expected), "{error}");
    assert!(error.found().contains(found), "{error}");
}

fn any_host() -> impl Strategy<Value = HostPattern> {
    prop_oneof![Just("*".to_owned()), "([a-z0-9-]{1,8}\\.){0,3}[a-z]{1,8}", "\\*\\.([a-z0-9]{1,8}\\.){0,2}[a-z]{1,8}"]
        .prop_map(|text| HostPattern::parse(&text).expect("it is made as a pattern"))
}

fn any_route() -> impl Strategy<Value = HttpRoute> {
    (any_host(), prop_oneof![Just("/".to_owned()), "(/[a-z0-9_~-]{1,6}){1,5}"])
        .prop_map(|(host, path)| HttpRoute { host, path: path.into() })
}

fn any_grant() -> impl Strategy<Value = OutgoingGrant> {
    let networks = prop::collection::btree_set((0_u8..=255).prop_map(|at| format!("10.{at}.0.0/16")), 0..3);
    let scheme = prop_oneof![Just(OutgoingScheme::Http), Just(OutgoingScheme::Https)];
    (scheme, any_host(), prop::option::of(1_u16..), networks).prop_map(|(scheme, host, port, networks)| {
        let mut networks: Vec<_> = networks.iter().map(|text| text.parse().expect("it is a network")).collect();
        networks.sort();
        OutgoingGrant { networks: networks.into(), ..OutgoingGrant::new(scheme, host, port) }
    })
}

proptest! {
    #[test]
    fn what_a_manifest_says_of_http_reads_back_from_its_canonical_form(
        routes in prop::collection::btree_set(any_route(), 1..6), bearer in any::<bool>(),
        grants in prop::collection::btree_map("[a-z]{4}", any_grant(), 0..6), none in any::<bool>(),
    ) {
        let authentication = if bearer { HttpAuthentication::Bearer } else { HttpAuthentication::Open };
        let http = HttpIngress { routes: routes.into_iter().collect(), authentication };
        let mut outgoing: Vec<OutgoingGrant> = grants.into_values().collect();
        outgoing.sort();
        outgoing.dedup_by_key(|grant| grant.to_string());
        let manifest = DeploymentManifest {
            http: if none { HttpIngress::default() } else { http },
            outgoing: outgoing.into(),
            ..manifest("acme", "text", "blue")
        };
        let read = DeploymentManifest::from_json(manifest.to_json().as_bytes(), &ManifestLimits::default());
        prop_assert_eq!(read.as_ref(), Ok(&manifest));
        let bare = DeploymentManifest { http: HttpIngress::default(), outgoing: Box::default(), ..manifest.clone() };
        let again = match manifest.http_json() {
            Some(json) => bare.with_http_json(&json, &ManifestLimits::default()).unwrap(),
            None => bare,
        };
        prop_assert_eq!(again, manifest);
    }
}
