//! `Invoke` straight from the request to the API, as nearly everybody calls it: one message, not compressed, in one frame.
//!
//! Invariant: every other call goes to the generated service with all that was read of it, so that one place alone says what
//! is wrong with a message.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use prost::Message as _;
use tonic::Status;
use tower::Service as _;

use super::{answer, entry, invocation_bytes_max};
use crate::api::{Api, CallContext, Invoked, Listener};
use crate::proto;

/// The call's name on the wire.
const PATH: &str = "/latent.v1.Invocation/Invoke";
/// Where a request says how its messages are compressed.
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// Before a message: whether it is compressed, and its length in four bytes.
const PREFIX_BYTES: usize = 5;
/// The flag of a message that is not compressed.
const PLAIN: u8 = 0;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Whether a request of `listener` is for [`call`].
pub(crate) fn takes<B>(request: &Request<B>, listener: Listener) -> bool {
    listener == Listener::Invoke
        && request.uri().path() == PATH
        && request.method() == Method::POST
        && !request.headers().contains_key(ENCODING)
}

/// Answers a request; one whose body is not what is expected is answered by `routes`. The caller is authenticated at once.
pub(crate) fn call<B>(
    api: Arc<Api>,
    routes: axum::Router,
    request: Request<B>,
) -> BoxFuture<'static, Result<Response<Body>, Infallible>>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError> + Send,
{
    let (parts, body) = request.into_parts();
    match entry::context(&api, &parts.headers, &parts.extensions) {
        Ok(caller) => Box::pin(read_and_answer(api, caller, routes, parts, body)),
        Err(refused) => std::future::ready(Ok(answer::status(&refused).into_http())).boxed(),
    }
}

async fn read_and_answer<B>(
    api: Arc<Api>,
    caller: CallContext,
    mut routes: axum::Router,
    parts: Parts,
    mut body: B,
) -> Result<Response<Body>, Infallible>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError> + Send,
{
    let message = match read(&mut body, invocation_bytes_max(&api)).await {
        Ok(message) => message,
        Err(read) => return routes.call(Request::from_parts(parts, Body::new(Replayed { read, rest: body }))).await,
    };
    drop((parts, body, routes));
    let answered = api.invoke(&caller, message).await.map_err(|refused| answer::status(&refused));
    Ok(answered.and_then(|invoked| response(&invoked)).unwrap_or_else(Status::into_http))
}

/// What was read of a body: at most its message, and what came instead of its end.
type Read<E> = VecDeque<Result<Frame<Bytes>, E>>;

/// The one message of a body, or what was read until it turned out to be something else.
async fn read<B>(body: &mut B, bytes_max: usize) -> Result<proto::InvokeRequest, Read<B::Error>>
where
    B: http_body::Body<Data = Bytes> + Unpin,
{
    let Some(first) = body.frame().await else { return Err(Read::new()) };
    let Some(bytes) = first.as_ref().ok().and_then(Frame::data_ref).cloned() else { return Err([first].into()) };
    let Some(message) = only_message(&bytes, bytes_max) else { return Err([first].into()) };
    // The listener bounds how many empty frames there are.
    while !body.is_end_stream() {
        match body.frame().await {
            Some(Ok(frame)) if frame.data_ref().is_some_and(Bytes::is_empty) => {}
            None => break,
            Some(other) => return Err([first, other].into()),
        }
    }
    proto::InvokeRequest::decode(message).map_err(|_unreadable| [first].into())
}

/// The message that `frame` is, if it is one whole message that may be taken.
fn only_message(frame: &Bytes, bytes_max: usize) -> Option<Bytes> {
    let (&[flag, ref length @ ..], message) = frame.split_first_chunk::<PREFIX_BYTES>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let whole = flag == PLAIN && length == message.len() && length <= bytes_max;
    whole.then(|| frame.slice(PREFIX_BYTES..))
}

fn response(invoked: &Invoked) -> Result<Response<Body>, Status> {
    let message = framed(&invoked.response)?;
    let mut response = Response::new(Body::new(Reply { message: Some(message), ended: false }));
    *response.headers_mut() = answer::collected(invoked.about.headers());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    Ok(response)
}

fn framed(message: &proto::InvokeResponse) -> Result<Bytes, Status> {
    let bytes = message.encoded_len();
    let too_long = |_| Status::resource_exhausted(format!("the answer has {bytes} bytes; a message has at most 4 GiB"));
    let length = u32::try_from(bytes).map_err(too_long)?;
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + bytes);
    framed.put_u8(PLAIN);
    framed.put_u32(length);
    message.encode(&mut framed).map_err(|error| Status::internal(error.to_string()))?;
    Ok(framed.freeze())
}

/// The body of an answer: its message, then the status of a call that succeeded.
struct Reply {
    message: Option<Bytes>,
    ended: bool,
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if let Some(message) = this.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if std::mem::replace(&mut this.ended, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::with_capacity(1);
        trailers.insert(Status::GRPC_STATUS, HeaderValue::from_static("0"));
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

/// A body of which something was read, from its begin.
struct Replayed<B: http_body::Body> {
    read: Read<B::Error>,
    rest: B,
}

/// Nothing that was read is ever pinned.
impl<B: http_body::Body + Unpin> Unpin for Replayed<B> {}

impl<B: http_body::Body<Data = Bytes> + Unpin> http_body::Body for Replayed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        match this.read.pop_front() {
            Some(read) => Poll::Ready(Some(read)),
            None => Pin::new(&mut this.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.rest.is_end_stream()
    }
}
