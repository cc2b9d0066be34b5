//! Requests that want to get where they may not: the table of tricks, redirects, names that change their minds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use http::header::{HOST, LOCATION};
use latent_core::http::{OutgoingGrant, OutgoingScheme};
use latent_executor::OutgoingError;
use latent_http::egress::{Client, EgressConfig};
use tokio::io::AsyncWriteExt as _;

use super::servers::{echoing_heads, head, saying, serving};
use super::support::{LOOPBACK, Names, client, empty, get, grant, loopback, read, send, until_closed};

use OutgoingError::{AddressProhibited, Denied, NameUnknown, Unsupported, UriInvalid};

fn everything() -> Vec<OutgoingGrant> {
    [OutgoingScheme::Http, OutgoingScheme::Https].map(|scheme| grant(scheme, "*", None, &[])).into()
}

fn narrow() -> Vec<OutgoingGrant> {
    vec![
        grant(OutgoingScheme::Https, "api.example.com", None, &[]),
        grant(OutgoingScheme::Https, "*.cdn.example", None, &[]),
    ]
}

#[tokio::test]
async fn every_trick_is_refused_before_a_connection() {
    let names = Names::new(&[
        ("loop.example", &[&["127.0.0.1"]]),
        ("loop6.example", &[&["::1"]]),
        ("meta.example", &[&["169.254.169.254"]]),
        ("mapped.example", &[&["::ffff:169.254.169.254"]]),
        ("nat64.example", &[&["64:ff9b::a9fe:a9fe"]]),
        ("many.example", &[&["10.0.0.1", "192.168.0.1", "fd00::1"]]),
        ("none.example", &[&[]]),
        ("localhost", &[&["127.0.0.1", "::1"]]),
        ("xn--lcalhost-e4a", &[&["127.0.0.1"]]),
        ("127.0.0.1.nip.example", &[&["127.0.0.1"]]),
        ("metadata", &[&["169.254.169.254"]]),
        ("api.example.com", &[&["10.0.0.7"]]),
    ]);
    let client = Client::with_resolver(EgressConfig::default(), names).expect("a client");
    for (uri, expected) in [
        ("http://127.0.0.1/", AddressProhibited),
        ("http://127.0.0.1./", AddressProhibited),
        ("https://127.0.0.1/", AddressProhibited),
        ("http://127.255.255.254/", AddressProhibited),
        ("http://0.0.0.0/", AddressProhibited),
        ("http://10.0.0.1/", AddressProhibited),
        ("http://172.16.0.1/", AddressProhibited),
        ("http://192.168.1.1/", AddressProhibited),
        ("http://100.64.0.1/", AddressProhibited),
        ("http://169.254.169.254/latest/meta-data/", AddressProhibited),
        ("http://192.0.0.192/", AddressProhibited),
        ("http://198.18.0.1/", AddressProhibited),
        ("http://224.0.0.1/", AddressProhibited),
        ("http://240.0.0.1/", AddressProhibited),
        ("http://255.255.255.255/", AddressProhibited),
        ("http://[::]/", AddressProhibited),
        ("http://[::1]/", AddressProhibited),
        ("http://[0000::0001]/", AddressProhibited),
        ("http://[::ffff:127.0.0.1]/", AddressProhibited),
        ("http://[::FFFF:7f00:1]/", AddressProhibited),
        ("http://[::127.0.0.1]/", AddressProhibited),
        ("http://[64:ff9b::7f00:1]/", AddressProhibited),
        ("http://[64:ff9b:1::7f00:1]/", AddressProhibited),
        ("http://[2002:7f00:1::]/", AddressProhibited),
        ("http://[2001::80ff:fffe]/", AddressProhibited),
        ("http://[fc00::1]/", AddressProhibited),
        ("http://[fd00:ec2::254]/", AddressProhibited),
        ("http://[fe80::1]/", AddressProhibited),
        ("http://[fec0::1]/", AddressProhibited),
        ("http://[ff02::1]/", AddressProhibited),
        ("http://loop.example/", AddressProhibited),
        ("http://LOOP.Example./", AddressProhibited),
        ("https://loop6.example/", AddressProhibited),
        ("http://meta.example/", AddressProhibited),
        ("http://mapped.example/", AddressProhibited),
        ("http://nat64.example/", AddressProhibited),
        ("http://many.example/", AddressProhibited),
        ("http://localhost/", AddressProhibited),
        ("http://xn--lcalhost-e4a/", AddressProhibited),
        ("http://127.0.0.1.nip.example/", AddressProhibited),
        ("http://metadata/", AddressProhibited),
        ("http://2130706433/", UriInvalid),
        ("http://0x7f000001/", UriInvalid),
        ("http://0177.0.0.1/", UriInvalid),
        ("http://127.1/", UriInvalid),
        ("http://127.0.1/", UriInvalid),
        ("http://0/", UriInvalid),
        ("http://0xa9fea9fe/", UriInvalid),
        ("http://user@loop.example/", UriInvalid),
        ("http://api.example.com@127.0.0.1/", UriInvalid),
        ("http://loop.example:/", UriInvalid),
        ("http://loop.example:0/", UriInvalid),
        ("http://loop.example:65616/", UriInvalid),
        ("http://loop.example:22/", Denied),
        ("http://127.0.0.1:8080/", Denied),
        ("ftp://loop.example/", Unsupported),
        ("http://none.example/", NameUnknown),
        ("http://unknown.example/", NameUnknown),
    ] {
        assert_eq!(send(&client, get(uri), everything()).await.err(), Some(expected), "{uri}");
    }
    for (uri, expected) in [
        ("https://api.example.com/", AddressProhibited),
        ("http://api.example.com/", Denied),
        ("https://api.example.com:8443/", Denied),
        ("https://api.example.com.evil.example/", Denied),
        ("https://evil.example/api.example.com", Denied),
        ("https://evil.example/?@api.example.com", Denied),
        ("https://evil-api.example.com/", Denied),
        ("https://cdn.example/", Denied),
        ("https://api.example.com:443@evil.example/", UriInvalid),
    ] {
        assert_eq!(send(&client, get(uri), narrow()).await.err(), Some(expected), "{uri}");
    }
    assert_eq!(send(&client, get("http://8.8.8.8/"), Vec::new()).await.err(), Some(Denied));
    until_closed(&client).await;
}

