//! The line at which a panic of the pool or the backend becomes a value.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// Begins work of a pool or a backend. What it is given moves straight into its own future; a panic on the way there
/// becomes `panicked()`.
pub(super) fn begin<'a, T>(
    work: impl FnOnce() -> BoxFuture<'a, T>,
    panicked: impl FnOnce() -> PlatformError,
) -> Result<BoxFuture<'a, T>, PlatformError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_payload| panicked())
}

/// Finishes work that [`begin`] began; its panic becomes `panicked()`. The payload of a panic is dropped: it is not fit
/// to be shown to a caller.
pub(super) async fn finish<T>(
    begun: Result<BoxFuture<'_, T>, PlatformError>,
    panicked: impl FnOnce() -> PlatformError,
) -> Result<T, PlatformError> {
    AssertUnwindSafe(begun?).catch_unwind().await.map_err(|_payload| panicked())
}

/// The backend panicked while it ran an activation.
pub(super) fn backend_panicked() -> PlatformError {
    PlatformError::of_activation(
        PlatformErrorCode::Internal,
        "activation.backend-panic",
        "the backend panicked while it ran the activation; its cell is quarantined",
    )
}

/// The pool panicked in `operation`.
pub(super) fn pool_panicked(operation: &'static str) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, format_args!("the cell pool panicked in {operation}"))
        .with_detail(ErrorDetail::new("activation.pool-panic").with("operation", operation))
}
