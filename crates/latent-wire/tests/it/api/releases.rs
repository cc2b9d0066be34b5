//! Publish, look at, and delete components.

use futures_util::stream;
use latent_core::Sha256Digest;
use latent_executor::fake::Gate;
use latent_wire::api::{ApiConfig, Listener};
use latent_wire::proto::publish_request::Part;
use latent_wire::proto::releases_client::ReleasesClient;
use latent_wire::proto::{self, PublishHead};
use std::time::Duration;
use tonic::service::Routes;
use tonic::{Code, Response, Status};

use crate::support::{Node, field, from, kind, node, node_with, refusal};

fn client(node: &Node) -> ReleasesClient<Routes> {
    ReleasesClient::new(node.routes(Listener::Control))
}

fn part(part: Part) -> proto::PublishRequest {
    proto::PublishRequest { part: Some(part) }
}

fn chunk(bytes: &'static [u8]) -> proto::PublishRequest {
    part(Part::Chunk(bytes.into()))
}

async fn publish(node: &Node, parts: Vec<proto::PublishRequest>) -> Result<proto::PublishResponse, Status> {
    client(node).publish(from("deploy", stream::iter(parts))).await.map(Response::into_inner)
}

#[tokio::test]
async fn a_component_in_parts_is_stored_whole_and_once() {
    let node = node(1);
    let digest = Sha256Digest::of(b"second component").to_string();
    let head = PublishHead { expected_digest: format!("sha256:{digest}"), size: 16, ..PublishHead::default() };
    let parts = || vec![part(Part::Head(head.clone())), chunk(b"second "), chunk(b""), chunk(b"component")];
    let answer = publish(&node, parts()).await.unwrap();
    let release = answer.release.unwrap();
    assert_eq!((release.digest, release.component_bytes, answer.created), (digest.clone(), 16, true));
    assert_eq!((release.manifest.as_str(), release.declared_memory_bytes), ("{}", 65_536));
    assert_eq!(release.functions[0].signature, "func()");
    assert!(!publish(&node, parts()).await.unwrap().created);
    let request = proto::GetReleaseRequest { digest };
    assert_eq!(client(&node).get_release(from("deploy", request)).await.unwrap().into_inner().component_bytes, 16);
}

#[tokio::test]
async fn what_is_wrong_with_an_upload_is_said_and_nothing_is_stored() {
    let node = node(1);
    let before = node.store.count();
    let head = |head: PublishHead| part(Part::Head(head));
    let plain = PublishHead::default;
    let wrong = Sha256Digest::of(b"another").to_string();
    let cases = [
        (Code::InvalidArgument, "api.field", vec![]),
        (Code::InvalidArgument, "api.field", vec![chunk(b"no head")]),
        (Code::InvalidArgument, "api.field", vec![head(plain()), head(plain())]),
        (Code::InvalidArgument, "api.field", vec![proto::PublishRequest { part: None }]),
        (Code::InvalidArgument, "api.field", vec![head(PublishHead { expected_digest: "abc".to_owned(), ..plain() })]),
        (Code::InvalidArgument, "api.component-size", vec![head(PublishHead { size: 1025, ..plain() })]),
        (Code::InvalidArgument, "api.component-size", vec![head(plain()), chunk(&[0; 1000]), chunk(&[0; 25])]),
        (
            Code::InvalidArgument,
            "api.component-size",
            vec![head(PublishHead { size: 9, ..plain() }), chunk(b"ten bytes!")],
        ),
        (Code::InvalidArgument, "api.field", vec![head(PublishHead { size: 9, ..plain() }), chunk(b"eight by")]),
        (
            Code::DataLoss,
            "api.digest-mismatch",
            vec![head(PublishHead { expected_digest: wrong, ..plain() }), chunk(b"x")],
        ),
        (
            Code::InvalidArgument,
            "manifest.invalid",
            vec![head(PublishHead { manifest: "{\"a\":1}".to_owned(), ..plain() })],
        ),
    ];
    for (code, detail, parts) in cases {
        let (told, error) = refusal(publish(&node, parts).await);
        assert_eq!((told, kind(&error)), (code, detail), "{error:?}");
    }
    assert_eq!(node.store.count(), before);
}

#[tokio::test]
async fn uploads_beyond_the_places_are_told_to_come_again_before_they_send() {
    let config = ApiConfig { publishes_max: 1, place_wait: Duration::from_millis(20), ..ApiConfig::default() };
    let node = node_with(1, config);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    *node.store.held.lock().unwrap() = Some((entered.clone(), leave.clone()));
    let mut first = client(&node);
    let parts = stream::iter([part(Part::Head(PublishHead::default())), chunk(b"second")]);
    let first = tokio::spawn(async move { first.publish(from("deploy", parts)).await });
    entered.passed().await;
    let (code, error) = refusal(publish(&node, vec![part(Part::Head(PublishHead::default()))]).await);
    assert_eq!((code, kind(&error), error.retryable), (Code::ResourceExhausted, "api.busy", true));
    leave.open();
    first.await.unwrap().unwrap();
    *node.store.held.lock().unwrap() = None;
    publish(&node, vec![part(Part::Head(PublishHead::default())), chunk(b"third")]).await.unwrap();
}

#[tokio::test]
async fn releases_are_listed_by_pages_and_only_ones_own() {
    let node = node(1);
    for at in 0..4_u8 {
        node.store.put(&crate::support::tenant("t"), &[at]);
    }
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let request = proto::ListReleasesRequest { page_size: 2, page_token: token };
        let page = client(&node).list_releases(from("deploy", request)).await.unwrap().into_inner();
        seen.extend(page.releases.into_iter().map(|release| release.digest));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen.len(), 5);
    assert!(seen.is_sorted());
    let request = proto::ListReleasesRequest { page_size: 0, page_token: "x".to_owned() };
    let (_, error) = refusal(client(&node).list_releases(from("deploy", request)).await);
    assert_eq!(field(&error, "field"), "page_token");
}

#[tokio::test]
async fn a_release_in_use_stays_and_one_that_is_not_goes() {
    let node = node(1);
    let used = Sha256Digest::of(b"first").to_string();
    let unused = node.store.put(&crate::support::tenant("t"), b"unused").to_string();
    let delete = |digest: &str| from("deploy", proto::DeleteReleaseRequest { digest: digest.to_owned() });
    assert_eq!(refusal(client(&node).delete_release(delete(&used)).await).0, Code::FailedPrecondition);
    client(&node).delete_release(delete(&unused)).await.unwrap();
    let (code, gone) = refusal(client(&node).delete_release(delete(&unused)).await);
    assert_eq!((code, kind(&gone)), (Code::NotFound, "storage.unknown-release"));
    let (_, malformed) = refusal(client(&node).delete_release(delete("XYZ")).await);
    assert_eq!(field(&malformed, "field"), "digest");
}

#[tokio::test]
async fn another_tenants_release_is_not_there() {
    let node = node(1);
    let theirs = node.store.put(&crate::support::tenant("u"), b"theirs").to_string();
    let get = |token: &str| from(token, proto::GetReleaseRequest { digest: theirs.clone() });
    client(&node).get_release(get("foreign")).await.unwrap();
    let (code, error) = refusal(client(&node).get_release(get("deploy")).await);
    assert_eq!((code, kind(&error)), (Code::NotFound, "storage.unknown-release"));
}
