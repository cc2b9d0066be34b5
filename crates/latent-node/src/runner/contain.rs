//! The line at which a panic of the pool or the backend becomes a value.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// Runs `work`, which should be an `async` block around the call that makes the foreign future, so that the call is
/// inside the line too. After a panic nothing that `work` owned is looked at again, and the answer is what `panicked`
/// makes; the panic's own words stay in the operator's output.
pub(super) async fn contain<T>(
    work: impl Future<Output = T>,
    panicked: impl FnOnce() -> PlatformError,
) -> Result<T, PlatformError> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|_payload| panicked())
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
