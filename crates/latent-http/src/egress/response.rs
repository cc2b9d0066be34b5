//! The body of a response on its way to the guest.
//!
//! Invariant: it ends with an error unless it is complete, within its size and its times, and takes its connection with
//! it when it fails or is dropped.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use latent_executor::HttpBodyError;
use tokio::time::{Instant, Sleep, sleep_until};

use super::error;
use super::head;
use super::tasks::Tasks;
use super::times::Times;

/// A body and the connection that it comes from.
pub(super) struct Download {
    open: Option<Open>,
    left: u64,
    limit: u64,
    times: Times,
}

struct Open {
    inner: Incoming,
    /// Runs while a piece is waited for.
    patience: Option<Pin<Box<Sleep>>>,
    _tasks: Tasks,
}

impl Download {
    pub(super) fn new(inner: Incoming, tasks: Tasks, times: Times, limit: u64) -> Self {
        Self { open: Some(Open { inner, patience: None, _tasks: tasks }), left: limit, limit, times }
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let Some(open) = &mut self.open else { return Poll::Ready(None) };
        if open.inner.size_hint().lower() > self.left {
            return Poll::Ready(Some(Err(HttpBodyError::TooLarge { limit: self.limit })));
        }
        let next = match Pin::new(&mut open.inner).poll_frame(cx) {
            Poll::Ready(next) => next,
            Poll::Pending => {
                ready!(open.poll_patience(cx, &self.times));
                return Poll::Ready(Some(Err(HttpBodyError::Stalled)));
            }
        };
        open.patience = None;
        Poll::Ready(match next {
            Some(Ok(frame)) => Some(self.passed(frame)),
            Some(Err(broken)) => Some(Err(self.broken(&broken))),
            None => None,
        })
    }

    fn passed(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, HttpBodyError> {
        match frame.into_data() {
            Ok(data) => {
                let left = self.left.checked_sub(data.len() as u64);
                self.left = left.ok_or(HttpBodyError::TooLarge { limit: self.limit })?;
                Ok(Frame::data(data))
            }
            Err(frame) => Ok(match frame.into_trailers() {
                Ok(mut trailers) => {
                    head::without_hops(&mut trailers);
                    Frame::trailers(trailers)
                }
                Err(unknown) => unknown,
            }),
        }
    }

    /// A connection that was closed at the request's end breaks off like any other.
    fn broken(&self, broken: &hyper::Error) -> HttpBodyError {
        if Instant::now() >= self.times.end { HttpBodyError::Stalled } else { error::of_body(broken) }
    }
}

impl Open {
    fn poll_patience(&mut self, cx: &mut Context<'_>, times: &Times) -> Poll<()> {
        let due = || (Instant::now() + times.between_bytes).min(times.end);
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep_until(due())));
        patience.as_mut().poll(cx)
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let this = self.get_mut();
        let next = ready!(this.poll_open(cx));
        if matches!(next, Some(Err(_))) {
            this.open = None;
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.open.as_ref().is_none_or(|open| open.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.open.as_ref().map_or_else(|| SizeHint::with_exact(0), |open| open.inner.size_hint())
    }
}
