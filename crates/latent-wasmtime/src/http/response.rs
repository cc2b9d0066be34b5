//! What a handler answers with, and where it goes: to the transport as soon as the handler sets it.
//!
//! Invariant: what the transport gets is a final response whose head says nothing that its body cannot keep.

use std::sync::{Arc, OnceLock};

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use latent_core::{ErrorDetail, ExecutionOutcome, Payload, PlatformError, PlatformErrorCode};
use latent_executor::{HttpBody, HttpExchange};
use tokio::sync::oneshot;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use super::body::ResponseBody;
use super::errors::name;

/// How a handler answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// With a response.
    Response,
    /// With this error code.
    Error(&'static str),
    /// With a response that is none, because of this part of its head.
    Malformed(&'static str),
}

/// Where the answer of one run is kept.
#[derive(Debug, Clone, Default)]
pub struct AnswerSlot(Arc<OnceLock<Answer>>);

impl AnswerSlot {
    /// What came of a handler that returned.
    pub fn outcome(&self) -> ExecutionOutcome {
        match self.0.get() {
            Some(Answer::Response) => ExecutionOutcome::Returned(Payload::octets(Vec::new())),
            Some(Answer::Error(code)) => {
                let message = format_args!("the handler answered with the error {code} instead of a response");
                failed(message, ErrorDetail::new("activation.http-error").with("error", code))
            }
            Some(Answer::Malformed(what)) => {
                let message = format_args!("the handler's response cannot be sent: its {what} is none of a response");
                failed(message, ErrorDetail::new("activation.malformed-response").with("part", what))
            }
            None => failed("the handler returned without a response", ErrorDetail::new("activation.no-response")),
        }
    }

    /// What takes the handler's answer to a request made with `method`, and hands a response to `transport`.
    pub fn sender(
        &self,
        method: &Method,
        exchange: Arc<HttpExchange>,
        transport: oneshot::Sender<Response<HttpBody>>,
    ) -> impl FnOnce(Result<Response<HyperOutgoingBody>, ErrorCode>) + Send + Sync + 'static {
        let slot = self.clone();
        let is_head = method == Method::HEAD;
        move |answer| {
            let answer = match answer.map(|response| checked(response, is_head, exchange)) {
                Ok(Ok(response)) => {
                    // Nobody there to take it is no fault of the guest.
                    let _taken = transport.send(response);
                    Answer::Response
                }
                Ok(Err(what)) => Answer::Malformed(what),
                Err(code) => Answer::Error(name(&code)),
            };
            // The handler has one place for its answer, and that is gone now.
            let _first = slot.0.set(answer);
        }
    }
}

fn failed(message: impl std::fmt::Display, detail: ErrorDetail) -> ExecutionOutcome {
    ExecutionOutcome::Failed(PlatformError::new(PlatformErrorCode::GuestTrap, message).with_detail(detail))
}

/// The response with its body made to keep what the head says, or the part of the head that is none.
fn checked(
    response: Response<HyperOutgoingBody>,
    is_head: bool,
    exchange: Arc<HttpExchange>,
) -> Result<Response<HttpBody>, &'static str> {
    let status = response.status();
    // Informational responses come before the one that is set, and nothing here can send them.
    if status.is_informational() {
        return Err("status");
    }
    let length = length(response.headers()).map_err(|_none| "content-length")?;
    let has_body = !is_head && status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED;
    Ok(response.map(|body| ResponseBody::new(body, exchange, length.filter(|_| has_body)).boxed_unsync()))
}

/// What is said as a length is no decimal number, or more than one.
#[derive(Debug, PartialEq, Eq)]
struct NoLength;

/// What the head says about the length, if anything.
fn length(headers: &HeaderMap) -> Result<Option<u64>, NoLength> {
    let mut values = headers.get_all(CONTENT_LENGTH).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|digits| digits.parse().ok()).map(Some).ok_or(NoLength)
        }
        (Some(_), Some(_)) => Err(NoLength),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (CONTENT_LENGTH, http::HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_length_is_one_decimal_number_or_none_is_said() {
        assert_eq!(length(&HeaderMap::new()), Ok(None));
        assert_eq!(length(&headers(&["0"])), Ok(Some(0)));
        assert_eq!(length(&headers(&["18446744073709551615"])), Ok(Some(u64::MAX)));
        for value in ["", "+5", "-1", " 5", "5,5", "abc", "18446744073709551616"] {
            assert_eq!(length(&headers(&[value])), Err(NoLength), "{value}");
        }
        let mut twice = headers(&["5"]);
        twice.append(CONTENT_LENGTH, http::HeaderValue::from_static("5"));
        assert_eq!(length(&twice), Err(NoLength));
    }
}
