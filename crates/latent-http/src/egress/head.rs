//! Heads of requests and responses: what of them is for the connection alone and does not pass.
//!
//! Invariant: pure. A request that goes out has the host of its URI, one length at most, and no field that speaks about
//! the connection; a guest never sees such a field of a response.

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE, UPGRADE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Uri, Version};
use http_body::Body;
use latent_core::http::OutgoingScheme;
use latent_executor::OutgoingError;

use super::target::Target;

/// Fields of one connection, besides those that `connection` names.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    UPGRADE,
    http::header::TRANSFER_ENCODING,
    http::header::PROXY_AUTHENTICATE,
    http::header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("http2-settings"),
    TE,
];

/// The head of a request, but for where it goes.
#[derive(Debug)]
pub(super) struct Head {
    method: Method,
    path: PathAndQuery,
    headers: HeaderMap,
    /// The length of the body that the guest announced.
    pub(super) announced: Option<u64>,
}

impl Head {
    /// What passes of a guest's head. Its `host` does not; the target's is sent.
    ///
    /// # Errors
    /// `Unsupported` for `CONNECT` and upgrades, `Protocol` for a `content-length` that is none or for two different
    /// ones, `RequestTooLarge` for more than `bytes_max`.
    pub(super) fn new(
        method: Method,
        path: PathAndQuery,
        mut headers: HeaderMap,
        bytes_max: usize,
    ) -> Result<Self, OutgoingError> {
        if method == Method::CONNECT || headers.contains_key(UPGRADE) {
            return Err(OutgoingError::Unsupported);
        }
        let bytes = method.as_str().len() + path.as_str().len() + size(&headers);
        if bytes > bytes_max {
            return Err(OutgoingError::RequestTooLarge { limit: bytes_max as u64 });
        }
        let announced = announced(&headers)?;
        let trailers = headers.get(TE).filter(|value| value.as_bytes().eq_ignore_ascii_case(b"trailers")).cloned();
        without_hops(&mut headers);
        headers.remove(HOST);
        headers.remove(CONTENT_LENGTH);
        if let Some(trailers) = trailers {
            headers.insert(TE, trailers);
        }
        Ok(Self { method, path, headers, announced })
    }

    /// The request in HTTP/1.1, which is the only one of its connection.
    ///
    /// # Errors
    /// `UriInvalid` for a host that no header holds.
    pub(super) fn http1<B: Body>(mut self, target: &Target, body: B) -> Result<Request<B>, OutgoingError> {
        let host = HeaderValue::from_str(target.authority.as_str()).map_err(|_| OutgoingError::UriInvalid)?;
        self.headers.insert(HOST, host);
        let hops = if self.headers.contains_key(TE) { "close, te" } else { "close" };
        self.headers.insert(CONNECTION, HeaderValue::from_static(hops));
        let uri = Uri::from(self.path.clone());
        Ok(self.request(uri, Version::HTTP_11, body))
    }

    /// The request in HTTP/2.
    ///
    /// # Errors
    /// `UriInvalid` for a path that goes with no authority.
    pub(super) fn http2<B: Body>(self, target: &Target, body: B) -> Result<Request<B>, OutgoingError> {
        let uri = absolute(target.scheme, target.authority.clone(), self.path.clone())?;
        Ok(self.request(uri, Version::HTTP_2, body))
    }

    fn request<B: Body>(mut self, uri: Uri, version: Version, body: B) -> Request<B> {
        let usual = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        if let Some(length) = self.announced.or((usual && body.is_end_stream()).then_some(0)) {
            self.headers.insert(CONTENT_LENGTH, length.into());
        }
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.version_mut() = version;
        *request.headers_mut() = self.headers;
        request
    }
}

fn absolute(scheme: OutgoingScheme, authority: Authority, path: PathAndQuery) -> Result<Uri, OutgoingError> {
    let scheme = match scheme {
        OutgoingScheme::Http => Scheme::HTTP,
        OutgoingScheme::Https => Scheme::HTTPS,
    };
    let built = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build();
    built.map_err(|_| OutgoingError::UriInvalid)
}

/// Removes the fields of one connection.
pub(super) fn without_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Bytes of header fields as HTTP/1.1 writes them.
pub(super) fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum()
}

fn announced(headers: &HeaderMap) -> Result<Option<u64>, OutgoingError> {
    let mut length = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let found: u64 = digits.and_then(|digits| digits.parse().ok()).ok_or(OutgoingError::Protocol)?;
        if length.is_some_and(|length| length != found) {
            return Err(OutgoingError::Protocol);
        }
        length = Some(found);
    }
    Ok(length)
}

#[cfg(test)]
mod tests;
