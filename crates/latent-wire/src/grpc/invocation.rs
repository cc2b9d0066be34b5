//! The service `Invocation`.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use latent_core::ActivationId;
use tonic::{Request, Response, Status};

use super::{answer, elsewhere, entry};
use crate::api::{About, Api, Listener};
use crate::proto;

pub(super) struct Invocations {
    api: Arc<Api>,
    listener: Listener,
}

impl Invocations {
    pub(super) fn new(api: Arc<Api>, listener: Listener) -> Self {
        Self { api, listener }
    }
}

#[tonic::async_trait]
impl proto::invocation_server::Invocation for Invocations {
    type WatchActivationStream = BoxStream<'static, Result<proto::ActivationEvent, Status>>;

    async fn invoke(&self, request: Request<proto::InvokeRequest>) -> Result<Response<proto::InvokeResponse>, Status> {
        if self.listener == Listener::Control {
            return Err(elsewhere::status("Invoke", Listener::Invoke));
        }
        let (caller, message) = entry::opened(request)?;
        match self.api.invoke(&caller, message).await {
            Ok(invoked) => Ok(answer::about(invoked.response, &invoked.about)),
            Err(refused) => Err(answer::status(&refused)),
        }
    }

    async fn cancel(&self, request: Request<proto::CancelRequest>) -> Result<Response<proto::CancelResponse>, Status> {
        let (caller, message) = entry::opened(request)?;
        let about = of_id(&message.activation_id);
        let cancelled = self.api.cancel(&caller, message).await;
        cancelled.map(|message| answer::about(message, &about)).map_err(|refused| answer::status(&refused))
    }

    async fn get_activation(
        &self,
        request: Request<proto::GetActivationRequest>,
    ) -> Result<Response<proto::Activation>, Status> {
        let (caller, message) = entry::opened(request)?;
        match self.api.get_activation(&caller, message).await {
            Ok(activation) => {
                let about = About::of_message(&activation);
                Ok(answer::about(activation, &about))
            }
            Err(refused) => Err(answer::status(&refused)),
        }
    }

    async fn watch_activation(
        &self,
        request: Request<proto::WatchActivationRequest>,
    ) -> Result<Response<Self::WatchActivationStream>, Status> {
        let (caller, message) = entry::opened(request)?;
        let about = of_id(&message.activation_id);
        match self.api.watch_activation(&caller, message).await {
            Ok(events) => {
                let events = events.map(|event| event.map_err(|refused| answer::status(&refused)));
                Ok(answer::about(events.boxed(), &about))
            }
            Err(refused) => Err(answer::status(&refused)),
        }
    }

    async fn list_activations(
        &self,
        request: Request<proto::ListActivationsRequest>,
    ) -> Result<Response<proto::ListActivationsResponse>, Status> {
        let (caller, message) = entry::opened(request)?;
        answer::plain(self.api.list_activations(&caller, message).await)
    }
}

/// What is known of an activation that the caller names.
fn of_id(id: &str) -> About {
    About { activation_id: ActivationId::new(id).ok(), ..About::default() }
}
