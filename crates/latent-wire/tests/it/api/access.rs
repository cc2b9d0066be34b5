//! Who may call what, over which headers.

use futures_util::stream;
use latent_wire::api::Listener;
use latent_wire::proto::deployments_client::DeploymentsClient;
use latent_wire::proto::invocation_client::InvocationClient;
use latent_wire::proto::logs_client::LogsClient;
use latent_wire::proto::node_client::NodeClient;
use latent_wire::proto::releases_client::ReleasesClient;
use latent_wire::proto::routes_client::RoutesClient;
use latent_wire::proto::tenants_client::TenantsClient;
use latent_wire::proto::{self, publish_request::Part};
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::support::{Node, call, field, from, kind, node, refusal};

/// Every call as the holder of `token`, by its name, with what became of it.
async fn every_call(node: &Node, token: &str) -> Vec<(&'static str, Result<(), Status>)> {
    let control = node.routes(Listener::Control);
    let mut invocation = InvocationClient::new(node.routes(Listener::Invoke));
    let mut releases = ReleasesClient::new(control.clone());
    let mut deployments = DeploymentsClient::new(control.clone());
    let mut routes = RoutesClient::new(control.clone());
    let mut logs = LogsClient::new(control.clone());
    let mut tenants = TenantsClient::new(control.clone());
    let mut operator = NodeClient::new(control);
    let head = proto::PublishRequest { part: Some(Part::Head(proto::PublishHead::default())) };
    let publish = from(token, stream::iter([head]));
    macro_rules! calls {
        ($($client:ident.$rpc:ident($request:ident)),* $(,)?) => {
            vec![
                ("invoke", invocation.invoke(from(token, call(""))).await.map(drop)),
                ("publish", releases.publish(publish).await.map(drop)),
                $((stringify!($rpc), $client.$rpc(from(token, proto::$request::default())).await.map(drop))),*
            ]
        };
    }
    calls!(
        invocation.cancel(CancelRequest),
        invocation.get_activation(GetActivationRequest),
        invocation.watch_activation(WatchActivationRequest),
        invocation.list_activations(ListActivationsRequest),
        releases.get_release(GetReleaseRequest),
        releases.list_releases(ListReleasesRequest),
        releases.delete_release(DeleteReleaseRequest),
        deployments.apply(ApplyRequest),
        deployments.get_deployment(GetDeploymentRequest),
        deployments.list_deployments(ListDeploymentsRequest),
        deployments.delete_deployment(DeleteDeploymentRequest),
        routes.get_route(GetRouteRequest),
        routes.resolve(ResolveRequest),
        logs.get_logs(GetLogsRequest),
        logs.follow_logs(FollowLogsRequest),
        tenants.apply_tenant(ApplyTenantRequest),
        tenants.get_tenant(GetTenantRequest),
        tenants.list_tenants(ListTenantsRequest),
        tenants.delete_tenant(DeleteTenantRequest),
        tenants.create_credential(CreateCredentialRequest),
        tenants.list_credentials(ListCredentialsRequest),
        tenants.revoke_credential(RevokeCredentialRequest),
        operator.get_inventory(GetInventoryRequest),
        operator.drain(DrainRequest),
        operator.resume(ResumeRequest),
        operator.backup(BackupRequest),
        operator.get_usage(GetUsageRequest),
    )
}

const INVOKE: [&str; 7] =
    ["invoke", "cancel", "get_activation", "watch_activation", "list_activations", "get_logs", "follow_logs"];
const DEPLOY: [&str; 10] = [
    "publish",
    "get_release",
    "list_releases",
    "delete_release",
    "apply",
    "get_deployment",
    "list_deployments",
    "delete_deployment",
    "get_route",
    "resolve",
];

#[tokio::test]
async fn each_call_needs_the_role_that_the_proto_file_names() {
    let node = node(1);
    for role in ["invoke", "deploy", "operate"] {
        for (call, answer) in every_call(&node, role).await {
            let needed = match call {
                call if INVOKE.contains(&call) => "invoke",
                call if DEPLOY.contains(&call) => "deploy",
                // One's own usage is everybody's.
                "get_usage" => role,
                _ => "operate",
            };
            let lacked = match answer {
                Err(status) if status.code() == Code::PermissionDenied => {
                    let (_, error) = refusal::<()>(Err(status));
                    assert_eq!(kind(&error), "access.role-missing");
                    Some(field(&error, "role").to_owned())
                }
                Ok(()) | Err(_) => None,
            };
            let expected = (needed != role).then(|| needed.to_owned());
            assert_eq!(lacked, expected, "{call} with role {role}");
        }
    }
}

