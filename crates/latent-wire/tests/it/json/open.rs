//! What needs no credential, and what does.

use std::sync::Arc;

use latent_scheduler::admission::{AdmissionConfig, PressureLimits, PressurePolicy, PressureSample};
use latent_wire::api::Listener;
use latent_wire::json::{Edge, EdgeConfig};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::{ask, edge, get, post};
use crate::support::node;

#[tokio::test]
async fn life_and_readiness_are_told_to_everybody() {
    let node = node(1);
    for listener in [Listener::Invoke, Listener::Control] {
        let edge = edge(&node, listener);
        assert_eq!(get("/healthz").raw(&edge).await.text(), "alive\n");
        assert_eq!(get("/readyz").raw(&edge).await.text(), "ready\n");
        assert_eq!(ask(http::Method::HEAD, "/healthz").raw(&edge).await.status, 200);
    }
}

#[tokio::test]
async fn metrics_are_for_operators_unless_they_are_open() {
    let node = node(1);
    let closed = edge(&node, Listener::Control);
    assert_eq!(get("/metrics").raw(&closed).await.refused(401).0, "unauthenticated");
    assert_eq!(get("/metrics").by("deploy").raw(&closed).await.refused(403).1, "access.role-missing");
    let read = get("/metrics").by("operate").raw(&closed).await;
    assert_eq!((read.status.as_u16(), read.text()), (200, "# EOF\n"));
    let routes = node.routes(Listener::Control);
    let open = Edge::new(Arc::clone(&node.api), Listener::Control, routes, EdgeConfig { open_metrics: true });
    assert_eq!(get("/metrics").raw(&open).await.status, 200);
}

#[tokio::test]
async fn every_bad_credential_is_answered_alike_and_never_repeated() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let long = format!("Bearer {}", "secret".repeat(2000));
    let bad: [&[u8]; 7] = [
        b"Bearer al",
        b"Bearer allsecret",
        b"Basic secret",
        b"Bearer ",
        b"Bearer secr\xc3\xa9t",
        b"secret",
        long.as_bytes(),
    ];
    for value in bad {
        let answer = post("/v1/invoke/s/f", "[]").with("authorization", value).raw(&edge).await;
        assert_eq!(answer.refused(401).0, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    let two = post("/v1/invoke/s/f", "[]").by("all").by("all").raw(&edge).await;
    assert_eq!(two.refused(401).0, "unauthenticated");
}

#[tokio::test]
async fn what_is_anothers_is_not_there() {
    let node = node(1);
    let edge = edge(&node, Listener::Invoke);
    let theirs = post("/v1/invoke/s/f", "[]").with("latent-activation-id", "theirs").by("foreign").raw(&edge).await;
    assert_eq!(theirs.status, 200);
    let (foreign, missing) =
        (get("/v1/activations/theirs").of(&edge).await, get("/v1/activations/nobodys").of(&edge).await);
    assert_eq!(foreign.refused(404), missing.refused(404));
    assert_eq!(foreign.text().replace("theirs", "nobodys"), missing.text());
}

#[tokio::test]
async fn a_node_that_is_pressed_is_not_ready_and_says_by_what() {
    let node = node(1);
    let config = node.manager.parts().admission.config();
    let pressed = AdmissionConfig { pressure: PressurePolicy::Linux(PressureLimits::default()), ..(*config).clone() };
    node.manager.parts().admission.replace(pressed).unwrap();
    let edge = edge(&node, Listener::Invoke);
    let mut health = HealthClient::new(node.routes(Listener::Invoke));
    let taken_at = tokio::time::Instant::now().into_std();
    let sample = |memory_full| Some(PressureSample { taken_at, cpu_some: 0, memory_full, io_full: 0 });
    for (sample, status, said, serving) in [
        (None, 503, "overloaded: pressure-sample\n", ServingStatus::NotServing),
        (sample(9_999), 503, "overloaded: memory-pressure\n", ServingStatus::NotServing),
        (sample(0), 200, "ready\n", ServingStatus::Serving),
    ] {
        node.manager.observe_pressure(sample);
        let answer = get("/readyz").raw(&edge).await;
        assert_eq!((answer.status.as_u16(), answer.text()), (status, said));
        let checked = health.check(HealthCheckRequest::default()).await.unwrap();
        assert_eq!(checked.into_inner().status(), serving);
    }
}
