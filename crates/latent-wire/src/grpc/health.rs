//! The standard health service: serving while the node takes activations. Needs no credential.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::api::Api;

/// How often a watched state is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// The services whose health may be asked for besides the whole node's, which has no name.
const SERVICES: [&str; 7] = [
    "latent.v1.Invocation",
    "latent.v1.Releases",
    "latent.v1.Deployments",
    "latent.v1.Routes",
    "latent.v1.Logs",
    "latent.v1.Tenants",
    "latent.v1.Node",
];

pub(super) struct NodeHealth(Arc<Api>);

pub(super) fn service(api: Arc<Api>) -> HealthServer<NodeHealth> {
    HealthServer::new(NodeHealth(api)).max_decoding_message_size(4096)
}

#[tonic::async_trait]
impl Health for NodeHealth {
    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        if !is_known(&request.get_ref().service) {
            return Err(Status::not_found("there is no such service; leave the name out for the whole node"));
        }
        Ok(Response::new(response(serving(&self.0))))
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        if !is_known(&request.get_ref().service) {
            let unknown = stream::iter([Ok(response(ServingStatus::ServiceUnknown))]);
            return Ok(Response::new(unknown.chain(stream::pending()).boxed()));
        }
        let changes = stream::unfold((Arc::clone(&self.0), None), |(api, told)| async move {
            loop {
                let now = serving(&api);
                if told != Some(now) {
                    return Some((Ok(response(now)), (api, Some(now))));
                }
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Ok(Response::new(changes.boxed()))
    }
}

fn is_known(service: &str) -> bool {
    service.is_empty() || SERVICES.contains(&service)
}

fn serving(api: &Api) -> ServingStatus {
    if api.readiness().is_ok() { ServingStatus::Serving } else { ServingStatus::NotServing }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
