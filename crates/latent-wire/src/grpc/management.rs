//! The services of the control listener whose calls are a message each way, and `Logs`.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tonic::{Request, Response, Status};

use super::{answer, entry};
use crate::api::Api;
use crate::proto;

macro_rules! unary_service {
    ($service:ident is $module:ident::$trait:ident { $($rpc:ident($request:ident) -> $answer:ident;)* }) => {
        pub(super) struct $service(pub(super) Arc<Api>);

        #[tonic::async_trait]
        impl proto::$module::$trait for $service {
            $(
                async fn $rpc(
                    &self,
                    request: Request<proto::$request>,
                ) -> Result<Response<proto::$answer>, Status> {
                    let (caller, message) = entry::opened(request)?;
                    answer::plain(self.0.$rpc(&caller, message).await)
                }
            )*
        }
    };
}

unary_service!(Deployments is deployments_server::Deployments {
    apply(ApplyRequest) -> ApplyResponse;
    get_deployment(GetDeploymentRequest) -> Deployment;
    list_deployments(ListDeploymentsRequest) -> ListDeploymentsResponse;
    delete_deployment(DeleteDeploymentRequest) -> DeleteDeploymentResponse;
});

unary_service!(Routes is routes_server::Routes {
    get_route(GetRouteRequest) -> Route;
    resolve(ResolveRequest) -> ResolveResponse;
});

unary_service!(Tenants is tenants_server::Tenants {
    apply_tenant(ApplyTenantRequest) -> Tenant;
    get_tenant(GetTenantRequest) -> Tenant;
    list_tenants(ListTenantsRequest) -> ListTenantsResponse;
    delete_tenant(DeleteTenantRequest) -> DeleteTenantResponse;
    create_credential(CreateCredentialRequest) -> CreateCredentialResponse;
    list_credentials(ListCredentialsRequest) -> ListCredentialsResponse;
    revoke_credential(RevokeCredentialRequest) -> RevokeCredentialResponse;
});

unary_service!(Node is node_server::Node {
    get_inventory(GetInventoryRequest) -> Inventory;
    drain(DrainRequest) -> DrainResponse;
    resume(ResumeRequest) -> ResumeResponse;
    backup(BackupRequest) -> BackupResponse;
    get_usage(GetUsageRequest) -> GetUsageResponse;
});

pub(super) struct Logs(pub(super) Arc<Api>);

#[tonic::async_trait]
impl proto::logs_server::Logs for Logs {
    type FollowLogsStream = BoxStream<'static, Result<proto::LogRecord, Status>>;

    async fn get_logs(
        &self,
        request: Request<proto::GetLogsRequest>,
    ) -> Result<Response<proto::GetLogsResponse>, Status> {
        let (caller, message) = entry::opened(request)?;
        answer::plain(self.0.get_logs(&caller, message).await)
    }

    async fn follow_logs(
        &self,
        request: Request<proto::FollowLogsRequest>,
    ) -> Result<Response<Self::FollowLogsStream>, Status> {
        let (caller, message) = entry::opened(request)?;
        let records = self.0.follow_logs(&caller, message).await;
        let records =
            records.map(|records| records.map(|record| record.map_err(|refused| answer::status(&refused))).boxed());
        answer::plain(records)
    }
}
