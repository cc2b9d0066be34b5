//! Fields of requests: checked, or refused by their name.
//!
//! Invariant: a refusal names the field and what is expected, and repeats nothing of what was sent.

use std::fmt;

use latent_core::{ErrorDetail, IdError, PlatformError, PlatformErrorCode, Sha256Digest};

/// `field` is not what it has to be.
pub(crate) fn invalid(field: &str, expected: impl fmt::Display) -> PlatformError {
    let detail = ErrorDetail::new("api.field").with("field", field).with("expected", &expected);
    let message = format_args!("{field} has to be {expected}");
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

/// An id or a name.
pub(crate) fn id<T>(
    field: &str,
    text: String,
    make: impl FnOnce(String) -> Result<T, IdError>,
) -> Result<T, PlatformError> {
    make(text).map_err(|reason| {
        let detail = ErrorDetail::new("api.field").with("field", field).with("expected", "an id");
        let message = format_args!("{field} cannot be used: {reason}");
        PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
    })
}

/// An id or a name, unless it is left out.
pub(crate) fn optional_id<T>(
    field: &str,
    text: String,
    make: impl FnOnce(String) -> Result<T, IdError>,
) -> Result<Option<T>, PlatformError> {
    if text.is_empty() { Ok(None) } else { id(field, text, make).map(Some) }
}

/// A SHA-256, with or without `sha256:`.
pub(crate) fn digest(field: &str, text: &str) -> Result<Sha256Digest, PlatformError> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    Sha256Digest::parse(digits).ok_or_else(|| invalid(field, "a SHA-256 as 64 lower-case hexadecimal digits"))
}

/// A text that an empty string stands for the absence of.
pub(crate) fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
