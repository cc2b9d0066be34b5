//! The body that a guest writes, measured as it comes, with what of it was there before it was asked for.
//!
//! Invariant: no more than the ahead bound is held, and a body that differs from its declared length ends with an error.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use latent_executor::{HttpBody, HttpBodyError};

use super::head::Length;

/// What is taken of a body before its head is sent.
const AHEAD_BYTES_MAX: usize = 128 << 10;
/// In so many pieces.
const AHEAD_FRAMES_MAX: usize = 64;

/// The body of a response on its way out.
pub(super) struct Outward {
    /// There until it has ended or failed.
    inner: Option<HttpBody>,
    /// Bytes that are to come, where the head says how many.
    declared: Option<u64>,
    /// Bytes that may come.
    left: u64,
    limit: u64,
    frames: VecDeque<Bytes>,
    ahead: usize,
    trailers: Option<HeaderMap>,
    failed: Option<HttpBodyError>,
}

/// What came of a look for more.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Some of it came, and there is room for more.
    More,
    /// It has ended, or failed.
    Over,
    /// There is no more now, or no room.
    Enough,
}

impl Outward {
    pub(super) fn new(inner: HttpBody, length: Length, limit: u64) -> Self {
        let declared = match length {
            Length::Declared(bytes) => Some(bytes),
            Length::None | Length::Open => None,
        };
        Self { inner: Some(inner), left: limit, limit, declared, ..Self::nothing() }
    }

    /// A body that is there.
    pub(super) fn of(bytes: Bytes) -> Self {
        Self { ahead: bytes.len(), frames: VecDeque::from([bytes]), ..Self::nothing() }
    }

    fn nothing() -> Self {
        Self {
            inner: None,
            declared: None,
            left: 0,
            limit: 0,
            frames: VecDeque::new(),
            ahead: 0,
            trailers: None,
            failed: None,
        }
    }

    /// Whether nothing more comes from the guest.
    pub(super) fn is_over(&self) -> bool {
        self.inner.is_none()
    }

    /// Whether nothing is left to be sent.
    pub(super) fn is_spent(&self) -> bool {
        self.is_over() && self.frames.is_empty() && self.trailers.is_none() && self.failed.is_none()
    }

    /// Why it broke off, if it did.
    pub(super) fn failure(&self) -> Option<HttpBodyError> {
        self.failed
    }

    /// Whether as much was sent as the head declares.
    pub(super) fn is_complete(&self) -> bool {
        self.declared == Some(0) && self.frames.is_empty()
    }

    /// How many bytes are left to be sent, where that is known and no trailers follow them.
    pub(super) fn exact(&self) -> Option<u64> {
        (self.is_over() && self.trailers.is_none() && self.failed.is_none()).then_some(self.ahead as u64)
    }

    /// Takes what is there, to be sent later.
    pub(super) fn look(&mut self, cx: &mut Context<'_>) -> Ahead {
        if self.is_over() {
            return Ahead::Over;
        }
        if self.frames.len() >= AHEAD_FRAMES_MAX || self.ahead >= AHEAD_BYTES_MAX {
            return Ahead::Enough;
        }
        match self.poll_guest(cx) {
            Poll::Pending => Ahead::Enough,
            Poll::Ready(None) => Ahead::Over,
            Poll::Ready(Some(Err(error))) => {
                self.failed = Some(error);
                Ahead::Over
            }
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(bytes) => {
                    self.ahead += bytes.len();
                    self.frames.push_back(bytes);
                    Ahead::More
                }
                Err(frame) => {
                    self.trailers = frame.into_trailers().ok();
                    Ahead::Over
                }
            },
        }
    }

    /// What is to be sent next.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        if let Some(bytes) = self.frames.pop_front() {
            self.ahead -= bytes.len();
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if let Some(trailers) = self.trailers.take() {
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        match self.failed.take() {
            Some(error) => Poll::Ready(Some(Err(error))),
            None => self.poll_guest(cx),
        }
    }

    /// What the guest writes next; `None` from its end on.
    fn poll_guest(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let next = ready!(Pin::new(inner).poll_frame(cx));
        let goes_on = next.as_ref().is_some_and(|next| next.as_ref().is_ok_and(Frame::is_data));
        let measured = match next {
            Some(Ok(frame)) => self.measure(&frame).map(|()| Some(frame)),
            Some(Err(error)) => Err(error),
            None => self.measure_end().map(|()| None),
        };
        if !goes_on || measured.is_err() {
            self.inner = None;
        }
        Poll::Ready(measured.transpose())
    }

    fn measure(&mut self, frame: &Frame<Bytes>) -> Result<(), HttpBodyError> {
        let Some(data) = frame.data_ref() else { return self.measure_end() };
        let bytes = data.len() as u64;
        self.left = self.left.checked_sub(bytes).ok_or(HttpBodyError::TooLarge { limit: self.limit })?;
        if let Some(declared) = &mut self.declared {
            *declared = declared.checked_sub(bytes).ok_or(HttpBodyError::Malformed)?;
        }
        Ok(())
    }

    fn measure_end(&self) -> Result<(), HttpBodyError> {
        if self.declared.unwrap_or_default() == 0 { Ok(()) } else { Err(HttpBodyError::Incomplete) }
    }
}
