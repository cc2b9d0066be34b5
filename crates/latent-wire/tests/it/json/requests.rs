//! Requests that are none of the calls, and gRPC beside JSON.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http::{Method, Version};
use latent_executor::fake::{FakeStep, Gate};
use latent_wire::api::Listener;
use latent_wire::listener::{Bound, ListenerConfig};
use latent_wire::proto::invocation_client::InvocationClient;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Ask, ask, edge, get, post};
use crate::support::{WATCHDOG, call, from, node};

#[tokio::test]
async fn grpc_is_served_beside_json() {
    let node = node(1);
    let mut client = InvocationClient::new(edge(&node, Listener::Invoke));
    let answer = client.invoke(from("invoke", call("a-1"))).await.expect("an answer");
    assert_eq!(answer.into_inner().activation_id, "a-1");
}

#[tokio::test]
async fn an_edge_is_served_by_a_listener() {
    let node = node(1);
    let bound = Bound::new(ListenerConfig::new(([127, 0, 0, 1], 0).into())).expect("a free port");
    let address = bound.address();
    let _listener = bound.serve(None, edge(&node, Listener::Invoke));
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = "POST /v1/invoke/s/f HTTP/1.1\r\nhost: here\r\nauthorization: Bearer invoke\r\nconnection: close\r\n";
    let request = format!("{head}content-length: 6\r\n\r\n[\"hi\"]");
    stream.write_all(request.as_bytes()).await.expect("writable");
    let mut answer = String::new();
    tokio::time::timeout(WATCHDOG, stream.read_to_string(&mut answer)).await.expect("soon").expect("text");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n[\"hi\"]"), "{answer}");
}

#[tokio::test]
async fn a_grpc_client_is_served_by_a_listener() {
    let node = node(1);
    let bound = Bound::new(ListenerConfig::new(([127, 0, 0, 1], 0).into())).expect("a free port");
    let target = format!("http://{}", bound.address());
    let _listener = bound.serve(None, edge(&node, Listener::Invoke));
    let channel = tonic::transport::Endpoint::from_shared(target).expect("an address").connect().await;
    let mut client = InvocationClient::new(channel.expect("it listens"));
    for id in ["a-1", "a-2"] {
        let answer = client.invoke(from("invoke", call(id))).await.expect("an answer");
        assert_eq!(
            answer.metadata().get("latent-activation-id").map(tonic::metadata::MetadataValue::as_bytes),
            Some(id.as_bytes())
        );
    }
}

#[tokio::test]
async fn a_peer_that_leaves_stops_its_activation() {
    let node = node(1);
    let bound = Bound::new(ListenerConfig::new(([127, 0, 0, 1], 0).into())).expect("a free port");
    let address = bound.address();
    let _listener = bound.serve(None, edge(&node, Listener::Invoke));
    let (entered, leave) = (Gate::closed(), Gate::closed());
    leave.open();
    let step = FakeStep::Gated { entered: entered.clone(), leave, then: Box::new(FakeStep::Spin) };
    node.backend.set_step("f", step);
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head =
        "POST /v1/invoke/s/f HTTP/1.1\r\nhost: here\r\nauthorization: Bearer invoke\r\nlatent-activation-id: a-1\r\n";
    let request = format!("{head}content-length: 2\r\n\r\n[]");
    stream.write_all(request.as_bytes()).await.expect("writable");
    entered.passed().await;
    drop(stream);
    let edge = edge(&node, Listener::Invoke);
    let ended = async {
        loop {
            let status = get("/v1/activations/a-1").of(&edge).await.json();
            if !status["terminal"].is_null() {
                return status["terminal"]["error"]["details"].to_string();
            }
            tokio::task::yield_now().await;
        }
    };
    let details = tokio::time::timeout(WATCHDOG, ended).await.expect("the record ends");
    assert!(details.contains("activation.transport-stopped"), "{details}");
    node.settles().await;
}

#[tokio::test]
async fn a_host_is_there_exactly_once() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    assert_eq!(get("/healthz").with("host", "there").raw(&edge).await.message(400), "host: has to be there once");
    let mut hostless = get("/healthz").request();
    hostless.headers_mut().remove("host");
    *hostless.version_mut() = Version::HTTP_2;
    let answer = tower::ServiceExt::oneshot(edge.clone(), hostless).await;
    assert_eq!(answer.map(|answer| answer.status().as_u16()), Ok(200));
    let builder = http::Request::builder().uri("/healthz");
    assert_eq!(Ask(builder, axum::body::Body::empty()).raw(&edge).await.status, 400);
}