#[tokio::test]
async fn no_call_is_answered_without_a_credential() {
    let node = node(1);
    let calls = every_call(&node, "wrong").await;
    assert_eq!(calls.len(), 29);
    for (call, answer) in calls {
        let (code, error) = refusal(answer);
        assert_eq!((code, error.code.as_str()), (Code::Unauthenticated, "unauthenticated"), "{call}");
        assert!(!format!("{error:?}").contains("wrong"), "{call} repeats the token");
    }
}

type Value = MetadataValue<tonic::metadata::Ascii>;

fn raw(bytes: &[u8]) -> Value {
    Value::try_from(bytes).unwrap()
}

#[tokio::test]
async fn an_authorization_that_is_not_one_bearer_token_is_refused_and_not_repeated() {
    let node = node(1);
    let long = format!("Bearer {}", "x".repeat(1 << 20));
    let wrong: [&[&[u8]]; 9] = [
        &[],
        &[b""],
        &[b"Bearer"],
        &[b"Bearer "],
        &[b"Basic invoke"],
        &[b"Bearer invoke extra"],
        &[b"Bearer inv\xc3\xb6ke"],
        &[b"Bearer invoke", b"Bearer invoke"],
        &[long.as_bytes()],
    ];
    for values in wrong {
        let mut request = Request::new(call(""));
        for value in values {
            request.metadata_mut().append("authorization", raw(value));
        }
        let (code, error) = refusal(node.invocation().invoke(request).await);
        assert_eq!((code, error.code.as_str()), (Code::Unauthenticated, "unauthenticated"));
        assert!(error.message.len() < 200 && !error.message.contains("xxx"), "{}", error.message);
    }
}

#[tokio::test]
async fn the_scheme_of_an_authorization_is_read_in_any_case() {
    let node = node(1);
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let mut request = Request::new(call(""));
        request.metadata_mut().insert("authorization", format!("{scheme} invoke").parse().unwrap());
        node.invocation().invoke(request).await.unwrap();
    }
}

#[tokio::test]
async fn management_on_the_invoke_listener_is_told_where_it_is() {
    let node = node(1);
    let mut client = NodeClient::new(node.routes(Listener::Invoke));
    let (code, error) = refusal(client.get_inventory(from("all", proto::GetInventoryRequest {})).await);
    assert_eq!((code, kind(&error), field(&error, "listener")), (Code::NotFound, "api.other-listener", "control"));
}

#[tokio::test]
async fn health_needs_no_credential_and_follows_the_node() {
    let node = node(1);
    let mut health = HealthClient::new(node.routes(Listener::Control));
    let asked = |service: &str| HealthCheckRequest { service: service.to_owned() };
    assert_eq!(health.check(asked("")).await.unwrap().into_inner().status(), ServingStatus::Serving);
    latent_node::operations::Operations::drain(&*node.switches, None).await;
    let named = health.check(asked("latent.v1.Invocation")).await.unwrap().into_inner();
    assert_eq!(named.status(), ServingStatus::NotServing);
    assert_eq!(health.check(asked("other")).await.unwrap_err().code(), Code::NotFound);
}

/// What reflection lists in one version of its service.
macro_rules! listed {
    ($version:ident, $node:expr) => {{
        use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
        use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
        use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;
        let mut client = ServerReflectionClient::new($node.routes(Listener::Control));
        let request = tonic_reflection::pb::$version::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        let mut answers = client.server_reflection_info(stream::iter([request])).await.unwrap().into_inner();
        match answers.message().await.unwrap().unwrap().message_response {
            Some(MessageResponse::ListServicesResponse(list)) => {
                list.service.into_iter().map(|service| service.name).collect::<Vec<_>>()
            }
            other => panic!("not a list: {other:?}"),
        }
    }};
}

#[tokio::test]
async fn reflection_lists_the_services_in_both_of_its_versions() {
    let node = node(1);
    for names in [listed!(v1, node), listed!(v1alpha, node)] {
        for name in ["latent.v1.Invocation", "latent.v1.Node", "grpc.health.v1.Health"] {
            assert!(names.iter().any(|listed| listed == name), "{names:?}");
        }
    }
}

#[tokio::test]
async fn a_compressed_message_is_refused() {
    let node = node(1);
    let mut client = node.invocation();
    let mut request = from("invoke", call(""));
    request.metadata_mut().insert("grpc-encoding", "gzip".parse().unwrap());
    assert_eq!(client.invoke(request).await.unwrap_err().code(), Code::Unimplemented);
}
