//! A scripted HTTP handler: a closure in the place of a guest.
//!
//! Invariant: the exchange is told that the guest is gone before anything that the guest held is dropped.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures_util::future::BoxFuture;
use latent_core::{ExecutionOutcome, Payload, PlatformError, PlatformErrorCode, StopCause};

use crate::backend::ExecutionRequest;
use crate::cancellation::ExecutionCancellation;
use crate::http::{HttpExchange, HttpExchangeParts};

/// How a scripted handler ended.
pub struct FakeHandled {
    outcome: ExecutionOutcome,
    held: Option<Box<dyn Any + Send>>,
}

impl FakeHandled {
    /// It returned, and has finished what it began.
    #[must_use]
    pub fn returned() -> Self {
        Self { outcome: ExecutionOutcome::Returned(Payload::default()), held: None }
    }

    /// It came to this.
    #[must_use]
    pub fn ended(outcome: ExecutionOutcome) -> Self {
        Self { outcome, held: None }
    }

    /// With what its store still holds, such as the sender of a body: dropped with the store.
    #[must_use]
    pub fn holding(mut self, held: impl Any + Send) -> Self {
        self.held = Some(Box::new(held));
        self
    }
}

type Handler = dyn Fn(HttpExchangeParts) -> BoxFuture<'static, FakeHandled> + Send + Sync;

/// What is run in the place of a guest's HTTP handler. It is stopped wherever it waits.
#[derive(Clone)]
pub struct FakeHandler(Arc<Handler>);

impl FakeHandler {
    /// A handler that does what `handle` does.
    #[must_use]
    pub fn new<F>(handle: impl Fn(HttpExchangeParts) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = FakeHandled> + Send + 'static,
    {
        Self(Arc::new(move |parts| Box::pin(handle(parts))))
    }

    /// Handles the request of `request` once.
    pub(super) async fn run(
        &self,
        request: &ExecutionRequest,
        cancellation: &ExecutionCancellation,
    ) -> ExecutionOutcome {
        let taken = request.exchange.as_ref().and_then(|exchange| Some((exchange, exchange.take()?)));
        let Some((exchange, parts)) = taken else { return ExecutionOutcome::Failed(no_exchange()) };
        let mut running = Running { exchange, guest: Some((self.0)(parts)) };
        let handled = poll_fn(|cx| {
            cancellation.probe().register(cx.waker());
            #[expect(clippy::disallowed_methods, reason = "a running guest reads the monotonic clock itself")]
            let now = Instant::now();
            match (cancellation.checkpoint(now), &mut running.guest) {
                (Some(cause), _) => Poll::Ready(Err(stopped(cause))),
                (None, Some(guest)) => guest.as_mut().poll(cx).map(Ok),
                (None, None) => Poll::Pending,
            }
        })
        .await;
        match handled {
            Ok(FakeHandled { outcome, held }) => {
                drop(running);
                drop(held);
                outcome
            }
            Err(stopped) => stopped,
        }
    }
}

impl fmt::Debug for FakeHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeHandler").finish_non_exhaustive()
    }
}

/// A handler that runs, in the way in which a store holds a guest.
struct Running<'e> {
    exchange: &'e HttpExchange,
    guest: Option<BoxFuture<'static, FakeHandled>>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.exchange.guest_is_gone();
        self.guest = None;
    }
}

/// What a stop of a run comes to.
pub(super) fn stopped(cause: StopCause) -> ExecutionOutcome {
    match cause {
        StopCause::Cancelled => ExecutionOutcome::Cancelled,
        StopCause::DeadlineExceeded => ExecutionOutcome::DeadlineExceeded,
        StopCause::TransportStopped => ExecutionOutcome::TransportStopped,
    }
}

fn no_exchange() -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, "the scripted handler is called without a request")
}
