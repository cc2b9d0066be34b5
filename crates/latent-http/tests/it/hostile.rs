//! Requests that are none: refused or served, never a crash, and never somebody else's request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http_body_util::BodyExt as _;

use super::support::{Served, h1, hello, raw, request, served, until_closed};

const CLOSE: &str = "connection: close";

fn counted() -> (Served, Arc<AtomicUsize>) {
    let (served, count) = (served(), Arc::new(AtomicUsize::new(0)));
    let counter = count.clone();
    served.guest(move |parts| {
        counter.fetch_add(1, Ordering::SeqCst);
        hello(parts)
    });
    (served, count)
}

#[tokio::test]
async fn lengths_that_contradict_themselves_are_refused_and_the_connection_closed() {
    let (served, count) = counted();
    for lines in [
        &["content-length: 4", "content-length: 5"][..],
        &["content-length: 4, 5"],
        &["content-length: -1"],
        &["content-length: +4"],
        &["content-length: 0x4"],
        &["content-length: 99999999999999999999"],
        &["transfer-encoding: gzip"],
        &["transfer-encoding: chunked, gzip"],
        &["transfer-encoding: chunkedx"],
    ] {
        let mut stream = raw(served.address, request("POST", "/", lines) + "0\r\n\r\nGET / HTTP/1.1\r\n").await;
        let all = String::from_utf8(until_closed(&mut stream).await).unwrap();
        assert!(all.is_empty() || all.starts_with("HTTP/1.1 400"), "{lines:?}: {all}");
        assert_eq!(all.matches("HTTP/1.1").count(), usize::from(!all.is_empty()), "{lines:?}: {all}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    served.settles().await;
}

#[tokio::test]
async fn a_chunked_body_behind_a_second_length_hides_no_request() {
    let served = served();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    served.guest(move |parts| {
        let (told, path) = (told.clone(), parts.request.uri().path().to_owned());
        told.lock().unwrap().push(path);
        async move {
            let (request, response) = (parts.request, parts.response);
            let _ = request.into_body().collect().await;
            let _ = response.send(http::Response::new(super::support::body_of("x")));
            super::support::returned()
        }
    });
    for lines in
        [["transfer-encoding: chunked", "content-length: 4"], ["content-length: 4", "transfer-encoding: chunked"]]
    {
        let smuggled = request("POST", "/first", &lines) + "0\r\n\r\n" + &request("GET", "/second", &[]);
        let mut stream = raw(served.address, smuggled).await;
        until_closed(&mut stream).await;
    }
    assert!(!seen.lock().unwrap().contains(&"/second".to_owned()), "{seen:?}");
    served.settles().await;
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let (served, count) = counted();
    let many: Vec<String> = (0..1000).map(|at| format!("x-{at}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let long = format!("x-long: {}", "a".repeat(64 << 10));
    let path = format!("/{}", "a".repeat(70_000));
    for head in [request("GET", "/", &many), request("GET", "/", &[&long]), request("GET", &path, &[])] {
        let mut stream = raw(served.address, head).await;
        let all = String::from_utf8(until_closed(&mut stream).await).unwrap();
        assert!(all.is_empty() || all.starts_with("HTTP/1.1 4"), "{all}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    served.settles().await;
}

#[tokio::test]
async fn bytes_that_are_no_text_pass_or_are_refused() {
    let served = served();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    served.guest(move |parts| {
        told.lock().unwrap().push(parts.request.headers().get("x-own").map(|value| value.as_bytes().to_vec()));
        hello(parts)
    });
    let ask = |line: &[u8], headers: &[u8]| {
        [line, b" HTTP/1.1\r\nhost: t.example\r\nconnection: close\r\n", headers, b"\r\n"].concat()
    };
    let answer = h1(served.address, ask(b"GET /", b"x-own: \xff\x80 \xc3\r\n")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(seen.lock().unwrap().pop(), Some(Some(b"\xff\x80 \xc3".to_vec())));
    for (line, headers) in [
        (&b"GET /\xff"[..], &b""[..]),
        (b"GET /?\xff\xfe", b""),
        (b"GET /\x00", b""),
        (b"GET /a b", b""),
        (b"GET /\xc3\xa4", b""),
        (b"G\xffT /", b""),
        (b"GET /", b"x-\xff: 1\r\n"),
        (b"GET /", b"x-own: a\x00b\r\n"),
        (b"GET /", b": 1\r\n"),
        (b"GET /", b"x-own 1\r\n"),
        (b"GET /", b" folded: 1\r\n"),
    ] {
        let status = h1(served.address, ask(line, headers)).await.status;
        assert!(status == 200 || status == 400, "{status}: {}", String::from_utf8_lossy(line));
    }
    served.settles().await;
}

#[tokio::test]
async fn trace_headers_that_are_none_are_dropped_or_refused_by_name() {
    let served = served();
    for (line, status) in [
        ("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 200),
        ("traceparent: nonsense", 200),
        ("traceparent: a\r\ntraceparent: b", 200),
        ("traceparent: \u{e4}", 200),
    ] {
        assert_eq!(h1(served.address, request("GET", "/", &[CLOSE, line])).await.status, status, "{line}");
    }
    served.settles().await;
}
