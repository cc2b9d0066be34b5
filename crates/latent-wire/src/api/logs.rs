//! What guests wrote.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use latent_activation::journal::Lookup;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, ServiceName};
use latent_node::access::Role;

use super::activations::{activation_id, missing};
use super::{Api, CallContext, LogStream, Refused};
use crate::convert::{field, logs as convert};
use crate::proto;

/// How often it is looked whether the credential of whoever follows still holds.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The most records that come before those that are followed; larger wishes get this many.
pub const TAIL_MAX: usize = 1_000;

impl Api {
    /// `GetLogs`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn get_logs(
        &self,
        caller: &CallContext,
        request: proto::GetLogsRequest,
    ) -> Result<proto::GetLogsResponse, Refused> {
        caller.require(Role::Invoke)?;
        let id = activation_id(request.activation_id)?;
        let logs = match self.ports.logs.of_activation(caller.tenant(), &id) {
            Some(logs) => logs,
            None => match self.ports.manager.status(caller.tenant(), &id) {
                Lookup::Found(_) => latent_node::logs::ActivationLogs::default(),
                gone => return Err(missing(&gone, &id).into()),
            },
        };
        Ok(proto::GetLogsResponse {
            records: logs.records.into_iter().map(convert::record).collect(),
            dropped: logs.dropped,
        })
    }

    /// `FollowLogs`. With `tail_only` the stream ends after the latest records; otherwise it ends with `unauthenticated` about a second after the credential has stopped to hold; dropping
    /// it ends it.
    ///
    /// # Errors
    /// As [`Api`] says; retryable `resource-exhausted`, detail `api.followers`, when as many follow as may.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn follow_logs(
        &self,
        caller: &CallContext,
        request: proto::FollowLogsRequest,
    ) -> Result<LogStream, Refused> {
        caller.require(Role::Invoke)?;
        let service = field::optional_id("service", request.service, ServiceName::new)?;
        let tail = usize::try_from(request.tail).unwrap_or(TAIL_MAX).min(TAIL_MAX);
        let records = self.ports.logs.follow(caller.tenant(), service.as_ref(), tail).ok_or_else(followers)?;
        if request.tail_only {
            return Ok(there_now(records, tail).map(|entry| Ok(convert::record(entry))).boxed());
        }
        let records = records.map(|entry| Ok(convert::record(entry))).take_until(self.revoked(caller));
        Ok(records.chain(stream::once(async { Err(no_longer_known().into()) })).boxed())
    }

    /// Waits until the caller's credential holds no more.
    fn revoked(&self, caller: &CallContext) -> impl Future<Output = ()> + Send + 'static {
        let (ports, access) = (self.ports.clone(), Arc::clone(&caller.access));
        async move {
            while ports.authenticator.still_holds(&access, ports.manager.parts().clock.now()) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

/// The first `most` of `records`, as far as nobody has to wait for them.
fn there_now<T>(mut records: BoxStream<'static, T>, most: usize) -> impl Stream<Item = T> + Send {
    stream::poll_fn(move |cx| match records.poll_next_unpin(cx) {
        Poll::Pending => Poll::Ready(None),
        next @ Poll::Ready(_) => next,
    })
    .take(most)
}

fn no_longer_known() -> PlatformError {
    let message = "the credential with which this was begun holds no more; begin again with another one";
    PlatformError::new(PlatformErrorCode::Unauthenticated, message)
}

fn followers() -> PlatformError {
    let message = "as many read logs as they are written as may; end one of them, or try again later";
    let detail = ErrorDetail::new("api.followers");
    PlatformError::new(PlatformErrorCode::ResourceExhausted, message).with_detail(detail).retryable()
}
