//! The one table from errors to the statuses of both transports (reference, section 2).
//!
//! Invariant: exhaustive, so that a new code does not compile without its statuses. Over HTTP a timeout, a limit of the
//! guest, a trap, overload and a bad request have five different statuses.

use http::{HeaderValue, StatusCode};
use latent_core::{PlatformError, PlatformErrorCode};
use tonic::Code;

/// What an error is on each transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statuses {
    /// In gRPC.
    pub grpc: Code,
    /// In HTTP.
    pub http: StatusCode,
}

/// The statuses of `error`: those of its code, and over HTTP 413 for a payload that is too large and 415 for a body that is
/// written down in a way that is not read.
#[must_use]
pub fn of(error: &PlatformError) -> Statuses {
    let statuses = statuses(error.code(), error.is_retryable());
    let http = match () {
        () if is_payload_too_large(error) => StatusCode::PAYLOAD_TOO_LARGE,
        () if error.has_detail("http.media-type") => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        () => statuses.http,
    };
    Statuses { http, ..statuses }
}

/// The statuses of `code`, which depend on whether the error is `retryable` where the same code tells of overload and of
/// a limit that the same call meets again.
#[must_use]
pub const fn statuses(code: PlatformErrorCode, retryable: bool) -> Statuses {
    use PlatformErrorCode as Of;
    let (grpc, http) = match code {
        Of::AdmissionRejected | Of::ResourceExhausted if retryable => {
            (Code::ResourceExhausted, StatusCode::TOO_MANY_REQUESTS)
        }
        Of::AdmissionRejected => (Code::FailedPrecondition, StatusCode::UNPROCESSABLE_ENTITY),
        Of::AlreadyExists => (Code::AlreadyExists, StatusCode::CONFLICT),
        // 499 is what proxies call a client that left; there is no registered status for it.
        Of::Cancelled => (Code::Cancelled, client_closed()),
        Of::CorruptArtifact => (Code::DataLoss, StatusCode::INTERNAL_SERVER_ERROR),
        Of::DeadlineExceeded => (Code::DeadlineExceeded, StatusCode::GATEWAY_TIMEOUT),
        Of::DependencyFailed => (Code::Unavailable, StatusCode::BAD_GATEWAY),
        Of::GuestTrap => (Code::Aborted, StatusCode::BAD_GATEWAY),
        Of::IncompatibleContract => (Code::Unimplemented, StatusCode::UNPROCESSABLE_ENTITY),
        Of::Internal => (Code::Internal, StatusCode::INTERNAL_SERVER_ERROR),
        Of::InvalidArgument => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
        Of::NotFound | Of::RouteUnavailable => (Code::NotFound, StatusCode::NOT_FOUND),
        Of::PermissionDenied => (Code::PermissionDenied, StatusCode::FORBIDDEN),
        Of::ResourceExhausted => (Code::ResourceExhausted, StatusCode::INSUFFICIENT_STORAGE),
        Of::StateConflict => (Code::FailedPrecondition, StatusCode::CONFLICT),
        Of::Unauthenticated => (Code::Unauthenticated, StatusCode::UNAUTHORIZED),
        Of::Unavailable => (Code::Unavailable, StatusCode::SERVICE_UNAVAILABLE),
    };
    Statuses { grpc, http }
}

/// When a caller that got `error` may try again, for the header `retry-after`: after a second where the error is retryable
/// and tells of overload, because what a node is short of comes back within an activation's time.
#[must_use]
pub fn retry_after(error: &PlatformError) -> Option<HeaderValue> {
    let overloaded = matches!(of(error).http, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    (overloaded && error.is_retryable()).then(|| HeaderValue::from_static("1"))
}

fn is_payload_too_large(error: &PlatformError) -> bool {
    error.details().iter().any(|detail| match detail.kind() {
        "admission.limit" => detail.field("reason") == Some("payload-too-large"),
        "activation.request-invalid" => detail.field("field") == Some("payload") && detail.field("rule") == Some("max"),
        "http.body" => detail.field("max").is_some(),
        "api.component-size" | "storage.component-size" => true,
        _ => false,
    })
}

const fn client_closed() -> StatusCode {
    match StatusCode::from_u16(499) {
        Ok(status) => status,
        Err(_) => StatusCode::REQUEST_TIMEOUT,
    }
}

#[cfg(test)]
mod tests;
