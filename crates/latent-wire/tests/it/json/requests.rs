//! Requests that are none of the calls, and gRPC beside JSON.

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
