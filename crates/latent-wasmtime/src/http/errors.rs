//! Errors of bodies and requests in the words of `wasi:http`, and those words by name. Pure tables.

use latent_executor::{HttpBodyError, OutgoingError};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// Why the body of a request is not read to its end.
pub fn of_request(error: HttpBodyError) -> Error {
    match error {
        HttpBodyError::Incomplete => Error::ConnectionTerminated,
        HttpBodyError::TooLarge { limit } => Error::HttpRequestBodySize(Some(limit)),
        HttpBodyError::Stalled => Error::ConnectionReadTimeout,
        HttpBodyError::Malformed => Error::HttpProtocolError,
    }
}

/// Why the body of a response to a guest's own request is not read to its end.
pub fn of_incoming_response(error: HttpBodyError) -> Error {
    match error {
        HttpBodyError::Incomplete => Error::HttpResponseIncomplete,
        HttpBodyError::TooLarge { limit } => Error::HttpResponseBodySize(Some(limit)),
        HttpBodyError::Stalled => Error::ConnectionReadTimeout,
        HttpBodyError::Malformed => Error::HttpProtocolError,
    }
}

/// Why a guest's own request has no response.
pub fn of_outgoing(error: &OutgoingError) -> Error {
    match error {
        OutgoingError::Denied => Error::HttpRequestDenied,
        OutgoingError::AddressProhibited => Error::DestinationIpProhibited,
        OutgoingError::UriInvalid => Error::HttpRequestUriInvalid,
        OutgoingError::Unsupported => Error::HttpRequestMethodInvalid,
        OutgoingError::NameUnknown => Error::DnsError { rcode: Some("NXDOMAIN".to_owned()), info_code: None },
        OutgoingError::NameTimeout => Error::DnsTimeout,
        OutgoingError::ConnectionTimeout => Error::ConnectionTimeout,
        OutgoingError::ConnectionRefused => Error::ConnectionRefused,
        OutgoingError::ConnectionTerminated => Error::ConnectionTerminated,
        OutgoingError::ConnectionLimit => Error::ConnectionLimitReached,
        OutgoingError::TlsFailed => Error::TlsProtocolError,
        OutgoingError::CertificateRefused => Error::TlsCertificateError,
        OutgoingError::ResponseTimeout => Error::HttpResponseTimeout,
        OutgoingError::RequestTooLarge { limit } => Error::HttpRequestBodySize(Some(*limit)),
        OutgoingError::ResponseHeadTooLarge => Error::HttpResponseHeaderSectionSize(None),
        OutgoingError::Protocol => Error::HttpProtocolError,
        OutgoingError::Unavailable => Error::DestinationUnavailable,
    }
}

/// The name of an error code, as the contract writes it.
pub const fn name(code: &ErrorCode) -> &'static str {
    match code {
        ErrorCode::DnsTimeout => "DNS-timeout",
        ErrorCode::DnsError(_) => "DNS-error",
        ErrorCode::DestinationNotFound => "destination-not-found",
        ErrorCode::DestinationUnavailable => "destination-unavailable",
        ErrorCode::DestinationIpProhibited => "destination-IP-prohibited",
        ErrorCode::DestinationIpUnroutable => "destination-IP-unroutable",
        ErrorCode::ConnectionRefused => "connection-refused",
        ErrorCode::ConnectionTerminated => "connection-terminated",
        ErrorCode::ConnectionTimeout => "connection-timeout",
        ErrorCode::ConnectionReadTimeout => "connection-read-timeout",
        ErrorCode::ConnectionWriteTimeout => "connection-write-timeout",
        ErrorCode::ConnectionLimitReached => "connection-limit-reached",
        ErrorCode::TlsProtocolError => "TLS-protocol-error",
        ErrorCode::TlsCertificateError => "TLS-certificate-error",
        ErrorCode::TlsAlertReceived(_) => "TLS-alert-received",
        ErrorCode::HttpRequestDenied => "HTTP-request-denied",
        ErrorCode::HttpRequestLengthRequired => "HTTP-request-length-required",
        ErrorCode::HttpRequestBodySize(_) => "HTTP-request-body-size",
        ErrorCode::HttpRequestMethodInvalid => "HTTP-request-method-invalid",
        ErrorCode::HttpRequestUriInvalid => "HTTP-request-URI-invalid",
        ErrorCode::HttpRequestUriTooLong => "HTTP-request-URI-too-long",
        ErrorCode::HttpRequestHeaderSectionSize(_) => "HTTP-request-header-section-size",
        ErrorCode::HttpRequestHeaderSize(_) => "HTTP-request-header-size",
        ErrorCode::HttpRequestTrailerSectionSize(_) => "HTTP-request-trailer-section-size",
        ErrorCode::HttpRequestTrailerSize(_) => "HTTP-request-trailer-size",
        ErrorCode::HttpResponseIncomplete => "HTTP-response-incomplete",
        ErrorCode::HttpResponseHeaderSectionSize(_) => "HTTP-response-header-section-size",
        ErrorCode::HttpResponseHeaderSize(_) => "HTTP-response-header-size",
        ErrorCode::HttpResponseBodySize(_) => "HTTP-response-body-size",
        ErrorCode::HttpResponseTrailerSectionSize(_) => "HTTP-response-trailer-section-size",
        ErrorCode::HttpResponseTrailerSize(_) => "HTTP-response-trailer-size",
        ErrorCode::HttpResponseTransferCoding(_) => "HTTP-response-transfer-coding",
        ErrorCode::HttpResponseContentCoding(_) => "HTTP-response-content-coding",
        ErrorCode::HttpResponseTimeout => "HTTP-response-timeout",
        ErrorCode::HttpUpgradeFailed => "HTTP-upgrade-failed",
        ErrorCode::HttpProtocolError => "HTTP-protocol-error",
        ErrorCode::LoopDetected => "loop-detected",
        ErrorCode::ConfigurationError => "configuration-error",
        ErrorCode::InternalError(_) => "internal-error",
    }
}
