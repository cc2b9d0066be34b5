//! Sizes and durations as people write and read them. Pure: text in, number or sentence out, and back.

use std::fmt;
use std::time::Duration;

/// Units of sizes, in lower case, without the `b` that may follow them.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("p", 1_000_000_000_000_000),
    ("e", 1_000_000_000_000_000_000),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
    ("ti", 1 << 40),
    ("pi", 1 << 50),
    ("ei", 1 << 60),
];

/// Reads a number of bytes: `4096`, `64Mi`, `64MiB`, `1M`, `1MB`.
///
/// # Errors
/// A sentence that says what is expected instead.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim_start().to_ascii_lowercase());
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let (false, Some(factor)) = (digits.is_empty(), factor) else {
        return Err("expected bytes, or a whole number with a unit such as 512Ki, 64Mi, 1Gi or 1MB".to_owned());
    };
    let number = digits.parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| format!("too large: at most {} bytes can be expressed", u64::MAX))
}

/// Reads an amount of fuel, which cannot be zero.
///
/// # Errors
/// A sentence that says what is expected instead.
pub fn parse_fuel(text: &str) -> Result<u64, String> {
    match text.trim().parse() {
        Ok(0) => Err("0 units run nothing: expected at least 1".to_owned()),
        Ok(units) => Ok(units),
        Err(_) => Err(format!("expected a whole number of units without a suffix, from 1 to {}", u64::MAX)),
    }
}

/// Reads a size of memory, which cannot be zero.
///
/// # Errors
/// A sentence that says what is expected instead.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        0 => Err("0 bytes hold no memory: expected at least 1, such as 64Mi".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Reads a duration with its unit: `500ms`, `2s`, `1h 30m`. Zero is one: a deadline that has passed already.
///
/// # Errors
/// A sentence that says what is expected instead.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("the unit is missing: write {text}ms or {text}s"));
    }
    // The library counts fractions of a second in nanoseconds, and would refuse many milliseconds.
    if let Some(millis) = text.strip_suffix("ms").and_then(|digits| digits.trim_end().parse().ok()) {
        return Ok(Duration::from_millis(millis));
    }
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}: expected a number with its unit, such as 500ms, 2s or 1h"))
}

/// Bytes with one decimal in the largest binary unit that they fill.
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = (self.0.max(1).ilog2() / 10) as usize;
        if unit == 0 {
            return write!(f, "{} B", self.0);
        }
        let tenths = (u128::from(self.0) * 10) >> (10 * unit);
        write!(f, "{}.{} {}iB", tenths / 10, tenths % 10, ["K", "M", "G", "T", "P", "E"][unit - 1])
    }
}

/// A duration in the unit that fits, to one decimal. None at all is one of the usual size: it is what is told where nothing
/// was measured.
#[derive(Debug, Clone, Copy)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() { f.write_str("0 ms") } else { write!(f, "{:.1?}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_binary_and_decimal_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("512Ki", 512 << 10),
            ("64Mi", 64 << 20),
            ("64MiB", 64 << 20),
            ("64 mib", 64 << 20),
            ("1Gi", 1 << 30),
            ("1M", 1_000_000),
            ("1MB", 1_000_000),
            ("7b", 7),
            ("15Ei", 15 << 60),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn sizes_that_are_none_are_told_how_to_write_one() {
        for text in ["", "Mi", "-1", "1.5Gi", "64 apples", "0x10", "1 2", "٣Mi"] {
            assert!(parse_size(text).unwrap_err().contains("64Mi"), "{text}");
        }
        for text in ["16Ei", "18446744073709551616", "99999999999999999999999Ki"] {
            assert!(parse_size(text).unwrap_err().contains("too large"), "{text}");
        }
    }

    #[test]
    fn durations_need_their_unit() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_mins(90)));
        assert_eq!(parse_duration("0ms"), Ok(Duration::ZERO));
        assert!(parse_duration("500").unwrap_err().contains("500ms"));
    }

    #[test]
    fn absurd_durations_are_taken_or_refused_without_overflow() {
        assert!(parse_duration("1000000years").unwrap() > Duration::from_secs(1 << 44));
        assert_eq!(parse_duration("18446744073709551615ms"), Ok(Duration::from_millis(u64::MAX)));
        for text in ["", "soon", "-1s", "99999999999999999999s", "18446744073709551615years"] {
            assert!(parse_duration(text).unwrap_err().contains("500ms"), "{text}");
        }
    }

    #[test]
    fn a_span_has_the_unit_that_fits_and_none_at_all_is_not_told_in_nanoseconds() {
        let told = |span: Duration| Span(span).to_string();
        assert_eq!((told(Duration::ZERO), told(Duration::from_micros(1500))), ("0 ms".to_owned(), "1.5ms".to_owned()));
    }
}
