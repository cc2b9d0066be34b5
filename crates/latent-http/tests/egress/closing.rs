//! Whoever lets go of a request or of its response closes the connection.

use std::pin::pin;

use futures_util::future::{Either, select};
use http_body_util::BodyExt as _;
use latent_executor::OutgoingHttp as _;
use latent_http::egress::{EgressConfig, EgressSnapshot};
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;

use super::servers::{head, serving, stopping_after};
use super::support::{asked, client, get, loopback, read, send, soon, until_closed};

#[tokio::test]
async fn a_dropped_request_closes_its_connection() {
    let (events, mut seen) = mpsc::channel(4);
    let port = serving(move |mut socket| {
        let events = events.clone();
        async move {
            head(&mut socket).await;
            events.send("head").await.expect("a test that looks");
            let rest = socket.read_to_end(&mut Vec::new()).await;
            events.send(if rest.is_ok() { "end" } else { "reset" }).await.expect("a test that looks");
        }
    })
    .await
    .port();
    let client = client(EgressConfig::default());
    let sending = client.send(asked(get(&format!("http://a.example:{port}/")), "a", loopback(port)));
    match soon(select(sending, pin!(seen.recv()))).await {
        Either::Left(_) => panic!("nobody answers"),
        Either::Right((event, sending)) => {
            assert_eq!(event, Some("head"));
            assert_eq!(client.snapshot(), EgressSnapshot { connections: 1, lookups: 0, tenants: 1 });
            drop(sending);
        }
    }
    assert!(soon(seen.recv()).await.is_some());
    until_closed(&client).await;
}

#[tokio::test]
async fn a_dropped_body_closes_its_connection() {
    let (server, mut closing) = stopping_after("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab").await;
    let client = client(EgressConfig::default());
    let request = get(&format!("http://a.example:{}/", server.port()));
    let mut body = send(&client, request, loopback(server.port())).await.expect("a head").into_body();
    soon(body.frame()).await.expect("a piece").expect("good");
    assert_eq!(client.snapshot().connections, 1);
    drop(body);
    soon(closing.recv()).await.expect("closed");
    until_closed(&client).await;
}

#[tokio::test]
async fn a_request_that_was_never_polled_has_opened_nothing() {
    let client = client(EgressConfig::default());
    drop(client.send(asked(get("http://a.example:1/"), "a", loopback(1))));
    assert_eq!(client.snapshot(), EgressSnapshot::default());
}

/// Lets go of requests before, while and after each step of theirs, on several threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whenever_requests_are_dropped_nothing_stays_open() {
    let (server, mut closing) = stopping_after("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab").await;
    let drained = tokio::spawn(async move { while closing.recv().await.is_some() {} });
    let client = client(EgressConfig { connections_per_tenant: 512, ..EgressConfig::default() });
    let uri = format!("http://a.example:{}/", server.port());
    let requests = (0..400).map(|patience| {
        let sending = client.send(asked(get(&uri), "a", loopback(server.port())));
        tokio::spawn(async move {
            let patience = pin!(async {
                for _ in 0..patience {
                    tokio::task::yield_now().await;
                }
            });
            let reading = pin!(async { sending.await.expect("a head").into_body().collect().await });
            drop(select(reading, patience).await);
        })
    });
    for request in requests.collect::<Vec<_>>() {
        soon(request).await.expect("no panic");
    }
    until_closed(&client).await;
    drained.abort();
}

#[tokio::test]
async fn a_connection_serves_one_request() {
    let (server, mut closing) = stopping_after("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab").await;
    let client = client(EgressConfig::default());
    for _ in 0..2 {
        let request = get(&format!("http://a.example:{}/", server.port()));
        let response = send(&client, request, loopback(server.port())).await.expect("a head");
        assert_eq!(read(response).await.expect("whole"), "ab");
        soon(closing.recv()).await.expect("closed by the client, which would not have it wait");
    }
    until_closed(&client).await;
}
