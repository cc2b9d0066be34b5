//! The API in gRPC: the generated services over [`Api`], with health and reflection.
//!
//! Invariant: a call is authenticated and its timeout read from its head, before its message is; and what it means is
//! [`Api`]'s alone. No compression is accepted: a message that says it is compressed is refused as `UNIMPLEMENTED`.

mod answer;
pub(crate) mod direct;
mod elsewhere;
mod entry;
mod health;
mod invocation;
mod management;
mod publish;
mod timeout;

use std::sync::Arc;

use latent_core::{PlatformError, PlatformErrorCode};
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;

use crate::api::{Api, Listener};
use crate::proto;
use entry::Entry;
use proto::deployments_server::DeploymentsServer;
use proto::invocation_server::InvocationServer;
use proto::logs_server::LogsServer;
use proto::node_server::NodeServer;
use proto::releases_server::ReleasesServer;
use proto::routes_server::RoutesServer;
use proto::tenants_server::TenantsServer;

#[cfg(test)]
pub(crate) use answer::carrying;
pub use answer::{ERROR_METADATA, error_of};
pub use timeout::{GRPC_TIMEOUT, parse as parse_timeout};

/// Bytes of a call besides its payload: names, metadata, and how they are written down.
const AROUND_PAYLOAD_BYTES: usize = 256 << 10;
/// Bytes of one message of management, a part of a component included.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// What `listener` serves.
///
/// # Errors
/// `internal` when the descriptions of the services cannot be read, which is a defect of the build.
pub fn routes(api: &Arc<Api>, listener: Listener) -> Result<Routes, PlatformError> {
    let entry = Entry::new(Arc::clone(api));
    let invocation = InvocationServer::new(invocation::Invocations::new(Arc::clone(api), listener))
        .max_decoding_message_size(invocation_bytes_max(api));
    let routes = Routes::default()
        .add_service(InterceptedService::new(invocation, entry.clone()))
        .add_service(health::service(Arc::clone(api)));
    let routes = with_reflection(routes)?;
    let routes = match listener {
        Listener::Invoke => routes,
        Listener::Control => with_management(routes, api, &entry),
    };
    Ok(elsewhere::with_fallback(routes, listener))
}

/// Bytes of one message of the service `Invocation`.
fn invocation_bytes_max(api: &Api) -> usize {
    api.payload_bytes_max().saturating_add(AROUND_PAYLOAD_BYTES)
}

fn with_management(routes: Routes, api: &Arc<Api>, entry: &Entry) -> Routes {
    macro_rules! add {
        ($($server:ident($service:expr)),*) => {
            routes$(.add_service(InterceptedService::new(
                $server::new($service).max_decoding_message_size(MESSAGE_BYTES_MAX),
                entry.clone(),
            )))*
        };
    }
    add!(
        ReleasesServer(publish::Releases(Arc::clone(api))),
        DeploymentsServer(management::Deployments(Arc::clone(api))),
        RoutesServer(management::Routes(Arc::clone(api))),
        LogsServer(management::Logs(Arc::clone(api))),
        TenantsServer(management::Tenants(Arc::clone(api))),
        NodeServer(management::Node(Arc::clone(api)))
    )
}

/// With reflection, in both versions of its service: many clients ask for the older one alone.
fn with_reflection(routes: Routes) -> Result<Routes, PlatformError> {
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let unreadable = |error| {
        let message = format_args!("the descriptions of the API's services cannot be read: {error}");
        PlatformError::new(PlatformErrorCode::Internal, message)
    };
    let newer = described().build_v1().map_err(unreadable)?;
    let older = described().build_v1alpha().map_err(unreadable)?;
    Ok(routes.add_service(newer).add_service(older))
}
