//! Errors as answers in HTTP.
//!
//! Invariant: every error has the status of the one table, except for those that HTTP alone knows.

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Response, StatusCode};

use super::routes::Unrouted;
use crate::api::Refused;
use crate::proto;
use crate::status;

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The answer that says why a call was refused.
pub(super) fn refused(refused: &Refused) -> Response<Body> {
    let error = proto::Error::from(refused);
    // A message of strings and numbers has a JSON form.
    let body = serde_json::to_vec(&error).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    let status = status::of(&refused.error).http;
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    headers.extend(refused.headers());
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    headers.extend(status::retry_after(&refused.error).map(|after| (RETRY_AFTER, after)));
    response
}

/// The answer to a request that is none of the calls.
pub(super) fn unrouted(unrouted: Unrouted) -> Response<Body> {
    match unrouted {
        Unrouted::Refused(error) => refused(&error.into()),
        Unrouted::Method(methods, error) => {
            let mut response = refused(&error.into());
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            let methods: Vec<&str> = methods.iter().map(Method::as_str).collect();
            if let Ok(allowed) = HeaderValue::try_from(methods.join(", ")) {
                response.headers_mut().insert(ALLOW, allowed);
            }
            response
        }
    }
}
