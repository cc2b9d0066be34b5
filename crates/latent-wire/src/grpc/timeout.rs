//! `grpc-timeout`, read strictly.
//!
//! Invariant: what is not exactly one to eight digits and a unit is refused, never guessed at.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use latent_core::PlatformError;

use crate::convert::field;

/// The header that says how long a client waits.
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The most digits.
const DIGITS_MAX: usize = 8;

/// The timeout of a request, if it has one.
pub(super) fn of_headers(headers: &HeaderMap) -> Result<Option<Duration>, PlatformError> {
    let mut values = headers.get_all(GRPC_TIMEOUT).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => parse(value.as_bytes()).map(Some).ok_or_else(refused),
        (Some(_), Some(_)) => Err(refused()),
    }
}

/// The timeout that `text` says: one to eight digits, then `H`, `M`, `S`, `m`, `u` or `n`.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Duration> {
    let (unit, digits) = text.split_last()?;
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits.iter().fold(0_u64, |count, digit| count * 10 + u64::from(digit - b'0'));
    match unit {
        b'H' => Some(Duration::from_secs(count * 3600)),
        b'M' => Some(Duration::from_secs(count * 60)),
        b'S' => Some(Duration::from_secs(count)),
        b'm' => Some(Duration::from_millis(count)),
        b'u' => Some(Duration::from_micros(count)),
        b'n' => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

fn refused() -> PlatformError {
    field::invalid("grpc-timeout", "one to eight digits and one of H, M, S, m, u and n, once")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        let read = [b"1H", b"2M", b"3S", b"4m", b"5u", b"6n"].map(|text| parse(text).unwrap());
        let (secs, millis) = (Duration::from_secs, Duration::from_millis);
        assert_eq!(
            read,
            [secs(3600), secs(120), secs(3), millis(4), Duration::from_micros(5), Duration::from_nanos(6)]
        );
        assert_eq!(parse(b"99999999H"), Some(secs(99_999_999 * 3600)));
        assert_eq!(parse(b"0n"), Some(Duration::ZERO));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "S", "1", "-1S", "+1S", "1s", "1 S", " 1S", "1S ", "123456789S", "1.5S", "\u{661}S", "1SS"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_timeout_that_is_there_twice_is_refused() {
        let mut headers = HeaderMap::new();
        assert_eq!(of_headers(&headers), Ok(None));
        headers.append(GRPC_TIMEOUT, http::HeaderValue::from_static("1S"));
        assert_eq!(of_headers(&headers), Ok(Some(Duration::from_secs(1))));
        headers.append(GRPC_TIMEOUT, http::HeaderValue::from_static("1S"));
        assert_eq!(of_headers(&headers), Err(refused()));
    }
}
