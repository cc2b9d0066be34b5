//! Text of paths, queries and headers, decoded strictly.
//!
//! Invariant: what comes out is the text that was meant, or nothing: no NUL, no broken escape, no broken UTF-8.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

/// `invalid-argument` about one part of a request: detail `kind` with its `name` and what was `expected`.
#[must_use]
pub fn invalid(kind: &str, name: &str, expected: &str) -> PlatformError {
    let detail = ErrorDetail::new(kind).with("name", name).with("expected", expected);
    PlatformError::new(PlatformErrorCode::InvalidArgument, format!("{name}: {expected}")).with_detail(detail)
}

/// Undoes percent-encoding. `+` stays what it is.
pub(super) fn decode(kind: &str, name: &str, text: &str) -> Result<String, PlatformError> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let escape = rest.get(at + 1..at + 3).unwrap_or_default();
        if escape.len() != 2 || !escape.iter().all(u8::is_ascii_hexdigit) {
            return Err(invalid(kind, name, "a `%` is followed by two hexadecimal digits; `%` itself is `%25`"));
        }
        rest = &rest[at + 3..];
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| invalid(kind, name, "has to be UTF-8, also where it is percent-encoded"))?;
    if decoded.contains('\0') {
        return Err(invalid(kind, name, "must not contain NUL"));
    }
    Ok(decoded.into_owned())
}

/// The one header called `name`, percent-decoded.
///
/// # Errors
/// `invalid-argument`, detail `http.header`, for one that is there twice, or is not UTF-8 once decoded.
pub fn header(headers: &HeaderMap, name: &str) -> Result<Option<String>, PlatformError> {
    raw_header(headers, name)?.map(|text| decode("http.header", name, text)).transpose()
}

/// The one header called `name`, as it came.
///
/// # Errors
/// `invalid-argument`, detail `http.header`, for one that is there twice or is not UTF-8.
pub fn raw_header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, PlatformError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(invalid("http.header", name, "is there more than once; send it once"));
    }
    text(name, value).map(Some)
}

/// A header's value as text.
pub(super) fn text<'a>(name: &str, value: &'a HeaderValue) -> Result<&'a str, PlatformError> {
    std::str::from_utf8(value.as_bytes()).map_err(|_| invalid("http.header", name, "has to be UTF-8"))
}

/// A number of decimal digits alone.
///
/// # Errors
/// `invalid-argument`, detail `kind`, for anything else and for one that is too large.
pub fn number<T: std::str::FromStr>(kind: &str, name: &str, text: &str) -> Result<T, PlatformError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| invalid(kind, name, "has to be a whole number, in digits, that is not too large"))
}

/// A time such as `500ms`: digits and one of `us`, `ms`, `s`, `m`, `h`.
///
/// # Errors
/// `invalid-argument`, detail `kind`, for anything else.
pub fn time(kind: &str, name: &str, text: &str) -> Result<Duration, PlatformError> {
    let expected = || invalid(kind, name, "has to be a whole number with its unit, us, ms, s, m or h, such as 500ms");
    let unit_at = text.bytes().position(|byte| !byte.is_ascii_digit()).ok_or_else(expected)?;
    let (digits, unit) = text.split_at(unit_at);
    let micros: u64 = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return Err(expected()),
    };
    let count: u64 = number(kind, name, digits).map_err(|_| expected())?;
    count.checked_mul(micros).map(Duration::from_micros).ok_or_else(expected)
}

/// A value that has a form in proto3 JSON as a string, such as a time of RFC 3339.
pub(super) fn as_json<T: DeserializeOwned>(
    kind: &str,
    name: &str,
    text: String,
    expected: &str,
) -> Result<T, PlatformError> {
    serde_json::from_value(serde_json::Value::String(text)).map_err(|_| invalid(kind, name, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_plus_is_plus() {
        assert_eq!(decode("k", "n", "a%2Fb+c%C3%A9").expect("well-formed"), "a/b+cé");
    }

    #[test]
    fn broken_escapes_broken_text_and_nul_are_refused() {
        for text in ["%", "%4", "%zz", "a%+1", "%ff", "%C3", "%00"] {
            let error = decode("http.path", "service", text).expect_err(text);
            assert_eq!(error.details()[0].field("name"), Some("service"), "{text}");
        }
    }

    #[test]
    fn times_need_digits_and_a_unit() {
        let of = |text| time("k", "n", text).ok();
        assert_eq!(of("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(of("7us"), Some(Duration::from_micros(7)));
        assert_eq!(of("2h"), Some(Duration::from_hours(2)));
        for text in
            ["", "5", "ms", "-5ms", "+5ms", "5.5s", "5 s", "5S", "99999999999999999999s", "18446744073709551615h"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_digits_that_fit() {
        assert_eq!(number::<u32>("k", "n", "4294967295").ok(), Some(u32::MAX));
        for text in ["", "+1", "-1", "1 ", "0x1", "4294967296"] {
            assert!(number::<u32>("k", "n", text).is_err(), "{text}");
        }
    }
}
