//! The calls that have one request and one answer, and which listener each goes to.
//!
//! Invariant: only `Invoke` goes to the invoke listener; what looks, cancels or manages goes to the control listener,
//! whose capacity no invocation uses up.

use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

use super::{ANSWER_BYTES_MAX, Bearer, CallError, Client};
use crate::proto;
use crate::proto::deployments_client::DeploymentsClient;
use crate::proto::invocation_client::InvocationClient;
use crate::proto::logs_client::LogsClient;
use crate::proto::node_client::NodeClient;
use crate::proto::releases_client::ReleasesClient;
use crate::proto::routes_client::RoutesClient;
use crate::proto::tenants_client::TenantsClient;

pub(super) type Wire = InterceptedService<Channel, Bearer>;

/// One accessor a service: its generated client, on the listener that has it.
macro_rules! services {
    ($($name:ident: $client:ident on $listener:ident;)*) => {
        impl Client {
            $(pub(super) fn $name(&self) -> $client<Wire> {
                $client::with_interceptor(self.$listener.clone(), self.bearer.clone())
                    .max_decoding_message_size(ANSWER_BYTES_MAX)
                    .max_encoding_message_size(ANSWER_BYTES_MAX)
            })*
        }
    };
}

services! {
    invoking: InvocationClient on invoke;
    activations: InvocationClient on control;
    releases: ReleasesClient on control;
    deployments: DeploymentsClient on control;
    routes: RoutesClient on control;
    logs: LogsClient on control;
    tenants: TenantsClient on control;
    node: NodeClient on control;
}

/// One method a call, named as in the proto, which documents its messages.
macro_rules! calls {
    ($($(#[$about:meta])* $name:ident by $service:ident: $request:ident -> $response:ident;)*) => {
        impl Client {
            $(
                $(#[$about])*
                ///
                /// # Errors
                /// [`CallError`].
                pub async fn $name(&self, request: proto::$request) -> Result<proto::$response, CallError> {
                    match self.$service().$name(request).await {
                        Ok(answer) => Ok(answer.into_inner()),
                        Err(status) => Err(CallError::of(&status)),
                    }
                }
            )*
        }
    };
}

calls! {
    /// Runs one function to its end. Dropping the future leaves the activation to the node, which stops it.
    invoke by invoking: InvokeRequest -> InvokeResponse;
    /// Asks an activation to stop.
    cancel by activations: CancelRequest -> CancelResponse;
    /// How an activation stands.
    get_activation by activations: GetActivationRequest -> Activation;
    /// A page of the tenant's activations.
    list_activations by activations: ListActivationsRequest -> ListActivationsResponse;
    /// One release.
    get_release by releases: GetReleaseRequest -> Release;
    /// A page of releases.
    list_releases by releases: ListReleasesRequest -> ListReleasesResponse;
    /// Removes a release that no deployment refers to.
    delete_release by releases: DeleteReleaseRequest -> DeleteReleaseResponse;
    /// Makes or replaces a deployment.
    apply by deployments: ApplyRequest -> ApplyResponse;
    /// One deployment.
    get_deployment by deployments: GetDeploymentRequest -> Deployment;
    /// A page of deployments.
    list_deployments by deployments: ListDeploymentsRequest -> ListDeploymentsResponse;
    /// Removes a deployment.
    delete_deployment by deployments: DeleteDeploymentRequest -> DeleteDeploymentResponse;
    /// What a route chooses among.
    get_route by routes: GetRouteRequest -> Route;
    /// Which revision an id would get.
    resolve by routes: ResolveRequest -> ResolveResponse;
    /// The log records of one activation.
    get_logs by logs: GetLogsRequest -> GetLogsResponse;
    /// Makes or changes a tenant.
    apply_tenant by tenants: ApplyTenantRequest -> Tenant;
    /// One tenant.
    get_tenant by tenants: GetTenantRequest -> Tenant;
    /// A page of tenants.
    list_tenants by tenants: ListTenantsRequest -> ListTenantsResponse;
    /// Removes a tenant that has nothing.
    delete_tenant by tenants: DeleteTenantRequest -> DeleteTenantResponse;
    /// Makes a credential.
    create_credential by tenants: CreateCredentialRequest -> CreateCredentialResponse;
    /// A page of credentials.
    list_credentials by tenants: ListCredentialsRequest -> ListCredentialsResponse;
    /// Makes a credential worthless.
    revoke_credential by tenants: RevokeCredentialRequest -> RevokeCredentialResponse;
    /// What the node holds.
    get_inventory by node: GetInventoryRequest -> Inventory;
    /// Takes no activation any more, and waits for those under way.
    drain by node: DrainRequest -> DrainResponse;
    /// Takes activations again.
    resume by node: ResumeRequest -> ResumeResponse;
    /// Copies what is durable, on the node's machine.
    backup by node: BackupRequest -> BackupResponse;
    /// Sums the usage log.
    get_usage by node: GetUsageRequest -> GetUsageResponse;
}
