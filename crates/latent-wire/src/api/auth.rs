//! Who calls: from the headers and the connection of a request to an access, or a refusal.
//!
//! Invariant: what was presented is never repeated, in no error and no log.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::AUTHORIZATION;
use http::{Extensions, HeaderMap};
use latent_activation::request::TraceContext;
use latent_core::{PlatformError, PlatformErrorCode};
use latent_node::access::{Access, Authenticator, Presented};

use super::Api;
use super::call::{Arrival, CallContext, Peer, Refused};

/// The longest `authorization` header that is looked at, in bytes.
pub const AUTHORIZATION_BYTES_MAX: usize = 4096;

impl Api {
    /// The context of a request: its caller, who is authenticated here, its arrival and its trace. [`Peer`] and [`Arrival`]
    /// are in its extensions, where the listener put them; without them it comes from nowhere, now.
    ///
    /// # Errors
    /// As [`authenticate`].
    pub fn context(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
        transport_timeout: Option<Duration>,
    ) -> Result<CallContext, Refused> {
        let peer = extensions.get::<Peer>().copied().unwrap_or_default();
        let arrived = extensions.get::<Arrival>().copied();
        let arrived = arrived.unwrap_or_else(|| Arrival(tokio::time::Instant::now().into_std()));
        let access = authenticate(&*self.ports.authenticator, headers, peer, self.wall())?;
        let transport_timeout = transport_timeout.map(|timeout| timeout.min(self.config.transport_timeout_max));
        Ok(CallContext { access, arrived, transport_timeout, trace: trace(headers) })
    }
}

/// The trace that a request belongs to, from `traceparent` and `tracestate`. What is not text, or a parent that is there
/// twice, counts as absent.
#[must_use]
pub fn trace(headers: &HeaderMap) -> TraceContext {
    let texts = |name| headers.get_all(name).iter().map(|value| value.to_str().ok());
    let mut parents = texts("traceparent");
    let parent = match (parents.next(), parents.next()) {
        (Some(parent), None) => parent.map(str::to_owned),
        _ => None,
    };
    let states: Option<Vec<&str>> = texts("tracestate").collect();
    let state = states.filter(|states| !states.is_empty()).map(|states| states.join(","));
    TraceContext { parent, state }
}

/// What a request shows, as one of `authorization: Bearer` and a client certificate. A token goes before a certificate.
///
/// # Errors
/// `unauthenticated` for a header that is there twice, too long, of another
/// scheme, empty, or not visible ASCII; otherwise as [`Authenticator::authenticate`].
pub fn authenticate(
    authenticator: &dyn Authenticator,
    headers: &HeaderMap,
    peer: Peer,
    now: SystemTime,
) -> Result<Arc<Access>, Refused> {
    let presented = match bearer(headers)? {
        Some(token) => Some(Presented::Bearer(token)),
        None => peer.certificate.map(Presented::Certificate),
    };
    Ok(authenticator.authenticate(presented, peer.address, now)?)
}

fn bearer(headers: &HeaderMap) -> Result<Option<&[u8]>, PlatformError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(malformed("send the authorization header once"));
    }
    let bytes = value.as_bytes();
    if bytes.len() > AUTHORIZATION_BYTES_MAX {
        return Err(malformed("the authorization header is longer than any token; send the token alone"));
    }
    let (scheme, token) =
        bytes.split_first_chunk::<7>().map_or((bytes, None), |(scheme, token)| (&scheme[..], Some(token)));
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return Err(malformed("the authorization header has to be Bearer and a token"));
    }
    match token {
        Some(token) if !token.is_empty() && token.iter().all(u8::is_ascii_graphic) => Ok(Some(token)),
        _ => Err(malformed("the token of the authorization header has to be visible ASCII without spaces")),
    }
}

fn malformed(message: &str) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Unauthenticated, message)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Mutex;

    use http::HeaderValue;
    use latent_core::Sha256Digest;

    use super::*;

    /// Knows nobody, and remembers what it was shown.
    #[derive(Default)]
    struct Nobody(Mutex<Vec<String>>);

    impl Authenticator for Nobody {
        fn authenticate(
            &self,
            presented: Option<Presented<'_>>,
            peer: Option<IpAddr>,
            _now: SystemTime,
        ) -> Result<Arc<Access>, PlatformError> {
            let shown = match presented {
                None => "nothing".to_owned(),
                Some(Presented::Bearer(token)) => format!("token {}", String::from_utf8_lossy(token)),
                Some(Presented::Certificate(digest)) => format!("certificate {digest}"),
            };
            self.0.lock().unwrap().push(format!("{shown} from {peer:?}"));
            Err(malformed("unknown"))
        }

        fn still_holds(&self, _access: &Arc<Access>, _now: SystemTime) -> bool {
            false
        }
    }

    fn shown(headers: &HeaderMap, peer: Peer) -> Vec<String> {
        let nobody = Nobody::default();
        let refused = authenticate(&nobody, headers, peer, SystemTime::UNIX_EPOCH).unwrap_err();
        assert_eq!(refused.error.code(), PlatformErrorCode::Unauthenticated);
        nobody.0.into_inner().unwrap()
    }

    fn headers(name: &'static str, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (http::HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_certificate_is_shown_where_there_is_no_token_and_a_token_goes_before_it() {
        let digest = Sha256Digest::of(b"certificate");
        let peer = Peer { address: None, certificate: Some(digest) };
        assert_eq!(shown(&HeaderMap::new(), peer), [format!("certificate {digest} from None")]);
        let with_token = headers("authorization", &["Bearer abc"]);
        assert_eq!(shown(&with_token, peer), ["token abc from None"]);
        assert_eq!(shown(&HeaderMap::new(), Peer::default()), ["nothing from None"]);
    }

    #[test]
    fn a_malformed_header_is_refused_unseen_also_beside_a_certificate() {
        let peer = Peer { address: None, certificate: Some(Sha256Digest::of(b"certificate")) };
        for values in [&["Basic abc"][..], &["Bearer a b"], &["Bearer a", "Bearer a"]] {
            assert_eq!(shown(&headers("authorization", values), peer), [] as [String; 0], "{values:?}");
        }
    }

    #[test]
    fn a_trace_has_one_parent_and_all_of_its_state() {
        let mut both = headers("tracestate", &["a=1", "b=2"]);
        both.extend(headers("traceparent", &["00-x-y-01"]));
        let trace = super::trace(&both);
        assert_eq!((trace.parent.as_deref(), trace.state.as_deref()), (Some("00-x-y-01"), Some("a=1,b=2")));
        assert_eq!(super::trace(&headers("traceparent", &["one", "two"])).parent, None);
        assert_eq!(super::trace(&HeaderMap::new()), TraceContext::default());
    }
}
