//! `Invoke` by other services than a node's own: a bare echo, and a node's calls on chosen runtimes.
//!
//! Invariant: both answer with the messages that a node answers with, so that only what happens between differs.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use latent_wire::api::{Api, Invoked, Refused};
use latent_wire::proto;
use latent_wire::proto::invocation_server::Invocation;
use latent_wire::proto::invoke_response::Outcome;
use tokio::runtime::Handle;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};

/// A service that answers `Invoke` alone.
#[expect(clippy::large_enum_variant, reason = "there is one of a server")]
pub enum Echo {
    /// Sends back the one argument that it gets.
    Bare {
        /// An answer of a node, whose result is exchanged.
        answer: proto::InvokeResponse,
    },
    /// The calls of a node, whose activations run where the connection does or on a runtime of their own.
    Placed {
        /// The node's calls.
        api: Arc<Api>,
        /// The runtime of guests, where it is another one.
        guests: Option<Handle>,
    },
}

#[tonic::async_trait]
impl Invocation for Echo {
    type WatchActivationStream = BoxStream<'static, Result<proto::ActivationEvent, Status>>;

    async fn invoke(&self, request: Request<proto::InvokeRequest>) -> Result<Response<proto::InvokeResponse>, Status> {
        match self {
            Self::Bare { answer } => {
                let arguments = request.into_inner().payload;
                let only = arguments.get(1..arguments.len().saturating_sub(1)).unwrap_or_default();
                let outcome = Some(Outcome::Result(arguments.slice_ref(only)));
                Ok(Response::new(proto::InvokeResponse { outcome, ..answer.clone() }))
            }
            Self::Placed { api, guests } => placed(api.clone(), guests.as_ref(), request).await,
        }
    }

    async fn cancel(&self, _: Request<proto::CancelRequest>) -> Result<Response<proto::CancelResponse>, Status> {
        Err(unasked())
    }

    async fn get_activation(
        &self,
        _: Request<proto::GetActivationRequest>,
    ) -> Result<Response<proto::Activation>, Status> {
        Err(unasked())
    }

    async fn watch_activation(
        &self,
        _: Request<proto::WatchActivationRequest>,
    ) -> Result<Response<Self::WatchActivationStream>, Status> {
        Err(unasked())
    }

    async fn list_activations(
        &self,
        _: Request<proto::ListActivationsRequest>,
    ) -> Result<Response<proto::ListActivationsResponse>, Status> {
        Err(unasked())
    }
}

async fn placed(
    api: Arc<Api>,
    guests: Option<&Handle>,
    request: Request<proto::InvokeRequest>,
) -> Result<Response<proto::InvokeResponse>, Status> {
    let caller = api.context(request.metadata().as_ref(), request.extensions(), None).map_err(failed)?;
    let message = request.into_inner();
    let invoked = match guests {
        None => api.invoke(&caller, message).await,
        Some(guests) => {
            let activation = guests.spawn(async move { api.invoke(&caller, message).await });
            activation.await.map_err(|panic| Status::internal(panic.to_string()))?
        }
    };
    let Invoked { response, about } = invoked.map_err(failed)?;
    let mut response = Response::new(response);
    *response.metadata_mut() = MetadataMap::from_headers(about.headers().collect());
    Ok(response)
}

fn unasked() -> Status {
    Status::unimplemented("this service only answers Invoke")
}

#[expect(clippy::needless_pass_by_value, reason = "it maps the error of a result")]
fn failed(refused: Refused) -> Status {
    Status::internal(refused.error.message())
}
