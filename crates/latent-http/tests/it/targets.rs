//! Where requests go: the right route or none, never anybody's by default.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use latent_core::http::HttpAuthentication;

use super::support::{Served, body_of, h1, h2, hello, returned, served, whole};

/// A node whose guests count, and tell the URI that they saw.
fn counted() -> (Served, Arc<AtomicUsize>) {
    let (served, count) = (served(), Arc::new(AtomicUsize::new(0)));
    let counter = count.clone();
    served.guest(move |parts| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            let _ = parts.response.send(Response::new(body_of(parts.request.uri().to_string())));
            returned()
        }
    });
    (served, count)
}

async fn ask(served: &Served, head: &str) -> (u16, String) {
    let answer = h1(served.address, format!("{head}\r\nconnection: close\r\n\r\n")).await;
    let text = if answer.status == 200 { answer.text() } else { String::new() };
    (answer.status, text)
}

#[tokio::test]
async fn a_host_leads_to_its_route_however_it_is_written() {
    let (served, _) = counted();
    served.routes.route("[::1]", "/", ("t", "s"), HttpAuthentication::Open);
    for (head, uri) in [
        ("GET /a HTTP/1.1\r\nhost: t.example", "http://t.example/a"),
        ("GET /a HTTP/1.1\r\nhost: t.example:8080", "http://t.example:8080/a"),
        ("GET /a HTTP/1.1\r\nhost: t.example.", "http://t.example./a"),
        ("GET /a HTTP/1.1\r\nhost: T.EXAMPLE", "http://T.EXAMPLE/a"),
        ("GET /a HTTP/1.1\r\nhost: [::1]:80", "http://[::1]:80/a"),
        ("GET http://t.example/a HTTP/1.1\r\nhost: t.example", "http://t.example/a"),
        ("GET https://t.example/a HTTP/1.1\r\nhost: t.example", "http://t.example/a"),
        ("GET http://t.example/a HTTP/1.1", "http://t.example/a"),
        ("GET http://t.example HTTP/1.1", "http://t.example/"),
        ("GET /a%2Fb%20%ff//c?x=%00&y HTTP/1.1\r\nhost: t.example", "http://t.example/a%2Fb%20%ff//c?x=%00&y"),
        ("OPTIONS * HTTP/1.1\r\nhost: t.example", "http://t.example*"),
    ] {
        let (status, text) = ask(&served, head).await;
        assert_eq!((status, &*text), (200, uri), "{head}");
    }
    served.settles().await;
}

#[tokio::test]
async fn whatever_is_not_one_known_host_reaches_no_guest() {
    let (served, count) = counted();
    for (head, status) in [
        ("GET / HTTP/1.1", 400),
        ("GET / HTTP/1.0", 400),
        ("GET / HTTP/1.1\r\nhost:", 400),
        ("GET / HTTP/1.1\r\nhost: t.example\r\nhost: t.example", 400),
        ("GET / HTTP/1.1\r\nhost: t.example\r\nhost: u.example", 400),
        ("GET / HTTP/1.1\r\nhost: user@t.example", 400),
        ("GET / HTTP/1.1\r\nhost: t.example, u.example", 400),
        ("GET / HTTP/1.1\r\nhost: t.example/", 400),
        ("GET http://t.example/ HTTP/1.1\r\nhost: u.example", 400),
        ("GET http://user@t.example/ HTTP/1.1", 400),
        ("CONNECT t.example:443 HTTP/1.1\r\nhost: t.example", 400),
        ("GET * HTTP/1.1\r\nhost: t.example", 400),
        ("GET /a/../b HTTP/1.1\r\nhost: t.example", 400),
        ("GET /a/%2e%2E/b HTTP/1.1\r\nhost: t.example", 400),
        ("GET / HTTP/1.1\r\nhost: other.example", 404),
        ("GET / HTTP/1.1\r\nhost: example", 404),
        ("GET / HTTP/1.1\r\nhost: 127.0.0.1", 404),
        ("GET / HTTP/1.1\r\nhost: a.t.example", 404),
    ] {
        assert_eq!(ask(&served, head).await.0, status, "{head}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    served.settles().await;
}

#[tokio::test]
async fn an_unknown_host_is_told_so_and_not_more() {
    let served = served();
    let answer = h1(served.address, "GET /secret HTTP/1.1\r\nhost: x.example\r\nconnection: close\r\n\r\n").await;
    assert_eq!((answer.status, &*answer.problem("kind")), (404, "http.no-route"));
    assert_eq!(answer.problem("code"), "route-unavailable");
    assert_eq!(answer.problem("type"), "urn:latent:error:route-unavailable");
    assert_eq!((&*answer.problem("title"), &*answer.problem("status")), ("Not Found", "404"));
    assert_eq!(answer.header("latent-activation-id"), None);
}

#[tokio::test]
async fn a_prefix_covers_whole_segments_and_nothing_above_it() {
    let (served, _) = counted();
    served.routes.route("p.example", "/a", ("t", "s"), HttpAuthentication::Open);
    for (path, status) in [
        ("/a", 200),
        ("/a/", 200),
        ("/a?x", 200),
        ("/a/b", 200),
        ("/ab", 404),
        ("/", 404),
        ("/A", 404),
        ("/%61", 200),
        ("/a/../b", 400),
    ] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: p.example");
        assert_eq!(ask(&served, &head).await.0, status, "{path}");
    }
    served.settles().await;
}

#[tokio::test]
async fn over_http_2_the_authority_leads_the_way_and_a_host_header_has_to_agree() {
    let served = served();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    served.guest(move |parts| {
        told.lock().unwrap().push(parts.request.uri().to_string());
        hello(parts)
    });
    let mut sender = h2(served.address).await;
    for (uri, host, status) in [
        ("http://t.example:81/a?b", None, 200),
        ("https://T.example/", Some("t.example"), 200),
        ("http://t.example/", Some("u.example"), 400),
        ("http://x.example/", None, 404),
    ] {
        let request = Request::get(uri);
        let request = match host {
            Some(host) => request.header("host", host),
            None => request,
        };
        let answered = whole(&mut sender, request.body(body_of("")).unwrap()).await.unwrap();
        assert_eq!(answered.0, status, "{uri}");
    }
    assert_eq!(*seen.lock().unwrap(), ["http://t.example:81/a?b", "http://T.example/"]);
    served.settles().await;
}
