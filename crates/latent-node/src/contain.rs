//! The line at which a panic of a port becomes a value: in a call, in a poll, or in a destructor.
//!
//! Invariant: nothing of a panic but the fact crosses this line. Its payload is not fit to be shown to a caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// Begins work of a pool or a backend. What it is given moves straight into its own future; a panic on the way there
/// becomes `panicked()`.
pub(crate) fn begin<'a, T>(
    work: impl FnOnce() -> BoxFuture<'a, T>,
    panicked: impl FnOnce() -> PlatformError,
) -> Result<BoxFuture<'a, T>, PlatformError> {
    call(work, panicked)
}

/// Finishes work that [`begin`] began; its panic becomes `panicked()`.
pub(crate) async fn finish<T>(
    begun: Result<BoxFuture<'_, T>, PlatformError>,
    panicked: impl FnOnce() -> PlatformError,
) -> Result<T, PlatformError> {
    AssertUnwindSafe(begun?).catch_unwind().await.map_err(|payload| {
        discard(payload);
        panicked()
    })
}

/// Makes one call; its panic becomes `panicked()`.
#[inline]
pub(crate) fn call<T>(work: impl FnOnce() -> T, panicked: impl FnOnce() -> PlatformError) -> Result<T, PlatformError> {
    contained(work).ok_or_else(panicked)
}

/// Does some work; `None` for a panic.
#[inline]
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    // Written where it is wanted: what a port answers may be large.
    let mut done = None;
    match catch_unwind(AssertUnwindSafe(|| done = Some(work()))) {
        Ok(()) => done,
        Err(payload) => {
            discard(payload);
            None
        }
    }
}

/// Something that a port made. Its destructor may panic, and that goes no further.
#[must_use = "dropping it runs a destructor of its port"]
pub(crate) struct Foreign<T>(Option<T>);

impl<T> Foreign<T> {
    pub(crate) fn new(made: T) -> Self {
        Self(Some(made))
    }

    /// What the port made, for its next user.
    pub(crate) fn into_inner(mut self) -> T {
        self.0.take().expect("it is there until it is consumed")
    }

    pub(crate) fn get(&self) -> &T {
        self.0.as_ref().expect("it is there until it is consumed")
    }

    /// Drops it now, and says whether that went without a panic.
    pub(crate) fn let_go(mut self) -> bool {
        self.drop_inner()
    }

    fn drop_inner(&mut self) -> bool {
        let Some(made) = self.0.take() else { return true };
        catch_unwind(AssertUnwindSafe(|| drop(made))).map_err(discard).is_ok()
    }
}

impl<T> Foreign<BoxFuture<'_, T>> {
    /// Polls the future; its panic becomes `panicked()`.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        panicked: impl FnOnce() -> PlatformError,
    ) -> Poll<Result<T, PlatformError>> {
        let future: &mut BoxFuture<'_, T> = self.0.as_mut().expect("it is there until it is consumed");
        match contained(|| Pin::new(future).poll(cx)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            None => Poll::Ready(Err(panicked())),
        }
    }
}

impl<T> Drop for Foreign<T> {
    fn drop(&mut self) {
        self.drop_inner();
    }
}

/// Drops what a panic carried. A payload whose own destructor panics is worth a leak, not a process.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

/// The backend panicked while it ran an activation.
pub(crate) fn backend_panicked() -> PlatformError {
    PlatformError::of_activation(
        PlatformErrorCode::Internal,
        "activation.backend-panic",
        "the backend panicked while it ran the activation; its cell is quarantined",
    )
}

/// A port panicked in `operation`.
pub(crate) fn port_panicked(port: &'static str, operation: &'static str) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, format_args!("the {port} panicked in {operation}"))
        .with_detail(ErrorDetail::new("activation.port-panic").with("port", port).with("operation", operation))
}

/// The pool panicked in `operation`.
pub(crate) fn pool_panicked(operation: &'static str) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, format_args!("the cell pool panicked in {operation}"))
        .with_detail(ErrorDetail::new("activation.pool-panic").with("operation", operation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }

    #[test]
    fn a_destructor_that_panics_is_contained_and_told() {
        assert!(!Foreign::new(Bomb).let_go());
        assert!(Foreign::new(1).let_go());
        drop(Foreign::new(Bomb));
    }

    #[test]
    fn a_panic_whose_payload_panics_in_turn_is_contained() {
        let error = call(|| panic_any(Bomb), || port_panicked("catalog", "pin")).expect_err("it panicked");
        assert_eq!(error.details()[0].field("port"), Some("catalog"));
    }

    #[test]
    fn a_destructor_that_panics_during_a_panic_ends_no_process() {
        let outer = call(
            || {
                let _held = Foreign::new(Bomb);
                panic!("the first");
            },
            backend_panicked,
        );
        assert!(outer.is_err());
    }
}
