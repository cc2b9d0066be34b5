//! The `latent-*` headers: what is known of the activation that an answer is about, for both transports.
//!
//! Invariant: the values are visible ASCII, whatever an id is made of.

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::call::{About, Refused};

/// The activation's id. Bytes beyond visible ASCII, and `%`, are percent-encoded.
pub const ACTIVATION_ID: HeaderName = HeaderName::from_static("latent-activation-id");
/// The revision that it is pinned to.
pub const REVISION: HeaderName = HeaderName::from_static("latent-revision");
/// Units of fuel that it used.
pub const FUEL: HeaderName = HeaderName::from_static("latent-fuel");
/// The most guest memory that it held.
pub const PEAK_MEMORY_BYTES: HeaderName = HeaderName::from_static("latent-peak-memory-bytes");
/// Microseconds in the guest and its instantiation.
pub const WALL_TIME_MICROS: HeaderName = HeaderName::from_static("latent-wall-time-micros");
/// Bytes of its log records.
pub const LOG_BYTES: HeaderName = HeaderName::from_static("latent-log-bytes");

/// HTTP requests that it made, refused ones included. Left out where there were none.
pub const OUTBOUND_REQUESTS: HeaderName = HeaderName::from_static("latent-outbound-requests");

const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b' ');

impl About {
    /// The headers, in a fixed order; those that nothing is known for are left out.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
        let id = self.activation_id.as_ref().and_then(|id| {
            let text = utf8_percent_encode(id.as_str(), ESCAPED).to_string();
            HeaderValue::try_from(text).ok().map(unkept)
        });
        let revision = self.revision.and_then(|revision| HeaderValue::try_from(revision.to_string()).ok());
        let used = self.consumption.map(|used| {
            let micros = u64::try_from(used.wall_time.as_micros()).unwrap_or(u64::MAX);
            [
                (FUEL, unkept(HeaderValue::from(used.fuel))),
                (PEAK_MEMORY_BYTES, HeaderValue::from(used.peak_memory_bytes)),
                (WALL_TIME_MICROS, unkept(HeaderValue::from(micros))),
                (LOG_BYTES, HeaderValue::from(used.log_bytes)),
            ]
        });
        let requests = self.consumption.map(|used| used.outbound_requests).filter(|requests| *requests > 0);
        let requests = requests.map(|requests| (OUTBOUND_REQUESTS, HeaderValue::from(requests)));
        let named = [id.map(|id| (ACTIVATION_ID, id)), revision.map(|revision| (REVISION, revision))];
        named.into_iter().flatten().chain(used.into_iter().flatten()).chain(requests)
    }
}

impl Refused {
    /// The headers of the activation that it is about; none without one.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
        self.about.iter().flat_map(|about| about.headers()).collect::<Vec<_>>().into_iter()
    }
}

/// The names of [`unkept`] values.
const UNKEPT: [HeaderName; 3] = [ACTIVATION_ID, FUEL, WALL_TIME_MICROS];

/// Makes an answer one whose headers a connection remembers, all of them: what it has of a value that never comes again is
/// its name, which is then not written out with every answer that follows.
pub(crate) fn to_remember(headers: &mut HeaderMap) {
    for name in UNKEPT {
        if let Some(value) = headers.get_mut(name) {
            value.set_sensitive(false);
        }
    }
}

/// A value that hardly ever comes twice. Marked so, HTTP/2 does not put it into the table of values that a connection
/// remembers, where it would drive out those that do come again, at a price for both peers.
fn unkept(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use latent_core::{ActivationId, BudgetConsumption, RevisionId, Sha256Digest};

    use super::*;

    fn texts(about: &About) -> Vec<(String, String)> {
        about.headers().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    #[test]
    fn nothing_known_is_no_header_and_everything_is_seven() {
        assert_eq!(texts(&About::default()), []);
        let all = About {
            activation_id: ActivationId::new("a-1").ok(),
            revision: Some(RevisionId::new(Sha256Digest::of(b"r"))),
            consumption: Some(BudgetConsumption {
                fuel: 1,
                peak_memory_bytes: 2,
                wall_time: Duration::from_nanos(3_999),
                log_bytes: 4,
                outbound_requests: 5,
            }),
        };
        let values: Vec<_> = texts(&all).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["a-1", &Sha256Digest::of(b"r").to_string(), "1", "2", "3", "4", "5"]);
        let quiet = About { consumption: Some(BudgetConsumption::default()), ..About::default() };
        assert!(quiet.headers().all(|(name, _)| name != OUTBOUND_REQUESTS), "none is no header");
    }

    #[test]
    fn only_values_that_come_again_are_for_a_connection_to_remember() {
        let all = About {
            activation_id: ActivationId::new("a-1").ok(),
            revision: Some(RevisionId::new(Sha256Digest::of(b"r"))),
            consumption: Some(BudgetConsumption::default()),
        };
        let kept: Vec<_> = all.headers().filter(|(_, value)| !value.is_sensitive()).map(|(name, _)| name).collect();
        assert_eq!(kept, [REVISION, PEAK_MEMORY_BYTES, LOG_BYTES]);
        let mut headers: HeaderMap = all.headers().collect();
        to_remember(&mut headers);
        assert_eq!(headers.values().filter(|value| !value.is_sensitive()).count(), 6);
    }

    #[test]
    fn an_id_of_any_characters_is_told_in_visible_ascii() {
        let about = About { activation_id: ActivationId::new("ä%1").ok(), ..About::default() };
        assert_eq!(texts(&about), [("latent-activation-id".to_owned(), "%C3%A4%251".to_owned())]);
    }
}
