//! Answers that come as they happen.

use tonic::{Response, Status, Streaming};

use super::{CallError, Client};
use crate::proto;

/// The messages of one call, in order. Dropping it ends the call.
#[derive(Debug)]
pub struct Messages<T>(Streaming<T>);

impl<T> Messages<T> {
    /// The next message; `None` after the last one.
    ///
    /// # Errors
    /// [`CallError`], after which nothing comes.
    pub async fn next(&mut self) -> Result<Option<T>, CallError> {
        self.0.message().await.map_err(|status| CallError::of(&status))
    }

    fn of(answer: Result<Response<Streaming<T>>, Status>) -> Result<Self, CallError> {
        match answer {
            Ok(answer) => Ok(Self(answer.into_inner())),
            Err(status) => Err(CallError::of(&status)),
        }
    }
}

impl Client {
    /// The events of an activation, up to its terminal one.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn watch_activation(
        &self,
        request: proto::WatchActivationRequest,
    ) -> Result<Messages<proto::ActivationEvent>, CallError> {
        Messages::of(self.activations().watch_activation(request).await)
    }

    /// The log records of a tenant, or of one service, as they are written.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn follow_logs(
        &self,
        request: proto::FollowLogsRequest,
    ) -> Result<Messages<proto::LogRecord>, CallError> {
        Messages::of(self.logs().follow_logs(request).await)
    }
}
