//! The one table from error codes to the statuses of both transports (reference, section 2).
//!
//! Invariant: exhaustive, so that a new code does not compile without its statuses.

use http::StatusCode;
use latent_core::PlatformErrorCode;
use tonic::Code;

/// What a code is on each transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statuses {
    /// In gRPC.
    pub grpc: Code,
    /// In HTTP.
    pub http: StatusCode,
}

/// The statuses of `code`.
#[must_use]
pub const fn statuses(code: PlatformErrorCode) -> Statuses {
    use PlatformErrorCode as Of;
    let (grpc, http) = match code {
        Of::AdmissionRejected => (Code::ResourceExhausted, StatusCode::TOO_MANY_REQUESTS),
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
        Of::NotFound => (Code::NotFound, StatusCode::NOT_FOUND),
        Of::PermissionDenied => (Code::PermissionDenied, StatusCode::FORBIDDEN),
        Of::ResourceExhausted => (Code::ResourceExhausted, StatusCode::INSUFFICIENT_STORAGE),
        Of::RouteUnavailable => (Code::NotFound, StatusCode::NOT_FOUND),
        Of::StateConflict => (Code::FailedPrecondition, StatusCode::CONFLICT),
        Of::Unauthenticated => (Code::Unauthenticated, StatusCode::UNAUTHORIZED),
        Of::Unavailable => (Code::Unavailable, StatusCode::SERVICE_UNAVAILABLE),
    };
    Statuses { grpc, http }
}

const fn client_closed() -> StatusCode {
    match StatusCode::from_u16(499) {
        Ok(status) => status,
        Err(_) => StatusCode::REQUEST_TIMEOUT,
    }
}