#[tokio::test]
async fn what_there_is_not_is_answered_with_what_there_is() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    // Before anybody is asked who they are, because it says nothing about the node.
    let missing = get("/v1/nothing").raw(&edge).await;
    assert_eq!(missing.refused(404), ("not-found".into(), "http.path".into()));
    let method = ask(Method::DELETE, "/v1/activations/a").raw(&edge).await;
    assert_eq!(method.refused(405).1, "http.method");
    assert_eq!(method.header("allow"), "GET");
    let parameter = get("/v1/activations?limit=3").raw(&edge).await;
    assert_eq!(parameter.refused(400).1, "http.query");
    let elsewhere = post("/v1/deployments", "{}").raw(&edge).await;
    assert_eq!(elsewhere.refused(404).1, "api.other-listener");
    let path = get("/v1/activations/%ff").raw(&edge).await;
    assert_eq!(path.refused(400).1, "http.path");
    let token = get("/v1/activations?page_token=x").of(&edge).await;
    assert_eq!(token.refused(400), ("invalid-argument".into(), "api.field".into()));
}

/// A body of so many parts of 64 KiB, and how many of them were read.
fn parts(count: usize) -> (Body, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = read.clone();
    let parts = stream::repeat(Bytes::from(vec![b'x'; 64 << 10])).take(count).map(move |part| {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(part)
    });
    (Body::from_stream(parts), read)
}

#[tokio::test]
async fn an_answer_that_needs_no_body_comes_after_a_small_one() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    for (target, status) in [("/v1/nothing", 404), ("/v1/invoke/s/f", 401)] {
        let (body, read) = parts(4);
        assert_eq!(post(target, body).raw(&edge).await.status, status);
        assert_eq!(read.load(Ordering::Relaxed), 4, "{target}");
    }
    let (body, read) = parts(4);
    assert_eq!(get("/healthz").with_body(body).raw(&edge).await.status, 200);
    assert_eq!(read.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn an_answer_does_not_wait_for_a_long_body_nor_for_one_that_is_not_sent_yet() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let (body, read) = parts(1000);
    assert_eq!(post("/v1/invoke/s/f", body).raw(&edge).await.status, 401);
    assert!(read.load(Ordering::Relaxed) <= 17, "{read:?}");
    let (body, read) = parts(4);
    let announced = post("/v1/invoke/s/f", body).with("expect", "100-continue");
    assert_eq!(announced.raw(&edge).await.status, 401);
    assert_eq!(read.load(Ordering::Relaxed), 0);
    let never = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
    assert_eq!(post("/v1/invoke/s/f", never).raw(&edge).await.status, 401);
}

#[tokio::test]
async fn what_means_grpc_and_is_none_is_refused_as_what_it_is() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let path = "/latent.v1.Invocation/Invoke";
    for by_get in [get(path), get(path).with("content-type", "application/grpc"), ask(Method::PUT, path)] {
        let refused = by_get.of(&edge).await;
        assert_eq!(refused.refused(405), ("invalid-argument".into(), "http.method".into()));
        assert_eq!(refused.header("allow"), "POST");
    }
    for media_type in
        ["application/json", "application/grpc-web", "application/grpc+json", "application/grpc-web+proto"]
    {
        let refused = post(path, "{}").with("content-type", media_type).of(&edge).await;
        assert_eq!(refused.refused(415), ("invalid-argument".into(), "http.media-type".into()), "{media_type}");
    }
    for media_type in ["application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"] {
        let answer = post(path, "").with("content-type", media_type).of(&edge).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/grpc"), "{media_type}");
    }
}

#[tokio::test]
async fn a_body_in_an_encoding_is_refused_before_it_is_read() {
    let node = node(1);
    let [invoke, control] = [Listener::Invoke, Listener::Control].map(|side| edge(&node, side));
    for (edge, target) in [(&invoke, "/v1/invoke/s/f"), (&control, "/v1/releases"), (&control, "/v1/deployments")] {
        for encoding in ["gzip", "br", "identity, gzip"] {
            let refused = post(target, "\u{1f}").with("content-encoding", encoding).of(edge).await;
            assert_eq!(refused.refused(415), ("invalid-argument".into(), "http.media-type".into()), "{target}");
            assert!(refused.message(415).contains(encoding), "{target}");
        }
    }
    let plain = post("/v1/invoke/s/f", "[\"hi\"]").with("content-encoding", "identity").of(&invoke).await;
    assert_eq!(plain.status, 200);
}
