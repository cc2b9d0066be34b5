//! Sending a component in parts.

use bytes::Bytes;
use futures_util::stream;

use super::{CallError, Client};
use crate::proto::publish_request::Part;
use crate::proto::{PublishHead, PublishRequest, PublishResponse};

/// The bytes of one part of a component.
pub const CHUNK_BYTES: usize = 256 << 10;

impl Client {
    /// Publishes `component`. The size in `head` is filled in. `progress` is told how many bytes have been taken for
    /// sending so far, after each part.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn publish(
        &self,
        head: PublishHead,
        component: Bytes,
        progress: impl FnMut(u64) + Send + 'static,
    ) -> Result<PublishResponse, CallError> {
        match self.releases().publish(stream::iter(parts(head, component, progress))).await {
            Ok(answer) => Ok(answer.into_inner()),
            Err(status) => Err(CallError::of(&status)),
        }
    }
}

/// The head, then the bytes in order.
pub(super) fn parts(
    head: PublishHead,
    component: Bytes,
    mut progress: impl FnMut(u64) + Send + 'static,
) -> impl Iterator<Item = PublishRequest> + Send + 'static {
    let head = PublishHead { size: component.len() as u64, ..head };
    let chunks = (0..component.len()).step_by(CHUNK_BYTES).map(move |from| {
        let to = component.len().min(from + CHUNK_BYTES);
        progress(to as u64);
        Part::Chunk(component.slice(from..to))
    });
    std::iter::once(Part::Head(head)).chain(chunks).map(|part| PublishRequest { part: Some(part) })
}
