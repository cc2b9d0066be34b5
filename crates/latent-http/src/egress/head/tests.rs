//! What passes of a head, and what does not.

use http::header::{FORWARDED, TRANSFER_ENCODING};
use latent_core::http::{HostPattern, OutgoingGrant};

use super::*;

fn target(uri: &str) -> Target {
    let grants = [OutgoingScheme::Http, OutgoingScheme::Https].map(|scheme| OutgoingGrant {
        scheme,
        host: HostPattern::Any,
        port: Some(8080),
        networks: Box::default(),
    });
    Target::of(&uri.parse().expect("a URI"), &grants).expect("granted")
}

fn body() -> http_body_util::Full<bytes::Bytes> {
    http_body_util::Full::from("abcde")
}

fn head(method: Method, fields: &[(&'static str, &'static str)]) -> Result<Head, OutgoingError> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(*name, HeaderValue::from_static(value));
    }
    Head::new(method, PathAndQuery::from_static("/a?b"), headers, 1024)
}

#[test]
fn the_host_is_that_of_the_uri_whatever_the_guest_says() {
    for fields in [&[][..], &[("host", "evil.example")], &[("host", "one.example"), ("host", "two.example")]] {
        let request = head(Method::GET, fields).expect("a head").http1(&target("http://a.example:8080/"), body());
        let request = request.expect("a request");
        assert_eq!(request.headers().get_all(HOST).iter().collect::<Vec<_>>(), ["a.example:8080"]);
        assert_eq!(request.uri(), "/a?b");
        let request = head(Method::GET, fields).expect("a head").http2(&target("https://a.example:8080/"), body());
        let request = request.expect("a request");
        assert!(!request.headers().contains_key(HOST));
        assert_eq!(request.uri(), "https://a.example:8080/a?b");
    }
}

#[test]
fn fields_of_a_connection_stay_on_it() {
    let fields = [
        ("connection", "keep-alive, X-Own"),
        ("x-own", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("proxy-authorization", "Basic eDp5"),
        ("transfer-encoding", "chunked"),
        ("te", "gzip"),
        ("http2-settings", "AAMAAABkAARAAAAAAAIAAAAA"),
        ("forwarded", "for=a"),
        ("traceparent", "00-1-2-01"),
    ];
    let request =
        head(Method::POST, &fields).expect("a head").http1(&target("http://a:8080/"), body()).expect("a request");
    let mut names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["connection", FORWARDED.as_str(), "host", "traceparent"]);
    assert_eq!(request.headers()[CONNECTION], "close");
    let request = head(Method::POST, &[("te", "Trailers")]).expect("a head").http1(&target("http://a:8080/"), body());
    assert_eq!(request.expect("a request").headers()[CONNECTION], "close, te");
    let mut answer: HeaderMap =
        [(CONNECTION, "x-hop".parse().expect("a value")), (TRANSFER_ENCODING, "chunked".parse().expect("a value"))]
            .into_iter()
            .collect();
    answer.insert("x-hop", HeaderValue::from_static("1"));
    without_hops(&mut answer);
    assert!(answer.is_empty());
}

#[test]
fn tunnels_and_upgrades_are_refused() {
    assert_eq!(head(Method::CONNECT, &[]).err(), Some(OutgoingError::Unsupported));
    let upgrade = head(Method::GET, &[("connection", "upgrade"), ("upgrade", "websocket")]);
    assert_eq!(upgrade.err(), Some(OutgoingError::Unsupported));
}

#[test]
fn a_length_is_a_number_and_there_is_one() {
    for (fields, expected) in [
        (&[][..], Ok(None)),
        (&[("content-length", "5")], Ok(Some(5))),
        (&[("content-length", "5"), ("content-length", "5")], Ok(Some(5))),
        (&[("content-length", "5"), ("content-length", "6")], Err(OutgoingError::Protocol)),
        (&[("content-length", "+5")], Err(OutgoingError::Protocol)),
        (&[("content-length", "5, 5")], Err(OutgoingError::Protocol)),
        (&[("content-length", "")], Err(OutgoingError::Protocol)),
        (&[("content-length", "18446744073709551616")], Err(OutgoingError::Protocol)),
    ] {
        assert_eq!(head(Method::POST, fields).map(|head| head.announced), expected, "{fields:?}");
    }
}

#[test]
fn a_head_has_its_bound() {
    let of = |bytes: usize| {
        let headers = HeaderMap::from_iter([(FORWARDED, "a".repeat(bytes).parse().expect("a value"))]);
        Head::new(Method::GET, PathAndQuery::from_static("/"), headers, 1024)
    };
    let rest = "GET".len() + "/".len() + "forwarded".len() + 4;
    assert!(of(1024 - rest).is_ok());
    assert_eq!(of(1025 - rest).err(), Some(OutgoingError::RequestTooLarge { limit: 1024 }));
}
