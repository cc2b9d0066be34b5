//! Server-sent events: a stream of messages as a body of text.
//!
//! Invariant: an event is whole or not there; a quiet stream still says that it lives, so that a peer that is gone is
//! noticed.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use serde::Serialize;

use crate::api::Refused;
use crate::proto;

/// How long a stream is quiet at most.
const QUIET_MAX: Duration = Duration::from_secs(5);

/// A message as an event.
pub(crate) trait Event: Serialize + Send + 'static {
    /// What kind of event it is.
    const NAME: &'static str;

    /// By which a reader that was cut off says how far it came.
    fn id(&self) -> Option<u64>;

    /// Whether nothing comes after it.
    fn is_last(&self) -> bool;
}

impl Event for proto::ActivationEvent {
    const NAME: &'static str = "activation";

    fn id(&self) -> Option<u64> {
        Some(self.sequence)
    }

    fn is_last(&self) -> bool {
        !self.terminal.is_empty()
    }
}

impl Event for proto::LogRecord {
    const NAME: &'static str = "log";

    fn id(&self) -> Option<u64> {
        None
    }

    fn is_last(&self) -> bool {
        false
    }
}

/// The answer that tells `events` until they end, an error as its own kind of event, the last one.
pub(crate) fn response<E: Event>(events: BoxStream<'static, Result<E, Refused>>) -> Response<Body> {
    told(events, QUIET_MAX)
}

fn told<E: Event>(events: BoxStream<'static, Result<E, Refused>>, quiet_max: Duration) -> Response<Body> {
    let body = stream::unfold(Some(events), move |events| async move {
        let mut events = events?;
        let next = match tokio::time::timeout(quiet_max, events.next()).await {
            Err(_quiet) => {
                return Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(b":\n\n")), Some(events)));
            }
            Ok(next) => next?,
        };
        let last = next.as_ref().map_or(true, Event::is_last);
        Some((Ok(encode(next.as_ref())), (!last).then_some(events)))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn encode<E: Event>(next: Result<&E, &Refused>) -> Bytes {
    let (name, id, data) = match next {
        Ok(event) => (E::NAME, event.id(), serde_json::to_string(event)),
        Err(refused) => ("error", None, serde_json::to_string(&proto::Error::from(refused))),
    };
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    // JSON has no line break outside of its strings, where they are escaped, and these messages always have a JSON form.
    Bytes::from(format!("{id}event: {name}\ndata: {}\n\n", data.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
