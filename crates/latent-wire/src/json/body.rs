//! Bodies of requests, bounded before they are read and while.
//!
//! Invariant: no more than the bound is ever held of a body.

use std::error::Error as _;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use serde::de::DeserializeOwned;

use super::text::number;
use crate::listener::BodyError;

/// The largest body of a call that is neither an invocation nor a publication.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// What is read of a body that the answer did without, at most: bytes, and for how long.
const UNREAD_BYTES_MAX: usize = 1 << 20;
const UNREAD_TIME_MAX: Duration = Duration::from_secs(2);

/// Reads on what is left of a body that nobody wants, and lets go of it. Answers that overtake the body are lost by clients
/// that write all of it first: the rest of the stream is reset. A body that is long stays unread.
pub(super) async fn drain(body: &mut Body) {
    if body.is_end_stream() || body.size_hint().lower() > UNREAD_BYTES_MAX as u64 {
        return;
    }
    let to_its_end = async {
        let mut bytes = 0;
        while !body.is_end_stream() && bytes <= UNREAD_BYTES_MAX {
            let Ok(Some(part)) = part(body).await else { return };
            bytes += part.len();
        }
    };
    // Whoever takes longer may lose the answer.
    let _ = tokio::time::timeout(UNREAD_TIME_MAX, to_its_end).await;
}

/// The length that the head announces, within `max`.
pub(super) fn announced(headers: &HeaderMap, max: u64) -> Result<Option<u64>, PlatformError> {
    let Some(text) = super::text::raw_header(headers, CONTENT_LENGTH.as_str())? else { return Ok(None) };
    let length = number("http.header", CONTENT_LENGTH.as_str(), text)?;
    if length > max { Err(too_large(max)) } else { Ok(Some(length)) }
}

/// The whole body, in one piece without a copy if it came in one.
pub(super) async fn read(headers: &HeaderMap, body: &mut Body, max: usize) -> Result<Bytes, PlatformError> {
    announced(headers, max as u64)?;
    let Some(first) = part(body).await? else { return Ok(Bytes::new()) };
    if first.len() > max {
        return Err(too_large(max as u64));
    }
    if body.is_end_stream() {
        return Ok(first);
    }
    let mut all = BytesMut::from(first);
    while let Some(part) = part(body).await? {
        if part.len() > max - all.len() {
            return Err(too_large(max as u64));
        }
        all.extend_from_slice(&part);
    }
    Ok(all.freeze())
}

/// The next bytes of a body; `None` at its end. Trailers are not looked at.
pub(super) async fn part(body: &mut Body) -> Result<Option<Bytes>, PlatformError> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(|error| broken(&error))?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// A body of JSON as the message that it is; an empty one is the message without a field.
pub(super) async fn message<T: DeserializeOwned + Default>(
    headers: &HeaderMap,
    body: &mut Body,
) -> Result<T, PlatformError> {
    let bytes = read(headers, body, MESSAGE_BYTES_MAX).await?;
    if bytes.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let detail = ErrorDetail::new("http.body").with("reason", &error);
        PlatformError::new(PlatformErrorCode::InvalidArgument, format!("the body is not the JSON of the call: {error}"))
            .with_detail(detail)
    })
}

/// A body of text.
pub(super) async fn text(headers: &HeaderMap, body: &mut Body) -> Result<String, PlatformError> {
    let bytes = read(headers, body, MESSAGE_BYTES_MAX).await?;
    String::from_utf8(bytes.into()).map_err(|_| {
        PlatformError::new(PlatformErrorCode::InvalidArgument, "the body has to be JSON, which is UTF-8")
            .with_detail(ErrorDetail::new("http.body").with("reason", "not UTF-8"))
    })
}

pub(super) fn too_large(max: u64) -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, format!("the body is longer than {max} bytes"))
        .with_detail(ErrorDetail::new("http.body").with("max", max))
}

fn broken(error: &axum::Error) -> PlatformError {
    let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let reason = match causes.find_map(|cause| cause.downcast_ref()) {
        Some(error @ (BodyError::Stalled { .. } | BodyError::Empty)) => error.to_string(),
        Some(BodyError::Transport(_)) | None => "the body broke off before its end".into(),
    };
    PlatformError::new(PlatformErrorCode::InvalidArgument, &reason)
        .with_detail(ErrorDetail::new("http.body").with("reason", &reason))
}
