//! What becomes of a head on its way: of a guest's response, and of both sides' headers that are for one connection alone.
//!
//! Invariant: what the node says of an activation, nobody else can say.

use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::response::Parts;
use http::{HeaderMap, Method, StatusCode};
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

/// Headers of one connection, besides those that `connection` names.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
];
/// What begins the names of the node's own headers.
const NODES_OWN: &str = "latent-";

/// How long the body of a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// It has none, whatever the guest writes: the answer to `HEAD`, and those with status 204 and 304.
    None,
    /// So many bytes, as its head says.
    Declared(u64),
    /// Until it ends.
    Open,
}

/// Makes the head of a guest's response one that can be sent in answer to `method`.
///
/// # Errors
/// `dependency-failed`, detail `http.response-head`: an interim status, or a content length that is none.
pub(super) fn fit(head: &mut Parts, method: &Method) -> Result<Length, PlatformError> {
    if head.status.is_informational() {
        return Err(unfit("status", "a final one, from 200 on"));
    }
    remove_hop_by_hop(&mut head.headers);
    remove_nodes_own(&mut head.headers);
    let declared = declared(&head.headers)?;
    if head.status == StatusCode::NO_CONTENT {
        head.headers.remove(CONTENT_LENGTH);
    }
    let bodiless = method == Method::HEAD || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    Ok(match declared {
        _ if bodiless => Length::None,
        Some(bytes) => Length::Declared(bytes),
        None => Length::Open,
    })
}

fn declared(headers: &HeaderMap) -> Result<Option<u64>, PlatformError> {
    let mut values = headers.get_all(CONTENT_LENGTH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match (text.and_then(|text| text.parse().ok()), values.next()) {
        (Some(bytes), None) => Ok(Some(bytes)),
        _ => Err(unfit("content-length", "one number of bytes")),
    }
}

/// Removes what is for one connection alone.
pub(super) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let values: Vec<_> = headers.get_all(CONNECTION).iter().cloned().collect();
        let names = values.iter().filter_map(|value| value.to_str().ok()).flat_map(|names| names.split(','));
        for name in names.filter_map(|name| HeaderName::try_from(name.trim()).ok()) {
            headers.remove(name);
        }
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Removes what only the node says, and what is said to it alone.
pub(super) fn remove_nodes_own(headers: &mut HeaderMap) {
    while let Some(name) = headers.keys().find(|name| name.as_str().starts_with(NODES_OWN)).cloned() {
        headers.remove(name);
    }
}

fn unfit(part: &str, expected: &str) -> PlatformError {
    let message = format_args!("the service's response has a {part} that cannot be sent; expected is {expected}");
    let detail = ErrorDetail::new("http.response-head").with("part", part).with("expected", expected);
    PlatformError::new(PlatformErrorCode::DependencyFailed, message).with_detail(detail)
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn head(status: u16, headers: &[(&'static str, &'static str)]) -> Parts {
        let built =
            headers.iter().fold(Response::builder().status(status), |built, (name, value)| built.header(*name, *value));
        built.body(()).expect("a response").into_parts().0
    }

    #[test]
    fn what_is_for_one_connection_goes_and_so_does_what_it_names() {
        let mut head = head(
            200,
            &[
                ("connection", "close, X-Own"),
                ("connection", "other"),
                ("x-own", "1"),
                ("other", "1"),
                ("keep-alive", "timeout=5"),
                ("transfer-encoding", "chunked"),
                ("upgrade", "h2c"),
                ("te", "trailers"),
                ("latent-activation-id", "forged"),
                ("latent-anything", "forged"),
                ("trailer", "x-sum"),
                ("x-kept", "1"),
            ],
        );
        assert_eq!(fit(&mut head, &Method::GET), Ok(Length::Open));
        let mut names: Vec<_> = head.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["trailer", "x-kept"]);
    }

    #[test]
    fn some_responses_have_no_body_whatever_their_length_says() {
        let length = [("content-length", "10")];
        for (status, method) in [(200, Method::HEAD), (204, Method::GET), (304, Method::GET)] {
            assert_eq!(fit(&mut head(status, &length), &method), Ok(Length::None), "{status}");
        }
        assert_eq!(fit(&mut head(200, &length), &Method::GET), Ok(Length::Declared(10)));
        let mut none = head(204, &length);
        fit(&mut none, &Method::GET).expect("it can be sent");
        assert!(none.headers.is_empty());
    }

    #[test]
    fn an_interim_status_and_a_length_that_is_none_cannot_be_sent() {
        for (mut head, part) in [
            (head(101, &[]), "status"),
            (head(103, &[]), "status"),
            (head(200, &[("content-length", "-1")]), "content-length"),
            (head(200, &[("content-length", "")]), "content-length"),
            (head(200, &[("content-length", "1, 1")]), "content-length"),
            (head(200, &[("content-length", "99999999999999999999")]), "content-length"),
            (head(200, &[("content-length", "1"), ("content-length", "1")]), "content-length"),
        ] {
            let error = fit(&mut head, &Method::GET).expect_err(part);
            assert_eq!(error.details()[0].field("part"), Some(part));
        }
    }
}
