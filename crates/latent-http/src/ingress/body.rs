//! The body of an answer.
//!
//! Invariant: a body that the end of its guest may have cut ends only after the guest's verdict, and with an error if that
//! is a failure.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use latent_executor::{HttpBodyError, HttpExchange};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::driver::Strings;
use super::outward::Outward;
use super::reader::Reader;

/// The body of an answer: nothing, what is there, or what the guest goes on writing.
pub struct ResponseBody(Kind);

enum Kind {
    Nothing,
    Whole(Outward),
    Streamed(Box<Streamed>),
}

impl ResponseBody {
    /// No body, where there must be none.
    pub(super) fn nothing() -> Self {
        Self(Kind::Nothing)
    }

    /// A body all of which is there.
    pub(super) fn whole(body: Outward) -> Self {
        Self(Kind::Whole(body))
    }

    /// The rest of the body of a guest that has returned.
    pub(super) fn rest(body: Outward, exchange: Arc<HttpExchange>) -> Self {
        Self(Kind::Streamed(Box::new(Streamed {
            body,
            exchange,
            verdict: Verdict::Returned,
            sent: None,
            reader: None,
        })))
    }

    /// The body of a guest that runs.
    pub(super) fn streamed(body: Outward, exchange: Arc<HttpExchange>, strings: Strings, reader: Arc<Reader>) -> Self {
        let Strings { sent, verdict } = strings;
        let verdict = Verdict::Coming(verdict);
        Self(Kind::Streamed(Box::new(Streamed { body, exchange, verdict, sent: Some(sent), reader: Some(reader) })))
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kind::Nothing => "Nothing",
            Kind::Whole(_) => "Whole",
            Kind::Streamed(_) => "Streamed",
        })
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        match &mut self.get_mut().0 {
            Kind::Nothing => Poll::Ready(None),
            Kind::Whole(body) => body.poll_next(cx),
            Kind::Streamed(streamed) => streamed.poll_next(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Nothing => true,
            Kind::Whole(body) => body.is_spent(),
            Kind::Streamed(streamed) => matches!(streamed.verdict, Verdict::Over),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(body) => body.exact().map(SizeHint::with_exact).unwrap_or_default(),
            Kind::Nothing | Kind::Streamed(_) => SizeHint::default(),
        }
    }
}

/// A body that is not all there. Dropped before its end, it tells that the client is gone.
struct Streamed {
    body: Outward,
    exchange: Arc<HttpExchange>,
    verdict: Verdict,
    /// There until it has been sent, or needs to say nothing.
    sent: Option<oneshot::Sender<()>>,
    reader: Option<Arc<Reader>>,
}

/// What is known of the guest.
enum Verdict {
    Returned,
    Coming(oneshot::Receiver<bool>),
    /// The body has been sent or has failed.
    Over,
}

impl Streamed {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        if let Some(reader) = &self.reader {
            reader.asks(Instant::now());
        }
        let next = ready!(self.poll_guest(cx));
        if let Some(reader) = &self.reader {
            reader.gets(Instant::now());
        }
        Poll::Ready(next)
    }

    fn poll_guest(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        if matches!(self.verdict, Verdict::Over) {
            return Poll::Ready(None);
        }
        match ready!(self.body.poll_next(cx)) {
            Some(Ok(frame)) => {
                // What follows the declared length, or trailers, is not asked for any more.
                if frame.is_trailers() || self.body.is_complete() {
                    self.over();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                // A guest that breaks its own response off goes on; one that writes too much is stopped.
                match error {
                    HttpBodyError::TooLarge { .. } => (self.sent, self.verdict) = (None, Verdict::Over),
                    _ => self.over(),
                }
                Poll::Ready(Some(Err(error)))
            }
            None => {
                let complete = ready!(self.poll_verdict(cx));
                self.over();
                Poll::Ready((!complete).then_some(Err(HttpBodyError::Incomplete)))
            }
        }
    }

    /// Whether the end of the body is one. A guest that runs has ended it; one that is gone may have been cut off.
    fn poll_verdict(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        match &mut self.verdict {
            Verdict::Coming(verdict) if self.exchange.is_guest_gone() => {
                Pin::new(verdict).poll(cx).map(|verdict| verdict.unwrap_or(false))
            }
            Verdict::Coming(_) | Verdict::Returned | Verdict::Over => Poll::Ready(true),
        }
    }

    fn over(&mut self) {
        self.verdict = Verdict::Over;
        if let Some(sent) = self.sent.take() {
            // The task that listens may have ended with the activation.
            let _ = sent.send(());
        }
    }
}
