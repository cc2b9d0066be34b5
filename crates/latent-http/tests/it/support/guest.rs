//! What guests are made of: a response that is written piece by piece.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::response::Builder;
use http::{HeaderMap, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Full};
use latent_core::ExecutionOutcome;
use latent_executor::fake::FakeHandled;
use latent_executor::{HttpBody, HttpBodyError, HttpExchangeParts};
use tokio::sync::{mpsc, oneshot};

/// A body as an engine has it: it ends when its sender is gone, whoever dropped that.
struct Piped(mpsc::Receiver<Result<Frame<Bytes>, HttpBodyError>>);

impl Body for Piped {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        self.0.poll_recv(cx)
    }
}

/// The guest's end of a body, with room for a few pieces.
pub struct Writer(mpsc::Sender<Result<Frame<Bytes>, HttpBodyError>>);

impl Writer {
    /// Waits until there is room. False when nobody reads any more.
    pub async fn write(&self, bytes: impl Into<Bytes>) -> bool {
        self.0.send(Ok(Frame::data(bytes.into()))).await.is_ok()
    }

    pub async fn trailers(&self, trailers: HeaderMap) {
        let _ = self.0.send(Ok(Frame::trailers(trailers))).await;
    }

    pub async fn fail(&self, error: HttpBodyError) {
        let _ = self.0.send(Err(error)).await;
    }
}

/// Sets the head of the response, and begins its body.
pub fn answer(to: oneshot::Sender<Response<HttpBody>>, head: Builder) -> Writer {
    let (writer, pipe) = mpsc::channel(4);
    let _ = to.send(head.body(Piped(pipe).boxed_unsync()).unwrap());
    Writer(writer)
}

/// A body that is there.
pub fn body_of(bytes: impl Into<Bytes>) -> HttpBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Says hello.
pub async fn hello(parts: HttpExchangeParts) -> FakeHandled {
    let _ = parts.response.send(Response::new(body_of("hello")));
    FakeHandled::returned()
}

pub fn returned() -> FakeHandled {
    FakeHandled::returned()
}

/// Traps, with what its store holds then.
pub fn trapped(held: impl std::any::Any + Send) -> FakeHandled {
    FakeHandled::ended(ExecutionOutcome::Trapped { category: "unreachable" }).holding(held)
}
