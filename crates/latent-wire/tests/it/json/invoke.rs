//! A payload in, a result out.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use latent_core::{ExecutionOutcome, Payload};
use latent_executor::fake::FakeStep;
use latent_wire::api::Listener;

use super::{edge, get, post};
use crate::support::node;

#[tokio::test]
async fn curl_is_enough() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let step = FakeStep::Use { fuel: 7, memory_bytes: 65_536, log_bytes: 3, then: Box::new(FakeStep::Echo) };
    node.backend.set_step("f", step);
    for path in ["/v1/invoke/s/f", "/v1/invoke/s/api/f", "/v1/invoke/s/test:wire/api@1.0.0/f"] {
        let answer = post(path, "[\"hi\"]").with("content-type", "application/json; charset=utf-8").of(&edge).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.text(), "[\"hi\"]");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("latent-outcome"), "result");
        assert_eq!(answer.header("latent-fuel"), "7");
        assert_eq!(answer.header("latent-revision").len(), 64);
        assert!(!answer.header("latent-activation-id").is_empty());
    }
}

#[tokio::test]
async fn a_declared_error_is_an_answer_that_says_so() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let payload = Payload::json("{\"err\":1}");
    node.backend.set_step("f", FakeStep::End(ExecutionOutcome::DeclaredError(payload)));
    let answer = post("/v1/invoke/s/f", "[]").of(&edge).await;
    assert_eq!((answer.status.as_u16(), answer.header("latent-outcome")), (200, "declared-error"));
    assert_eq!(answer.text(), "{\"err\":1}");
}

#[tokio::test]
async fn a_failure_is_an_error_about_its_activation() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    node.backend.set_step("f", FakeStep::End(ExecutionOutcome::Trapped { category: "unreachable" }));
    let answer = post("/v1/invoke/s/f", "[]").with("latent-activation-id", "a%2Fé").of(&edge).await;
    assert_eq!(answer.refused(502).0, "guest-trap");
    assert_eq!(answer.json()["activation_id"], "a/é");
    assert_eq!(answer.header("latent-activation-id"), "a/%C3%A9");
    let status = get("/v1/activations/a%2F%C3%A9").of(&edge).await;
    assert_eq!(status.json()["terminal"]["state"], "guest-trap");
}

#[tokio::test]
async fn headers_say_what_the_message_would() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let call = post("/v1/invoke/s/f?route=d&timeout=20s", "[]")
        .with("latent-activation-id", "a-1")
        .with("latent-root-activation-id", "root")
        .with("latent-parent-activation-id", "parent")
        .with("latent-deadline", "2999-01-01T00:00:00Z")
        .with("latent-fuel", "1000")
        .with("latent-priority", "0")
        .with("latent-meta-guest.lang", "de")
        .with("idempotency-key", "k");
    // A year ahead is the most.
    let answer = call.of(&edge).await;
    assert_eq!(answer.refused(400).1, "activation.request-invalid");
    let call = post("/v1/invoke/s/f?route=d", "[]")
        .with("latent-activation-id", "a-2")
        .with("latent-root-activation-id", "root")
        .with("latent-parent-activation-id", "parent")
        .with("latent-fuel", "1000");
    assert_eq!(call.of(&edge).await.status, 200);
    let status = get("/v1/activations/a-2").of(&edge).await.json();
    assert_eq!(status["root_activation_id"], "root");
    assert_eq!(status["parent_activation_id"], "parent");
    assert_eq!(status["revision"]["route"], "d");
}

#[tokio::test]
async fn a_timeout_ends_the_call() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    node.backend.set_step("f", FakeStep::Spin);
    for target in ["/v1/invoke/s/f?timeout=30ms", "/v1/invoke/s/f"] {
        let ask = post(target, "[]");
        let ask = if target.contains('?') { ask } else { ask.with("latent-timeout", "30ms") };
        assert_eq!(ask.of(&edge).await.refused(504).0, "deadline-exceeded");
    }
}

#[tokio::test]
async fn what_would_be_ignored_is_refused() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    for (name, value, says) in [
        (
            "latent-activaton-id",
            "a",
            "latent-activaton-id: is no header of an invocation; there are latent-meta-*, latent-activation-id",
        ),
        ("latent-timeout", "5", "latent-timeout: has to be a whole number with its unit"),
        ("latent-deadline", "tomorrow", "latent-deadline: has to be a time such as"),
        ("latent-fuel", "-1", "latent-fuel: has to be a whole number"),
        ("latent-priority", "99999999999", "latent-priority: has to be a whole number"),
        ("content-type", "application/json; charset=latin1", "content-type: may have no parameter"),
        ("latent-activation-id", "%00", "latent-activation-id: must not contain NUL"),
    ] {
        let message = post("/v1/invoke/s/f", "[]").with(name, value).of(&edge).await.message(400);
        assert!(message.starts_with(says), "{message}");
    }
    let twice = post("/v1/invoke/s/f?timeout=1s", "[]").with("latent-timeout", "1s").of(&edge).await;
    assert_eq!(twice.message(400), "timeout: is in the query and in a header; give it once");
    let twice = post("/v1/invoke/s/f", "[]").with("latent-fuel", "1").with("latent-fuel", "1").of(&edge).await;
    assert_eq!(twice.message(400), "latent-fuel: is there more than once; send it once");
    let form = post("/v1/invoke/s/f", "[]").with("content-type", "application/x-www-form-urlencoded").of(&edge).await;
    assert!(form.message(400).contains("application/json"), "{}", form.text());
    assert!(get("/v1/activations").of(&edge).await.json()["activations"].as_array().is_none_or(Vec::is_empty));
}

#[tokio::test]
async fn a_payload_is_bounded_before_it_is_read_and_while() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let max = node.api.payload_bytes_max();
    // Nothing of this body could ever be read.
    let endless = || Body::from_stream(stream::pending::<Result<Bytes, std::convert::Infallible>>());
    let announced = post("/v1/invoke/s/f", endless()).with("content-length", (max + 1).to_string());
    assert_eq!(announced.of(&edge).await.refused(413), ("invalid-argument".into(), "http.body".into()));
    let piece = Bytes::from(vec![b' '; 1 << 20]);
    let pieces = stream::repeat_with(move || Ok::<_, std::convert::Infallible>(piece.clone()));
    let unannounced = post("/v1/invoke/s/f", Body::from_stream(pieces));
    assert_eq!(unannounced.of(&edge).await.refused(413).1, "http.body");
}

#[tokio::test]
async fn overload_and_drain_say_when_to_come_again() {
    let node = node(1);
    let (invoke, control) = (edge(&node, Listener::Invoke), edge(&node, Listener::Control));
    assert_eq!(get("/readyz").raw(&invoke).await.text(), "ready\n");
    assert_eq!(post("/v1/node/drain", "").of(&control).await.status, 200);
    let answer = post("/v1/invoke/s/f", "[]").of(&invoke).await;
    assert_eq!(answer.refused(503), ("unavailable".into(), "activation.shutting-down".into()));
    assert_eq!(answer.header("retry-after"), "1");
    let readiness = get("/readyz").raw(&invoke).await;
    assert_eq!((readiness.status.as_u16(), readiness.text()), (503, "draining\n"));
    assert_eq!(get("/healthz").raw(&control).await.status, 200);
    assert_eq!(post("/v1/node/resume", "").of(&control).await.status, 200);
    assert_eq!(post("/v1/invoke/s/f", "[]").of(&invoke).await.status, 200);
}
