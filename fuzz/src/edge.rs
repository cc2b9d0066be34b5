//! Requests to the API over HTTP: each is answered as the API says, whatever is in it, and nothing of it is held afterwards.

use std::sync::atomic::Ordering;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt as _;
use latent_core::PlatformErrorCode;
use latent_wire::api::Listener;
use tower::ServiceExt as _;

/// The node of the tests of the edge: all of its parts are real but the engine and the disk.
#[path = "../../crates/latent-wire/tests/it/support.rs"]
#[allow(dead_code, unused, missing_docs, reason = "not everything of it is fuzzed")]
mod support;

/// Frames of a body that are looked at; streams of events have no end.
const FRAMES_MAX: usize = 64;

/// Takes `data` as two requests: the first line of each is a method and a target, the next ones are headers up to an empty
/// one, and the rest is the body. They are separated by a byte that no text has.
///
/// # Panics
/// When an answer is none that the API has, or a call leaves something behind.
pub fn check(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime is made");
    runtime.block_on(async {
        let node = support::node(2);
        for request in data.splitn(2, |byte| *byte == 0xff) {
            one(&node, request).await;
        }
        node.switches.left.store(0, Ordering::SeqCst);
        node.settles().await;
    });
}

async fn one(node: &support::Node, data: &[u8]) {
    let Some((listener, request)) = request(data) else { return };
    let method = request.method().clone();
    let edge = node.edge(listener, node.routes(listener));
    let Ok(response) = edge.oneshot(request).await;
    answered(&method, response).await;
}

/// The request, and on which listener: a target with `!` before it is for the invoke listener.
fn request(data: &[u8]) -> Option<(Listener, Request<Body>)> {
    let (head, body) = match data.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (&data[..at], &data[at + 2..]),
        None => (data, &[][..]),
    };
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut words = lines.next()?.splitn(2, |byte| *byte == b' ');
    let method = Method::from_bytes(words.next()?).ok()?;
    let target = words.next()?;
    let (listener, target) = match target.strip_prefix(b"!") {
        Some(target) => (Listener::Invoke, target),
        None => (Listener::Control, target),
    };
    let mut request = Request::builder().method(method).uri(Uri::try_from(target).ok()?);
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = HeaderName::from_bytes(parts.next()?).ok()?;
        request = request.header(name, HeaderValue::from_bytes(parts.next()?).ok()?);
    }
    // In pieces, as they come from a socket.
    let frames: Vec<_> = body.chunks(100).map(|piece| Ok::<_, axum::Error>(Bytes::copy_from_slice(piece))).collect();
    let body = if body.len() % 2 == 0 { Body::from(body.to_vec()) } else { Body::from_stream(stream::iter(frames)) };
    Some((listener, request.body(body).ok()?))
}

async fn answered(method: &Method, response: Response<Body>) {
    let (parts, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    for _ in 0..FRAMES_MAX {
        let frame = tokio::time::timeout(support::WATCHDOG, body.frame()).await;
        let Ok(Some(frame)) = frame else { break };
        let frame = frame.expect("a body that does not break");
        bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
    }
    if parts.headers.contains_key("grpc-status") || parts.headers.get("content-type").is_some_and(is_grpc) {
        assert_eq!(parts.status, StatusCode::OK, "gRPC says it in its own status");
        return;
    }
    assert_ne!(parts.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", String::from_utf8_lossy(&bytes));
    if parts.status.is_client_error() || parts.status.is_server_error() {
        if method == Method::HEAD {
            return;
        }
        let error: serde_json::Value = serde_json::from_slice(&bytes).expect("an error is JSON");
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        assert!(PlatformErrorCode::ALL.iter().any(|code| code.as_str() == text("code")), "{error}");
        crate::refusal::sentence(&text("message"));
    }
}

fn is_grpc(media: &HeaderValue) -> bool {
    media.as_bytes().starts_with(b"application/grpc")
}
