//! `POST /v1/invoke/…`: a payload in, a result out, everything else in headers.
//!
//! Invariant: a header that begins with `latent-` is understood or refused.

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use latent_core::{PlatformError, PlatformErrorCode};

use super::Asked;
use super::body;
use super::text::{as_json, decode, header, invalid, number, raw_header, text, time};
use crate::api::{Api, Invoked, Refused};
use crate::proto;
use crate::proto::invoke_response::Outcome;

/// How the function ended: `result` or `declared-error`.
const OUTCOME: HeaderName = HeaderName::from_static("latent-outcome");
/// What begins the names of headers that are metadata.
const METADATA: &str = "latent-meta-";
/// The other headers of an invocation.
const HEADERS: &[&str] = &[
    "latent-activation-id",
    "latent-deadline",
    "latent-fuel",
    "latent-log-bytes",
    "latent-memory-bytes",
    "latent-parent-activation-id",
    "latent-priority",
    "latent-retry-count",
    "latent-root-activation-id",
    "latent-route",
    "latent-timeout",
];

pub(super) async fn invoke(api: &Api, mut asked: Asked, body: &mut Body) -> Result<Response<Body>, Refused> {
    let mut request = request(&mut asked)?;
    request.payload = body::read(&asked.parts.headers, body, api.payload_bytes_max()).await?;
    let invoked = api.invoke(&asked.caller, request).await?;
    response(invoked)
}

/// The call without its payload.
fn request(asked: &mut Asked) -> Result<proto::InvokeRequest, PlatformError> {
    let headers = &asked.parts.headers;
    let of = |name| Ok::<_, PlatformError>(header(headers, name)?.unwrap_or_default());
    let metadata = metadata(headers)?;
    let route = one_of("route", asked.query.take("route"), header(headers, "latent-route")?)?;
    let timeout = one_of("timeout", asked.query.take("timeout"), header(headers, "latent-timeout")?)?;
    let timeout = timeout.map(|given| time("http.header", "latent-timeout", &given)).transpose()?;
    let deadline = header(headers, "latent-deadline")?
        .map(|text| as_json("http.header", "latent-deadline", text, "has to be a time such as 2030-01-31T12:00:00Z"));
    Ok(proto::InvokeRequest {
        service: asked.path.take("service").unwrap_or_default(),
        route: route.unwrap_or_default(),
        contract: asked.path.take("contract").unwrap_or_default(),
        function: asked.path.take("function").unwrap_or_default(),
        media_type: media_type(headers)?,
        payload: bytes::Bytes::new(),
        activation_id: of("latent-activation-id")?,
        timeout: timeout.map(Into::into),
        deadline: deadline.transpose()?,
        budget: budget(headers)?,
        priority: counted(headers, "latent-priority")?.unwrap_or_default(),
        idempotency_key: of("idempotency-key")?,
        retry_count: counted(headers, "latent-retry-count")?.unwrap_or_default(),
        metadata,
        root_activation_id: of("latent-root-activation-id")?,
        parent_activation_id: of("latent-parent-activation-id")?,
    })
}

/// What is given in the query or in the header of a name, but not in both.
fn one_of(name: &str, query: Option<String>, header: Option<String>) -> Result<Option<String>, PlatformError> {
    if query.is_some() && header.is_some() {
        return Err(invalid("http.query", name, "is in the query and in a header; give it once"));
    }
    Ok(query.or(header))
}

fn counted<T: std::str::FromStr>(headers: &HeaderMap, name: &str) -> Result<Option<T>, PlatformError> {
    raw_header(headers, name)?.map(|text| number("http.header", name, text)).transpose()
}

fn budget(headers: &HeaderMap) -> Result<Option<proto::Budget>, PlatformError> {
    let budget = proto::Budget {
        fuel: counted(headers, "latent-fuel")?,
        memory_bytes: counted(headers, "latent-memory-bytes")?,
        log_bytes: counted(headers, "latent-log-bytes")?,
    };
    Ok((budget != proto::Budget::default()).then_some(budget))
}

/// The payload's media type, without the one parameter that it may have. Which types there are, the call itself knows.
fn media_type(headers: &HeaderMap) -> Result<String, PlatformError> {
    let Some(given) = raw_header(headers, CONTENT_TYPE.as_str())? else { return Ok(String::new()) };
    let (essence, parameter) = given.split_once(';').unwrap_or((given, ""));
    let parameter = parameter.trim();
    if !parameter.is_empty() && !parameter.eq_ignore_ascii_case("charset=utf-8") {
        return Err(invalid("http.header", "content-type", "may have no parameter but charset=utf-8"));
    }
    Ok(essence.trim().to_ascii_lowercase())
}

/// The metadata, after a look that no header is there that would be ignored.
fn metadata(headers: &HeaderMap) -> Result<std::collections::HashMap<String, String>, PlatformError> {
    let mut metadata = std::collections::HashMap::new();
    for (name, value) in headers {
        let name = name.as_str();
        if let Some(key) = name.strip_prefix(METADATA) {
            let value = decode("http.header", name, text(name, value)?)?;
            if metadata.insert(key.to_owned(), value).is_some() {
                return Err(invalid("http.header", name, "is there more than once; send it once"));
            }
        } else if name.starts_with("latent-") && !HEADERS.contains(&name) {
            let expected = format!("is no header of an invocation; there are {METADATA}*, {}", HEADERS.join(", "));
            return Err(invalid("http.header", name, &expected));
        }
    }
    Ok(metadata)
}

fn response(invoked: Invoked) -> Result<Response<Body>, Refused> {
    let Invoked { response: answer, about } = invoked;
    let (outcome, payload) = match answer.outcome {
        Some(Outcome::Result(payload)) => ("result", payload),
        Some(Outcome::DeclaredError(payload)) => ("declared-error", payload),
        None => return Err(unanswered().into()),
    };
    let mut response = Response::new(Body::from(payload));
    let headers = response.headers_mut();
    let media_type = HeaderValue::try_from(answer.media_type);
    headers.insert(CONTENT_TYPE, media_type.map_err(|_| unanswered())?);
    headers.insert(OUTCOME, HeaderValue::from_static(outcome));
    headers.extend(about.headers());
    Ok(response)
}

fn unanswered() -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, "the call has no answer that HTTP could carry; this is a defect")
}
