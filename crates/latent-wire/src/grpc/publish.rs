//! The service `Releases`, whose `Publish` is a stream of the component's parts.
//!
//! Invariant: an upload that stands still or takes too long gives its place back.

use std::sync::Arc;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status, Streaming};

use super::{answer, entry};
use crate::api::{Api, CallContext, Refused};
use crate::convert::field;
use crate::proto;
use crate::proto::publish_request::Part;

/// How long the next part of a component may take.
const PART_WAIT: Duration = Duration::from_secs(30);
/// How long all of them may take, from the arrival of the call on.
const UPLOAD_WAIT: Duration = Duration::from_mins(10);

pub(super) struct Releases(pub(super) Arc<Api>);

#[tonic::async_trait]
impl proto::releases_server::Releases for Releases {
    async fn publish(
        &self,
        request: Request<Streaming<proto::PublishRequest>>,
    ) -> Result<Response<proto::PublishResponse>, Status> {
        let (caller, mut parts) = entry::opened(request)?;
        let Some(Part::Head(head)) = next(&mut parts, &caller).await? else {
            return Err(answer::status(&field::invalid("part", "the head, in the first message").into()));
        };
        let admission = self.0.admit_publish(&caller, head).await;
        let mut admission = admission.map_err(|refused| answer::status(&refused))?;
        while let Some(part) = next(&mut parts, &caller).await? {
            let taken = match part {
                Part::Chunk(chunk) => admission.push(chunk),
                Part::Head(_) => Err(field::invalid("part", "a chunk, in every message after the first").into()),
            };
            taken.map_err(|refused| answer::status(&refused))?;
        }
        answer::plain(admission.finish().await)
    }

    async fn get_release(
        &self,
        request: Request<proto::GetReleaseRequest>,
    ) -> Result<Response<proto::Release>, Status> {
        let (caller, message) = entry::opened(request)?;
        answer::plain(self.0.get_release(&caller, message).await)
    }

    async fn list_releases(
        &self,
        request: Request<proto::ListReleasesRequest>,
    ) -> Result<Response<proto::ListReleasesResponse>, Status> {
        let (caller, message) = entry::opened(request)?;
        answer::plain(self.0.list_releases(&caller, message).await)
    }

    async fn delete_release(
        &self,
        request: Request<proto::DeleteReleaseRequest>,
    ) -> Result<Response<proto::DeleteReleaseResponse>, Status> {
        let (caller, message) = entry::opened(request)?;
        answer::plain(self.0.delete_release(&caller, message).await)
    }
}

/// The next part; `None` after the last.
async fn next(parts: &mut Streaming<proto::PublishRequest>, caller: &CallContext) -> Result<Option<Part>, Status> {
    let latest = Instant::from_std(caller.arrived.0) + UPLOAD_WAIT;
    let Ok(message) = timeout_at(latest.min(Instant::now() + PART_WAIT), parts.message()).await else {
        return Err(answer::status(&stalled()));
    };
    let Some(message) = message? else { return Ok(None) };
    match message.part {
        Some(part) => Ok(Some(part)),
        None => Err(answer::status(&field::invalid("part", "a head or a chunk").into())),
    }
}

fn stalled() -> Refused {
    let (part, all) = (PART_WAIT.as_secs(), UPLOAD_WAIT.as_secs());
    let message = format_args!(
        "the upload stood still for {part} seconds, or took more than {all} in all; send the component again, faster"
    );
    let detail = ErrorDetail::new("api.upload-stalled").with("part_seconds", part).with("all_seconds", all);
    PlatformError::new(PlatformErrorCode::DeadlineExceeded, message).with_detail(detail).into()
}
