//! The body of a request on its way out.
//!
//! Invariant: no more bytes pass than may, and neither more nor fewer than were announced; the first failure is kept,
//! because whoever waits for the response hears of it otherwise only as a broken connection.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use latent_executor::{HttpBody, HttpBodyError, OutgoingError};
use tokio::time::Instant;

use super::head;

/// A body that is counted while it is sent.
pub(super) struct Upload {
    inner: HttpBody,
    sent: u64,
    announced: Option<u64>,
    limit: u64,
    progress: Arc<Progress>,
}

/// How far an upload is. Shared with whoever waits for the response.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last: Instant,
    failure: Option<OutgoingError>,
}

impl Progress {
    /// When a piece went out last, or the upload began.
    pub(super) fn last(&self) -> Instant {
        self.lock().last
    }

    /// Why the upload failed, if it did.
    pub(super) fn failure(&self) -> Option<OutgoingError> {
        self.lock().failure.clone()
    }

    /// Says that the upload begins now.
    pub(super) fn begin(&self) {
        self.lock().last = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upload {
    /// `body`, of which `announced` bytes have to come, and at most `limit` may.
    ///
    /// # Errors
    /// `RequestTooLarge` for a body that is known to be larger.
    pub(super) fn new(body: HttpBody, announced: Option<u64>, limit: u64) -> Result<Self, OutgoingError> {
        if announced.unwrap_or_default().max(body.size_hint().lower()) > limit {
            return Err(OutgoingError::RequestTooLarge { limit });
        }
        let state = Mutex::new(State { last: Instant::now(), failure: None });
        Ok(Self { inner: body, sent: 0, announced, limit, progress: Arc::new(Progress { state }) })
    }

    pub(super) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    fn fail(&self, failure: OutgoingError, error: HttpBodyError) -> HttpBodyError {
        self.progress.lock().failure.get_or_insert(failure);
        error
    }

    fn count(&mut self, bytes: usize) -> Result<(), HttpBodyError> {
        self.sent = self.sent.saturating_add(bytes as u64);
        if self.sent > self.limit {
            let limit = self.limit;
            return Err(self.fail(OutgoingError::RequestTooLarge { limit }, HttpBodyError::TooLarge { limit }));
        }
        if self.announced.is_some_and(|announced| self.sent > announced) {
            return Err(self.fail(OutgoingError::Protocol, HttpBodyError::Malformed));
        }
        self.progress.begin();
        Ok(())
    }

    fn passed(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, HttpBodyError> {
        match frame.into_data() {
            Ok(data) => self.count(data.len()).map(|()| Frame::data(data)),
            Err(frame) => Ok(match frame.into_trailers() {
                Ok(mut trailers) => {
                    head::without_hops(&mut trailers);
                    Frame::trailers(trailers)
                }
                Err(unknown) => unknown,
            }),
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let this = self.get_mut();
        let Poll::Ready(next) = Pin::new(&mut this.inner).poll_frame(cx) else { return Poll::Pending };
        Poll::Ready(match next {
            Some(Ok(frame)) => Some(this.passed(frame)),
            Some(Err(error)) => Some(Err(this.fail(OutgoingError::Protocol, error))),
            None if this.announced.is_some_and(|announced| this.sent < announced) => {
                Some(Err(this.fail(OutgoingError::Protocol, HttpBodyError::Incomplete)))
            }
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream() && self.announced.is_none_or(|announced| self.sent == announced)
    }

    fn size_hint(&self) -> SizeHint {
        match self.announced {
            Some(announced) => SizeHint::with_exact(announced.saturating_sub(self.sent)),
            None => self.inner.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests;
