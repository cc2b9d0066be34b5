//! Each limit, exceeded.

use http::Request;
use latent_executor::{HttpBodyError, OutgoingError, OutgoingHttp as _};
use latent_http::egress::{EgressConfig, EgressSnapshot};

use super::servers::{saying, stopping_after};
use super::support::{asked, client, full, get, loopback, read, send, soon, until_closed};

fn uri(port: u16) -> String {
    format!("http://a.example:{port}/")
}

#[tokio::test]
async fn a_tenant_has_its_connections_and_the_node_its_own() {
    let (server, _closing) = stopping_after("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n").await;
    let config = EgressConfig { connections_per_node: 3, connections_per_tenant: 2, ..EgressConfig::default() };
    let client = client(config);
    let send = |tenant| soon(client.send(asked(get(&uri(server.port())), tenant, loopback(server.port()))));
    let open = [send("a").await, send("a").await].map(|response| response.expect("within the limit"));
    assert_eq!(send("a").await.err(), Some(OutgoingError::ConnectionLimit));
    let other = send("b").await.expect("another tenant's");
    assert_eq!(send("c").await.err(), Some(OutgoingError::ConnectionLimit));
    assert_eq!(client.snapshot(), EgressSnapshot { connections: 3, lookups: 0, tenants: 2 });
    drop((open, other));
    until_closed(&client).await;
    assert!(send("c").await.is_ok());
}

#[tokio::test]
async fn a_request_has_its_size() {
    let client =
        client(EgressConfig { request_head_bytes_max: 1024, request_body_bytes_max: 4, ..EgressConfig::default() });
    let port = saying("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.port();
    let upload = |body| Request::post(uri(port)).body(body).expect("a request");
    assert!(send(&client, upload(full("abcd")), loopback(port)).await.is_ok());
    let large = send(&client, upload(full("abcde")), loopback(port)).await;
    assert_eq!(large.err(), Some(OutgoingError::RequestTooLarge { limit: 4 }));
    let long = Request::get(format!("http://a.example:{port}/{}", "a".repeat(1024)));
    let long = send(&client, long.body(full("")).expect("a request"), loopback(port)).await;
    assert_eq!(long.err(), Some(OutgoingError::RequestTooLarge { limit: 1024 }));
}

#[tokio::test]
async fn a_response_head_has_its_bytes_and_its_fields() {
    let config = EgressConfig { response_head_bytes_max: 8192, response_headers_max: 4, ..EgressConfig::default() };
    let client = client(config);
    for (fields, status) in [
        (format!("a: {}\r\n", "b".repeat(7000)), Ok(200)),
        (format!("a: {}\r\n", "b".repeat(8192)), Err(OutgoingError::ResponseHeadTooLarge)),
        (format!("a: {}\r\n", "b".repeat(1 << 20)), Err(OutgoingError::ResponseHeadTooLarge)),
        ("a: b\r\n".repeat(3), Ok(200)),
        ("a: b\r\n".repeat(4), Err(OutgoingError::ResponseHeadTooLarge)),
        ("a: b\r\n".repeat(2000), Err(OutgoingError::ResponseHeadTooLarge)),
    ] {
        let port = saying(format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{fields}\r\n")).await.port();
        let answer = send(&client, get(&uri(port)), loopback(port)).await;
        assert_eq!(answer.map(|response| response.status().as_u16()), status, "{} bytes", fields.len());
    }
}

#[tokio::test]
async fn a_response_body_has_its_size_whether_it_says_it_or_not() {
    let client = client(EgressConfig { response_body_bytes_max: 4, ..EgressConfig::default() });
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd", Ok(4)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde", Err(HttpBodyError::TooLarge { limit: 4 })),
        ("HTTP/1.1 200 OK\r\n\r\nabcde", Err(HttpBodyError::TooLarge { limit: 4 })),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            Err(HttpBodyError::TooLarge { limit: 4 }),
        ),
    ] {
        let port = saying(answer).await.port();
        let response = send(&client, get(&uri(port)), loopback(port)).await.expect("a head");
        assert_eq!(read(response).await.map(|all| all.len()), expected, "{answer}");
    }
    until_closed(&client).await;
}
