//! Releases, deployments, routes, tenants, credentials and the node.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::Method;
use latent_core::Sha256Digest;
use latent_wire::api::Listener;

use super::{ask, edge, get, post};
use crate::support::node;

#[tokio::test]
async fn a_release_is_published_listed_and_deleted() {
    let node = node(1);
    let edge = edge(&node, Listener::Control);
    let digest = Sha256Digest::of(b"second").to_string();
    let pieces = stream::iter(["sec", "ond"].map(|part| Ok::<_, std::convert::Infallible>(Bytes::from(part))));
    let target = format!("/v1/releases?expected_digest={digest}");
    let published = post(&target, Body::from_stream(pieces)).with("latent-manifest", "{}").of(&edge).await;
    assert_eq!(published.status, 201, "{}", published.text());
    assert_eq!(published.json()["release"]["digest"], digest.as_str());
    assert_eq!(post("/v1/releases?manifest=%7B%7D", "second").of(&edge).await.status, 200);
    let listed = get("/v1/releases").of(&edge).await.json();
    assert_eq!(listed["releases"].as_array().map(Vec::len), Some(2));
    let path = format!("/v1/releases/{digest}");
    assert_eq!(get(&path).of(&edge).await.json()["component_bytes"], "6");
    assert_eq!(ask(Method::DELETE, &path).of(&edge).await.status, 200);
    assert_eq!(get(&path).of(&edge).await.refused(404).0, "not-found");
    let used = format!("/v1/releases/{}", Sha256Digest::of(b"first"));
    assert_eq!(ask(Method::DELETE, &used).of(&edge).await.refused(409).0, "state-conflict");
}

#[tokio::test]
async fn a_wrong_digest_or_too_many_bytes_store_nothing() {
    let node = node(1);
    let edge = edge(&node, Listener::Control);
    let before = node.store.count();
    let other = Sha256Digest::of(b"other");
    let answer = post(&format!("/v1/releases?expected_digest={other}"), "second").of(&edge).await;
    assert!(answer.status.is_client_error() || answer.status == 500, "{}", answer.text());
    assert!(answer.text().contains(&other.to_string()), "{}", answer.text());
    let max = usize::try_from(node.api.component_bytes_max()).expect("small");
    let long = post("/v1/releases", vec![0; max + 1]).of(&edge).await;
    assert_eq!(long.status, 413, "{}", long.text());
    let announced = post("/v1/releases", "").with("content-length", (max + 1).to_string()).of(&edge).await;
    assert_eq!(announced.refused(413).1, "http.body");
    let twice = post("/v1/releases?manifest=%7B%7D", "second").with("latent-manifest", "{}").of(&edge).await;
    assert!(twice.message(400).starts_with("manifest: is in the query and in a header"));
    assert_eq!(node.store.count(), before);
}

#[tokio::test]
async fn a_deployment_is_applied_shown_and_deleted() {
    let node = node(1);
    let edge = edge(&node, Listener::Control);
    let release = Sha256Digest::of(b"first");
    let manifest = format!(r#"{{"service":"s","deployment":"e","release":"{release}","weight":7}}"#);
    let would = post("/v1/deployments?dry_run=true&expected_generation=0", manifest.clone()).of(&edge).await;
    assert_eq!(would.json()["deployment"]["weight"], 7);
    assert_eq!(get("/v1/deployments/s/e").of(&edge).await.status, 404);
    assert_eq!(post("/v1/deployments", manifest.clone()).of(&edge).await.status, 200);
    let conflict = post("/v1/deployments?expected_generation=0", manifest.clone()).of(&edge).await;
    assert_eq!(conflict.status, 409, "{}", conflict.text());
    let wrong = post("/v1/deployments?dry_run=yes", manifest).of(&edge).await;
    assert_eq!(wrong.message(400), "dry_run: has to be true or false");
    assert_eq!(get("/v1/deployments/s/e").of(&edge).await.json()["weight"], 7);
    let listed = get("/v1/deployments?service=s").of(&edge).await.json();
    assert_eq!(listed["deployments"].as_array().map(Vec::len), Some(2));
    let route = get("/v1/routes/s").of(&edge).await.json();
    assert_eq!(route["candidates"].as_array().map(Vec::len), Some(2));
    assert_eq!(get("/v1/routes/s/e").of(&edge).await.json()["candidates"][0]["deployment"], "e");
    let resolved = get("/v1/routes/s/default/resolve?contract=api&function=f&activation_id=a-1").of(&edge).await.json();
    assert!(resolved["why"].as_str().is_some_and(|why| !why.is_empty()), "{resolved}");
    assert_eq!(ask(Method::DELETE, "/v1/deployments/s/e").of(&edge).await.status, 200);
    assert_eq!(get("/v1/deployments/s/e").of(&edge).await.status, 404);
}

#[tokio::test]
async fn tenants_and_credentials_are_resources() {
    let node = node(1);
    let edge = edge(&node, Listener::Control);
    let put = |body: &'static str| ask(Method::PUT, "/v1/tenants/new").with_body(body);
    assert_eq!(put(r#"{"live":"3"}"#).of(&edge).await.json()["quota"]["live"], "3");
    let unknown = put(r#"{"lives":"3"}"#).of(&edge).await;
    assert_eq!(unknown.refused(400).1, "http.body");
    assert!(unknown.text().contains("live"), "{}", unknown.text());
    assert_eq!(get("/v1/tenants/new").of(&edge).await.json()["name"], "new");
    assert_eq!(get("/v1/tenants?page_size=2").of(&edge).await.json()["tenants"].as_array().map(Vec::len), Some(2));
    let made = post("/v1/credentials", r#"{"tenant":"new","subject":"bot","roles":["invoke"]}"#).of(&edge).await;
    assert_eq!((made.status.as_u16(), &made.json()["token"]), (201, &"new-bot".into()));
    let listed = get("/v1/credentials?tenant=new").of(&edge).await.json();
    assert_eq!(listed["credentials"][0]["id"], "new-bot");
    assert_eq!(ask(Method::DELETE, "/v1/credentials/new-bot").of(&edge).await.status, 200);
    assert_eq!(ask(Method::DELETE, "/v1/tenants/new").of(&edge).await.status, 200);
    assert_eq!(get("/v1/tenants/new").of(&edge).await.status, 404);
}

#[tokio::test]
async fn the_node_is_inspected_backed_up_and_summed() {
    let node = node(1);
    let edge = edge(&node, Listener::Control);
    assert_eq!(get("/v1/node").of(&edge).await.json()["state"], "ready");
    let backup = post("/v1/node/backup", r#"{"directory":"/backups/one"}"#).of(&edge).await.json();
    assert_eq!(backup["releases"], "2");
    let target = "/v1/usage?tenant=t&since=2026-01-01T00:00:00Z&until=2027-01-01T00:00:00.5Z";
    assert_eq!(get(target).of(&edge).await.json()["sums"][0]["activations"], "7");
    let asked = node.switches.asked.lock().expect("sound").clone().expect("asked");
    assert!(asked.since < asked.until);
    let wrong = get("/v1/usage?since=yesterday").of(&edge).await;
    assert!(wrong.message(400).starts_with("since: has to be a time such as"), "{}", wrong.text());
}
