//! Errors as answers: `application/problem+json`, whatever the client accepts.
//!
//! Invariant: every error has the status of the one table, except for a body that stalled, which HTTP alone knows.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Response, StatusCode};
use latent_core::PlatformError;
use latent_wire::api::Refused;
use latent_wire::status;
use serde_json::json;

use super::body::ResponseBody;
use super::outward::Outward;

/// The detail of a request whose body stalled.
pub(super) const STALLED: &str = "http.body-stalled";

/// The answer that says why there is none of the guest, to a request of `method`.
pub(super) fn answer(refused: &Refused, method: &Method) -> Response<ResponseBody> {
    let status = status_of(&refused.error);
    let body = if method == Method::HEAD {
        ResponseBody::nothing()
    } else {
        ResponseBody::whole(Outward::of(text(refused, status)))
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.extend(refused.headers());
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    headers.extend(status::retry_after(&refused.error).map(|after| (RETRY_AFTER, after)));
    response
}

fn status_of(error: &PlatformError) -> StatusCode {
    if error.has_detail(STALLED) { StatusCode::REQUEST_TIMEOUT } else { status::of(error).http }
}

fn text(refused: &Refused, status: StatusCode) -> Bytes {
    let error = &refused.error;
    let id = refused.about.as_ref().and_then(|about| about.activation_id.as_ref());
    let mut problem = json!({
        "type": format!("urn:latent:error:{}", error.code().as_str()),
        "title": status.canonical_reason().unwrap_or("Client Closed Request"),
        "status": status.as_u16(),
        "detail": error.message(),
        "code": error.code().as_str(),
        "retryable": error.is_retryable(),
    });
    if let Some(kind) = error.details().first() {
        problem["kind"] = kind.kind().into();
    }
    if let Some(id) = id {
        problem["activationId"] = id.as_str().into();
    }
    problem.to_string().into()
}