#[tokio::test]
async fn characters_beyond_ascii_make_no_host() {
    for uri in ["http://ⓛocalhost/", "http://127。0。0。1/", "http://bücher.example/"] {
        assert!(uri.parse::<http::Uri>().is_err(), "{uri}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_following_it_is_a_request_like_any_other() {
    let client = client(EgressConfig::default());
    for (location, expected) in [
        ("http://169.254.169.254/latest/meta-data/", AddressProhibited),
        ("http://[::ffff:a9fe:a9fe]/", AddressProhibited),
        ("http://10.0.0.1/", AddressProhibited),
        ("http://0xa9fea9fe/", UriInvalid),
        ("http://x@169.254.169.254/", UriInvalid),
        ("http://127.0.0.1:1/", Denied),
        ("https://127.0.0.1/", Denied),
        ("gopher://127.0.0.1/", Unsupported),
    ] {
        let answer = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let server = saying(answer).await;
        let mut grants = vec![grant(OutgoingScheme::Http, "*", None, LOOPBACK)];
        grants.push(grant(OutgoingScheme::Http, "a.example", Some(server.port()), LOOPBACK));
        let response = send(&client, get(&format!("http://a.example:{}/", server.port())), grants.clone()).await;
        let response = response.expect("the redirect itself");
        assert_eq!(response.status(), 302);
        let next = response.headers()[LOCATION].to_str().expect("text").to_owned();
        assert_eq!(send(&client, get(&next), grants).await.err(), Some(expected), "{location}");
    }
}

#[tokio::test]
async fn the_server_sees_the_host_of_the_uri_and_no_field_of_a_connection() {
    let client = client(EgressConfig::default());
    let port = echoing_heads().await.port();
    let request = Request::get(format!("http://A.Example.:{port}/path?query"))
        .header(HOST, "internal.example")
        .header("connection", "keep-alive, x-secret")
        .header("x-secret", "1")
        .header("transfer-encoding", "chunked")
        .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .body(empty())
        .expect("a request");
    let seen = read(send(&client, request, loopback(port)).await.expect("an answer")).await.expect("whole");
    let seen = String::from_utf8(seen.to_vec()).expect("text");
    let mut lines: Vec<_> = seen.trim_end().split("\r\n").collect();
    lines[1..].sort_unstable();
    let expected = [
        "GET /path?query HTTP/1.1",
        "connection: close",
        &format!("host: a.example:{port}"),
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_asked_once_and_checked_each_time() {
    let connections = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&connections);
    let port = serving(move |mut socket| {
        seen.fetch_add(1, Ordering::SeqCst);
        async move {
            head(&mut socket).await;
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
    })
    .await
    .port();
    // Were it asked again between check and connection, the first request would go to the second address.
    let names = Names::new(&[("turn.example", &[&["127.0.0.1"], &["169.254.169.254"], &["127.0.0.1"]])]);
    let client = Client::with_resolver(EgressConfig::default(), names).expect("a client");
    let uri = format!("http://turn.example:{port}/");
    assert_eq!(send(&client, get(&uri), loopback(port)).await.expect("the first").status(), 200);
    assert_eq!(send(&client, get(&uri), loopback(port)).await.err(), Some(AddressProhibited));
    assert_eq!(send(&client, get(&uri), loopback(port)).await.expect("the third").status(), 200);
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn of_several_addresses_only_the_permitted_are_tried() {
    let port = saying("HTTP/1.1 204 No Content\r\n\r\n").await.port();
    // Nobody listens at the second, so that the third answers; the first is not touched.
    let names = Names::new(&[("some.example", &[&["10.255.255.1", "127.9.9.9", "127.0.0.1"]])]);
    let client = Client::with_resolver(EgressConfig::default(), names).expect("a client");
    let response = send(&client, get(&format!("http://some.example:{port}/")), loopback(port)).await;
    assert_eq!(response.expect("an answer").status(), 204);
}
