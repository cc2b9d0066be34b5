//! Apply, look at, and delete deployments.

use latent_core::Sha256Digest;
use latent_wire::api::Listener;
use latent_wire::proto;
use latent_wire::proto::deployments_client::DeploymentsClient;
use tonic::service::Routes;
use tonic::{Code, Response, Status};

use crate::support::{Node, field, from, kind, node, refusal};

fn client(node: &Node) -> DeploymentsClient<Routes> {
    DeploymentsClient::new(node.routes(Listener::Control))
}

/// A manifest of the release that every tenant has.
fn manifest(deployment: &str, more: &str) -> String {
    let release = Sha256Digest::of(b"first");
    format!(r#"{{"service":"s","deployment":"{deployment}","release":"{release}"{more}}}"#)
}

async fn apply(node: &Node, request: proto::ApplyRequest) -> Result<proto::ApplyResponse, Status> {
    client(node).apply(from("deploy", request)).await.map(Response::into_inner)
}

fn request(manifest: String) -> proto::ApplyRequest {
    proto::ApplyRequest { manifest, ..Default::default() }
}

fn get(deployment: &str) -> proto::GetDeploymentRequest {
    proto::GetDeploymentRequest { service: "s".to_owned(), deployment: deployment.to_owned() }
}

#[tokio::test]
async fn a_manifest_without_a_tenant_is_the_credentials() {
    let node = node(1);
    let applied = apply(&node, request(manifest("e", r#","weight":7"#))).await.unwrap();
    assert_eq!(applied.replaced, None);
    let deployment = applied.deployment.unwrap();
    assert_eq!((deployment.deployment.as_str(), deployment.weight), ("e", 7));
    assert!(deployment.manifest.contains(r#""tenant":"t""#), "{}", deployment.manifest);
    let read = client(&node).get_deployment(from("deploy", get("e"))).await.unwrap().into_inner();
    assert_eq!(read, deployment);
    assert_eq!(refusal(client(&node).get_deployment(from("foreign", get("e"))).await).0, Code::NotFound);
}

#[tokio::test]
async fn a_dry_run_says_what_would_change_and_changes_nothing() {
    let node = node(1);
    let before = client(&node).get_deployment(from("deploy", get("d"))).await.unwrap().into_inner();
    let wanted = manifest("d", r#","environment":{"A":"b"}"#);
    let dry = proto::ApplyRequest { dry_run: true, ..request(wanted.clone()) };
    let said = apply(&node, dry).await.unwrap();
    assert_eq!(said.replaced, Some(before.clone()));
    assert_eq!(client(&node).get_deployment(from("deploy", get("d"))).await.unwrap().into_inner(), before);
    let done = apply(&node, request(wanted)).await.unwrap();
    assert_eq!(done, said);
    let conflicting = proto::ApplyRequest { dry_run: true, expected_generation: Some(1), ..request(manifest("d", "")) };
    assert_eq!(refusal(apply(&node, conflicting).await).0, Code::FailedPrecondition);
}

#[tokio::test]
async fn a_stale_generation_is_a_conflict_that_says_which_is_there() {
    let node = node(1);
    let absent = proto::ApplyRequest { expected_generation: Some(0), ..request(manifest("d", "")) };
    let (code, error) = refusal(apply(&node, absent).await);
    assert_eq!((code, kind(&error)), (Code::FailedPrecondition, "deployment-generation-conflict"));
    let found = field(&error, "found").parse().unwrap();
    let exact = proto::ApplyRequest { expected_generation: Some(found), ..request(manifest("d", "")) };
    apply(&node, exact).await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_a_manifest_is_named_by_its_path() {
    let node = node(1);
    let cases = [
        ("{", "$"),
        ("[]", "$"),
        (&*manifest("default", ""), "$.deployment"),
        (&*manifest("e", r#","weigth":1"#), "$"),
        (&*manifest("e", r#","weight":0"#), "$.weight"),
        (&*manifest("e", r#","ceilings":{"fuel":-1}"#), "$.ceilings.fuel"),
        (&*manifest("e", r#","tenant":"a b""#), "$.tenant"),
    ];
    for (manifest, path) in cases {
        let (code, error) = refusal(apply(&node, request(manifest.to_owned())).await);
        assert_eq!((code, kind(&error)), (Code::InvalidArgument, "manifest.invalid"), "{error:?}");
        assert!(field(&error, "path").starts_with(path), "{manifest}: {error:?}");
    }
}

#[tokio::test]
async fn another_tenants_manifest_and_a_release_that_is_not_there_are_not_found() {
    let node = node(1);
    for tenant in ["u", "nobody"] {
        let (code, error) = refusal(apply(&node, request(manifest("e", &format!(r#","tenant":"{tenant}""#)))).await);
        assert_eq!((code, kind(&error)), (Code::NotFound, "api.foreign-tenant"));
        assert!(!error.message.contains(tenant) || tenant == "u", "{}", error.message);
    }
    let absent = Sha256Digest::of(b"absent");
    let absent = format!(r#"{{"service":"s","deployment":"e","release":"{absent}"}}"#);
    for dry_run in [false, true] {
        let request = proto::ApplyRequest { dry_run, ..request(absent.clone()) };
        let (code, error) = refusal(apply(&node, request).await);
        assert_eq!((code, kind(&error)), (Code::NotFound, "storage.unknown-release"));
    }
}

#[tokio::test]
async fn deployments_are_listed_by_pages_of_one_service_or_of_all() {
    let node = node(1);
    let release = Sha256Digest::of(b"first");
    for (service, deployment) in [("s", "e"), ("r", "x"), ("r", "y")] {
        node.store.deploy("t", service, deployment, release, 1);
    }
    let list = |service: &str, page_token: String| {
        let request = proto::ListDeploymentsRequest { service: service.to_owned(), page_size: 1, page_token };
        let mut client = client(&node);
        async move { client.list_deployments(from("deploy", request)).await.map(Response::into_inner) }
    };
    for (service, expected) in [("", vec!["r/x", "r/y", "s/d", "s/e"]), ("s", vec!["s/d", "s/e"]), ("none", vec![])] {
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = list(service, token).await.unwrap();
            seen.extend(page.deployments.into_iter().map(|one| format!("{}/{}", one.service, one.deployment)));
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(seen, expected);
    }
    let of_all = list("", String::new()).await.unwrap().next_page_token;
    assert_eq!(field(&refusal(list("s", of_all).await).1, "field"), "page_token");
}

#[tokio::test]
async fn a_deleted_deployment_is_gone_and_a_stale_delete_is_refused() {
    let node = node(1);
    let delete = |expected_generation| proto::DeleteDeploymentRequest {
        service: "s".to_owned(),
        deployment: "d".to_owned(),
        expected_generation,
    };
    let (code, _) = refusal(client(&node).delete_deployment(from("deploy", delete(Some(99)))).await);
    assert_eq!(code, Code::FailedPrecondition);
    let deleted = client(&node).delete_deployment(from("deploy", delete(None))).await.unwrap().into_inner();
    assert_eq!(deleted.deployment.unwrap().deployment, "d");
    let (code, error) = refusal(client(&node).delete_deployment(from("deploy", delete(None))).await);
    assert_eq!((code, kind(&error)), (Code::NotFound, "catalog.unknown-deployment"));
    client(&node).get_deployment(from("foreign", get("d"))).await.unwrap();
}
