//! Answers: messages with their metadata, and errors as statuses.
//!
//! Invariant: an error is on the wire twice, whole: as a detail of the standard status, and as `latent-error-bin` for
//! clients that do not read those.

use http::{HeaderMap, HeaderName, HeaderValue};
use prost::Message;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Response, Status};

use crate::api::{About, Refused};
use crate::{proto, status as table};

/// The metadata with the error, as a `latent.v1.Error`.
pub const ERROR_METADATA: &str = "latent-error-bin";
/// The longest encoding of an error in metadata, in bytes. There it is twice, in base64, and clients commonly take no more
/// than 16 KiB; details that would make it longer are left out, the last ones first.
const ERROR_BYTES_MAX: usize = 4096;
/// Headers of an answer, about.
const HEADERS: usize = 12;
/// What the type of that message is called where any may be.
const ERROR_TYPE: &str = "type.googleapis.com/latent.v1.Error";

/// `google.rpc.Status`, which the details of a gRPC status are by convention.
#[derive(Clone, PartialEq, Message)]
struct RichStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Detail>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Detail {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "bytes", tag = "2")]
    value: bytes::Bytes,
}

/// The error that a node gave with `status`; `None` where the status does not come from a node's API.
#[must_use]
pub fn error_of(status: &Status) -> Option<proto::Error> {
    let own = status.metadata().get_bin(ERROR_METADATA).and_then(|value| value.to_bytes().ok());
    own.and_then(|bytes| proto::Error::decode(bytes).ok()).or_else(|| {
        let rich = RichStatus::decode(status.details()).ok()?;
        let detail = rich.details.into_iter().find(|detail| detail.type_url == ERROR_TYPE)?;
        proto::Error::decode(detail.value).ok()
    })
}

/// An answer about nothing in particular.
pub(super) fn plain<T>(answer: Result<T, Refused>) -> Result<Response<T>, Status> {
    answer.map(Response::new).map_err(|refused| status(&refused))
}

/// An answer about an activation.
pub(super) fn about<T>(message: T, about: &About) -> Response<T> {
    let mut response = Response::new(message);
    *response.metadata_mut() = metadata(about.headers());
    response
}

/// A refusal as a status.
pub(super) fn status(refused: &Refused) -> Status {
    let code = table::of(&refused.error).grpc;
    carrying(code, refused.error.message(), proto::Error::from(refused), metadata(refused.headers()))
}

/// A status with `error` in both places where clients look for it.
pub(crate) fn carrying(code: tonic::Code, message: &str, error: proto::Error, mut metadata: MetadataMap) -> Status {
    let error = within(error).encode_to_vec();
    metadata.insert_bin(ERROR_METADATA, MetadataValue::from_bytes(&error));
    let rich = RichStatus {
        code: code.into(),
        message: message.to_owned(),
        details: vec![Detail { type_url: ERROR_TYPE.to_owned(), value: error.into() }],
    };
    Status::with_details_and_metadata(code, message, rich.encode_to_vec().into(), metadata)
}

fn within(mut error: proto::Error) -> proto::Error {
    while error.encoded_len() > ERROR_BYTES_MAX && error.details.pop().is_some() {}
    error
}

fn metadata(headers: impl Iterator<Item = (HeaderName, HeaderValue)>) -> MetadataMap {
    MetadataMap::from_headers(collected(headers))
}

/// The headers of an answer, with room for all, and for what the transport adds.
pub(super) fn collected(headers: impl Iterator<Item = (HeaderName, HeaderValue)>) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(HEADERS);
    map.extend(headers);
    map
}

#[cfg(test)]
mod tests {
    use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode};

    use super::*;

    #[test]
    fn an_error_in_metadata_is_bounded_and_keeps_its_first_details() {
        let mut error = PlatformError::new(PlatformErrorCode::InvalidArgument, "m".repeat(512));
        for at in 0..8 {
            let detail = (0..16).fold(ErrorDetail::new("a.kind"), |detail, _| detail.with("name", "v".repeat(at * 20)));
            error = error.with_detail(detail);
        }
        let told = error_of(&status(&Refused::from(error.clone()))).unwrap();
        assert!(told.encoded_len() <= ERROR_BYTES_MAX);
        assert!((1..8).contains(&told.details.len()), "{}", told.details.len());
        let told = told.to_platform_error();
        assert_eq!((told.message(), told.details()), (error.message(), &error.details()[..told.details().len()]));
    }

    #[test]
    fn an_error_can_be_read_from_either_place() {
        let detail = ErrorDetail::new("a.kind").with("name", "value");
        let error = PlatformError::new(PlatformErrorCode::GuestTrap, "it trapped").with_detail(detail);
        let about = About { activation_id: ActivationId::new("a-1").ok(), ..About::default() };
        let both = status(&Refused::from(error.clone()).about(about));
        assert_eq!(both.code(), tonic::Code::Aborted);
        assert_eq!(both.metadata().get("latent-activation-id").unwrap(), "a-1");
        let mut without_own = both.clone();
        without_own.metadata_mut().remove_bin(ERROR_METADATA);
        let without_details = Status::with_metadata(both.code(), both.message(), both.metadata().clone());
        for status in [without_own, without_details] {
            let read = error_of(&status).unwrap();
            assert_eq!((read.to_platform_error(), &*read.activation_id), (error.clone(), "a-1"));
        }
        assert_eq!(error_of(&Status::unavailable("a proxy's own")), None);
    }
}
