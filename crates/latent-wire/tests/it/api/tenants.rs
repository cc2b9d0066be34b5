//! Tenants and credentials.

use latent_wire::api::Listener;
use latent_wire::proto;
use latent_wire::proto::tenants_client::TenantsClient;
use tonic::Code;
use tonic::service::Routes;

use crate::support::{Node, call, field, from, node, refusal};

fn client(node: &Node) -> TenantsClient<Routes> {
    TenantsClient::new(node.routes(Listener::Control))
}

#[tokio::test]
async fn a_tenant_is_made_changed_shown_and_removed() {
    let node = node(1);
    let quota = proto::Quota { live: Some(3), priority: Some(9), ..Default::default() };
    let request = proto::ApplyTenantRequest { name: "v".to_owned(), quota: Some(quota) };
    let made = client(&node).apply_tenant(from("operate", request)).await.unwrap().into_inner();
    assert_eq!((made.name.as_str(), made.quota), ("v", Some(quota)));
    let get = |name: &str| from("operate", proto::GetTenantRequest { name: name.to_owned() });
    let shown = client(&node).get_tenant(get("t")).await.unwrap().into_inner();
    let held = shown.r#use.unwrap();
    assert_eq!((held.live, held.releases, held.disk_bytes), (0, 1, 5));
    let list = |page_token| from("operate", proto::ListTenantsRequest { page_size: 2, page_token });
    let first = client(&node).list_tenants(list(String::new())).await.unwrap().into_inner();
    let second = client(&node).list_tenants(list(first.next_page_token)).await.unwrap().into_inner();
    let names = first.tenants.iter().chain(&second.tenants).map(|tenant| tenant.name.as_str()).collect::<Vec<_>>();
    assert_eq!((names, second.next_page_token.as_str()), (vec!["t", "u", "v"], ""));
    client(&node).delete_tenant(from("operate", proto::DeleteTenantRequest { name: "v".to_owned() })).await.unwrap();
    assert_eq!(refusal(client(&node).get_tenant(get("v")).await).0, Code::NotFound);
}

#[tokio::test]
async fn a_quota_or_name_that_cannot_be_is_refused() {
    let node = node(1);
    let priority = proto::Quota { priority: Some(256), ..Default::default() };
    let cases = [
        ("quota.priority", proto::ApplyTenantRequest { name: "v".to_owned(), quota: Some(priority) }),
        ("name", proto::ApplyTenantRequest { name: "a b".to_owned(), quota: None }),
    ];
    for (name, request) in cases {
        let (code, error) = refusal(client(&node).apply_tenant(from("operate", request)).await);
        assert_eq!((code, field(&error, "field")), (Code::InvalidArgument, name));
    }
}

#[tokio::test]
async fn a_credential_works_from_its_making_to_its_revocation() {
    let node = node(1);
    let request = proto::CreateCredentialRequest {
        tenant: "t".to_owned(),
        subject: "robot".to_owned(),
        roles: vec!["invoke".to_owned()],
        lifetime: Some(pbjson_types::Duration { seconds: 60, nanos: 0 }),
        certificate_sha256: String::new(),
    };
    let made = client(&node).create_credential(from("operate", request)).await.unwrap().into_inner();
    let credential = made.credential.unwrap();
    assert_eq!((credential.tenant.as_str(), credential.roles), ("t", vec!["invoke".to_owned()]));
    let lifetime = credential.expires_at.unwrap().seconds - credential.created_at.unwrap().seconds;
    assert!((59..=61).contains(&lifetime), "{lifetime}");
    node.invocation().invoke(from(&made.token, call(""))).await.unwrap();
    let list = proto::ListCredentialsRequest { tenant: "t".to_owned(), ..Default::default() };
    let listed = client(&node).list_credentials(from("operate", list)).await.unwrap().into_inner();
    assert_eq!(listed.credentials.len(), 5);
    let revoke = || from("operate", proto::RevokeCredentialRequest { id: credential.id.clone() });
    client(&node).revoke_credential(revoke()).await.unwrap();
    assert_eq!(refusal(node.invocation().invoke(from(&made.token, call(""))).await).0, Code::Unauthenticated);
    assert_eq!(refusal(client(&node).revoke_credential(revoke()).await).0, Code::NotFound);
}

#[tokio::test]
async fn a_credential_of_no_role_an_unknown_one_or_nobody_is_refused() {
    let node = node(1);
    let request = |roles: &[&str], tenant: &str, certificate: &str| proto::CreateCredentialRequest {
        tenant: tenant.to_owned(),
        subject: "robot".to_owned(),
        roles: roles.iter().map(ToString::to_string).collect(),
        lifetime: None,
        certificate_sha256: certificate.to_owned(),
    };
    let cases = [
        (Code::InvalidArgument, "roles", request(&[], "t", "")),
        (Code::InvalidArgument, "roles", request(&["invoke", "root"], "t", "")),
        (Code::InvalidArgument, "tenant", request(&["invoke"], "", "")),
        (Code::InvalidArgument, "certificate_sha256", request(&["invoke"], "t", "abc")),
        (Code::NotFound, "", request(&["invoke"], "nobody", "")),
    ];
    for (code, name, request) in cases {
        let (told, error) = refusal(client(&node).create_credential(from("operate", request)).await);
        assert_eq!((told, field(&error, "field")), (code, name));
    }
    let revoke = proto::RevokeCredentialRequest { id: String::new() };
    let (_, error) = refusal(client(&node).revoke_credential(from("operate", revoke)).await);
    assert_eq!(field(&error, "field"), "id");
}
