//! The bodies of requests and responses, as a listener watches them.
//!
//! Invariant: a body that is waited for either makes progress within the stall timeout or fails.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::activity::UnderWay;
use super::socket::Cut;

/// Frames without a byte that are taken between two with some.
const EMPTY_FRAMES_MAX: u32 = 64;

/// Why a request's body broke off.
#[derive(Debug)]
pub enum BodyError {
    /// Too few bytes came in the time.
    Stalled {
        /// The time.
        within: Duration,
    },
    /// Frame after frame came without a byte.
    Empty,
    /// The connection or the stream ended, or broke the protocol.
    Transport(hyper::Error),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stalled { within } => write!(f, "the body made no progress within {} ms", within.as_millis()),
            Self::Empty => write!(f, "the body is an endless row of empty frames"),
            Self::Transport(_) => write!(f, "the body broke off"),
        }
    }
}

impl std::error::Error for BodyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Transport(error) => Some(error),
            Self::Stalled { .. } | Self::Empty => None,
        }
    }
}

/// What counts as progress of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) within: Duration,
    pub(super) bytes: usize,
}

/// The body of a request.
#[derive(Debug)]
pub struct RequestBody<B = Incoming> {
    inner: B,
    pace: Pace,
    /// Waited since the last progress, without the wait that goes on.
    waited: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Since the last progress.
    bytes: usize,
    empty_frames: u32,
}

impl<B> RequestBody<B> {
    pub(super) fn new(inner: B, pace: Pace) -> Self {
        Self { inner, pace, waited: Duration::ZERO, waiting: None, bytes: 0, empty_frames: 0 }
    }

    /// Goes on waiting; ready when that was too long.
    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<BodyError> {
        let left = self.pace.within.saturating_sub(self.waited);
        let (_, timer) = self.waiting.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(tokio::time::sleep_until(now + left)))
        });
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(BodyError::Stalled { within: self.pace.within })
    }

    /// Takes note of a frame of `bytes`.
    fn arrived(&mut self, bytes: usize) -> Result<(), BodyError> {
        if let Some((since, _)) = self.waiting.take() {
            self.waited += since.elapsed();
        }
        self.bytes += bytes;
        self.empty_frames = if bytes == 0 { self.empty_frames + 1 } else { 0 };
        if self.bytes >= self.pace.bytes {
            (self.bytes, self.waited) = (0, Duration::ZERO);
        }
        if self.empty_frames > EMPTY_FRAMES_MAX { Err(BodyError::Empty) } else { Ok(()) }
    }
}

impl<B: Body<Data = Bytes, Error = hyper::Error> + Unpin> Body for RequestBody<B> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let Poll::Ready(next) = Pin::new(&mut this.inner).poll_frame(cx) else {
            return this.poll_stalled(cx).map(|stalled| Some(Err(stalled)));
        };
        Poll::Ready(next.map(|frame| {
            let frame = frame.map_err(BodyError::Transport)?;
            this.arrived(frame.data_ref().map_or(0, Buf::remaining))?;
            Ok(frame)
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a response, whose request is under way until it has been written or dropped.
#[derive(Debug)]
pub(super) struct ResponseBody<B> {
    /// `None` for a listener's own refusals.
    inner: Option<B>,
    /// Of a connection that a cut response is to take with it.
    cut: Option<Cut>,
    _under_way: UnderWay,
}

impl<B> ResponseBody<B> {
    pub(super) fn of(inner: B, cut: Option<Cut>, under_way: UnderWay) -> Self {
        Self { inner: Some(inner), cut, _under_way: under_way }
    }

    pub(super) fn empty(under_way: UnderWay) -> Self {
        Self { inner: None, cut: None, _under_way: under_way }
    }
}

impl<B: Body + Unpin> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.get_mut();
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let polled = Pin::new(inner).poll_frame(cx);
        if let (Poll::Ready(Some(Err(_))), Some(cut)) = (&polled, &this.cut) {
            cut.set();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const WITHIN: Duration = Duration::from_millis(200);

    /// Gives the frames that are due; each is due so much after the one before.
    struct Slow {
        frames: VecDeque<(Duration, Bytes)>,
        timer: Option<Pin<Box<Sleep>>>,
    }

    impl Body for Slow {
        type Data = Bytes;
        type Error = hyper::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
            let Some((after, _)) = self.frames.front() else { return Poll::Ready(None) };
            let after = *after;
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
            ready!(timer.as_mut().poll(cx));
            self.timer = None;
            let frame = self.frames.pop_front().map(|(_, bytes)| Ok(Frame::data(bytes)));
            Poll::Ready(frame)
        }
    }

    fn body(frames: usize, after: Duration, bytes: &'static [u8]) -> RequestBody<Slow> {
        let frames = (0..frames).map(|_| (after, Bytes::from_static(bytes))).collect();
        let pace = Pace { within: WITHIN, bytes: 4 };
        RequestBody::new(Slow { frames, timer: None }, pace)
    }

    async fn read(mut body: RequestBody<Slow>) -> Result<usize, BodyError> {
        let mut bytes = 0;
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            bytes += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(bytes)
    }

    #[tokio::test]
    async fn a_trickle_of_single_bytes_fails_within_the_stall_timeout() {
        let start = Instant::now();
        let error = read(body(1000, WITHIN * 9 / 10, b"x")).await.expect_err("too slow");
        assert!(matches!(error, BodyError::Stalled { within: WITHIN }), "{error}");
        assert!(start.elapsed() >= WITHIN);
    }

    #[tokio::test]
    async fn a_body_that_keeps_its_pace_may_take_long() {
        let start = Instant::now();
        assert_eq!(read(body(30, WITHIN / 10, b"four")).await.expect("keeps its pace"), 120);
        assert!(start.elapsed() > WITHIN);
    }

    #[tokio::test]
    async fn a_reader_that_pauses_does_not_make_the_peer_slow() {
        let mut body = body(2, WITHIN / 10, b"x");
        for _ in 0..2 {
            std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.expect("a frame").expect("in time");
            let waited = body.waited;
            tokio::time::sleep(WITHIN * 2).await;
            assert_eq!(body.waited, waited);
        }
    }

    #[tokio::test]
    async fn empty_frames_are_taken_up_to_their_bound() {
        assert_eq!(read(body(64, Duration::ZERO, b"")).await.expect("few"), 0);
        assert!(matches!(read(body(65, Duration::ZERO, b"")).await, Err(BodyError::Empty)));
    }
}
