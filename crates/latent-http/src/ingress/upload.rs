//! The body of a request, which two sides read: the guest as it likes, and the transport a bounded part ahead, because over
//! HTTP/1 a client that left is seen only by reading on.
//!
//! Invariant: no more than the ahead bound is held, a body beyond its bound ends with an error, and a client that expects to be
//! told to go on is told when the guest reads.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Body, Frame, SizeHint};
use latent_executor::HttpBodyError;
use latent_wire::listener::{BodyError, RequestBody};

/// What is read ahead of the guest.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// In so many pieces.
const AHEAD_FRAMES_MAX: usize = 64;

/// The transport's side.
pub(super) struct Upload(Arc<Shared>);

/// The guest's side.
pub(super) struct GuestSide(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    sides: Arc<Sides>,
}

/// Who waits for the body. Both are woken by whatever happens to it, whoever polled it last.
#[derive(Default)]
struct Sides {
    guest: AtomicWaker,
    transport: AtomicWaker,
}

impl Wake for Sides {
    fn wake(self: Arc<Self>) {
        self.guest.wake();
        self.transport.wake();
    }
}

struct State {
    /// There until it ended or failed.
    inner: Option<RequestBody>,
    /// Whether it may be read without the guest.
    begun: bool,
    frames: VecDeque<Frame<Bytes>>,
    held: usize,
    left: u64,
    max: u64,
    fault: Option<HttpBodyError>,
    /// Whether the guest has been told of the fault.
    told: bool,
}

impl Upload {
    /// Both sides of `body`, of which `max` bytes are taken. Where its client expects to be told to go on, nothing is read
    /// before the guest does.
    pub(super) fn new(body: RequestBody, max: u64, expects: bool) -> (Self, GuestSide) {
        let state = State {
            inner: Some(body),
            begun: !expects,
            frames: VecDeque::new(),
            held: 0,
            left: max,
            max,
            fault: None,
            told: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), sides: Arc::default() });
        (Self(Arc::clone(&shared)), GuestSide(shared))
    }

    /// What was wrong with the body, once that is known.
    pub(super) fn fault(&self) -> Option<HttpBodyError> {
        self.0.lock().fault
    }

    /// Reads ahead. Ready when the client left before the end of the body.
    pub(super) fn poll_gone(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.sides.transport.register(cx.waker());
        let waker = Waker::from(Arc::clone(&self.0.sides));
        let mut state = self.0.lock();
        let mut came = false;
        while state.begun
            && state.held < AHEAD_BYTES_MAX
            && state.frames.len() < AHEAD_FRAMES_MAX
            && state.inner.is_some()
        {
            let Poll::Ready(next) = state.poll_client(&waker) else { break };
            came = true;
            if let Some(Ok(frame)) = next {
                state.held += bytes_of(&frame);
                state.frames.push_back(frame);
            }
        }
        let gone = state.fault == Some(HttpBodyError::Incomplete);
        drop(state);
        if came {
            self.0.sides.guest.wake();
        }
        if gone { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What the client sends next, within the bound.
    fn poll_client(&mut self, waker: &Waker) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let next = match ready!(Pin::new(inner).poll_frame(&mut Context::from_waker(waker))) {
            None => None,
            Some(Err(error)) => Some(Err(fault(&error))),
            Some(Ok(frame)) => Some(match self.left.checked_sub(bytes_of(&frame) as u64) {
                Some(left) => {
                    self.left = left;
                    Ok(frame)
                }
                None => Err(HttpBodyError::TooLarge { limit: self.max }),
            }),
        };
        if !matches!(next, Some(Ok(_))) {
            self.inner = None;
            self.fault = next.as_ref().and_then(|next| next.as_ref().err().copied());
        }
        Poll::Ready(next)
    }
}

impl Body for GuestSide {
    type Data = Bytes;
    type Error = HttpBodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpBodyError>>> {
        self.0.sides.guest.register(cx.waker());
        let mut state = self.0.lock();
        state.begun = true;
        if let Some(frame) = state.frames.pop_front() {
            state.held -= bytes_of(&frame);
            drop(state);
            // There is room to read ahead again.
            self.0.sides.transport.wake();
            return Poll::Ready(Some(Ok(frame)));
        }
        let next = ready!(state.poll_client(&Waker::from(Arc::clone(&self.0.sides))));
        let fault = if state.told { None } else { state.fault };
        state.told = state.fault.is_some();
        drop(state);
        if fault.is_some() {
            self.0.sides.transport.wake();
        }
        Poll::Ready(fault.map(Err).or(next))
    }

    fn is_end_stream(&self) -> bool {
        let state = self.0.lock();
        let over = state.inner.as_ref().is_none_or(Body::is_end_stream);
        over && state.frames.is_empty() && (state.fault.is_none() || state.told)
    }

    fn size_hint(&self) -> SizeHint {
        let state = self.0.lock();
        match &state.inner {
            Some(inner) if state.frames.is_empty() => inner.size_hint(),
            _ => SizeHint::default(),
        }
    }
}

fn bytes_of(frame: &Frame<Bytes>) -> usize {
    frame.data_ref().map_or(0, Bytes::len)
}

fn fault(error: &BodyError) -> HttpBodyError {
    match error {
        BodyError::Stalled { .. } => HttpBodyError::Stalled,
        BodyError::Empty => HttpBodyError::Malformed,
        BodyError::Transport(error) if error.is_parse() => HttpBodyError::Malformed,
        BodyError::Transport(_) => HttpBodyError::Incomplete,
    }
}
