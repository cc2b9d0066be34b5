//! Places for calls that hold the disk or much memory, and the way there.
//!
//! Invariant: no more calls block threads or hold whole components than there are places; whoever finds none within the
//! wait is told to try again.

use std::sync::Arc;
use std::time::Duration;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Some places.
#[derive(Debug, Clone)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    max: usize,
    wait: Duration,
    what: &'static str,
}

impl Places {
    pub(super) fn new(max: usize, wait: Duration, what: &'static str) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(max)), max, wait, what }
    }

    /// A place, at the latest after the wait.
    ///
    /// # Errors
    /// Retryable `resource-exhausted`, detail `api.busy`.
    pub(super) async fn take(&self) -> Result<OwnedSemaphorePermit, PlatformError> {
        match tokio::time::timeout(self.wait, Arc::clone(&self.free).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(self.busy()),
        }
    }

    /// Runs `work`, which blocks, on a thread that may be blocked. Once it has begun it goes to its end, also when nobody
    /// waits for it any more; its place is free only then.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PlatformError> + Send + 'static,
    ) -> Result<T, PlatformError> {
        blocking(self.take().await?, work).await
    }

    fn busy(&self) -> PlatformError {
        let Self { max, what, .. } = self;
        let message = format_args!("{max} {what} are under way, as many as may be at once; try again later");
        let detail = ErrorDetail::new("api.busy").with("what", what).with("max", max);
        PlatformError::new(PlatformErrorCode::ResourceExhausted, message).with_detail(detail).retryable()
    }
}

/// As [`Places::run`], in a place that was taken before.
pub(super) async fn blocking<T: Send + 'static>(
    place: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<T, PlatformError> + Send + 'static,
) -> Result<T, PlatformError> {
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    done.await.unwrap_or_else(|_panicked_or_shut_down| {
        let message = "the call broke off within the node; look whether it took effect before trying again";
        let detail = ErrorDetail::new("api.broken-off");
        Err(PlatformError::new(PlatformErrorCode::Internal, message).with_detail(detail))
    })
}
