//! Text that strangers wrote, made safe to show: nothing that reaches a terminal can drive it or hide in it.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

pub use latent_core::printable::Printable;
use latent_core::printable::is_hidden;

/// Shows `text` as [`Printable`] does, in quotes where its ends would not be seen otherwise.
pub struct Quotable<'a>(pub &'a str);

impl fmt::Display for Quotable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = !self.0.is_empty() && !self.0.contains(|c: char| c.is_whitespace() || c == '"' || c == '=');
        if plain {
            return write!(f, "{}", Printable(self.0));
        }
        let escaped = self.0.replace('\\', "\\\\").replace('"', "\\\"");
        write!(f, "\"{}\"", Printable(&escaped))
    }
}

/// JSON with the same value, in which no string holds a character that could drive a terminal or hide in it. Outside of
/// strings JSON has no such character, so escaping them wherever they stand is safe.
pub fn printable_json(json: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(json) else { return Cow::Borrowed(json) };
    if !text.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let escaped = text.chars().fold(String::with_capacity(text.len() + 16), |mut out, c| {
        if is_hidden(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| {
                let _infallible = write!(out, "\\u{unit:04x}");
            });
        } else {
            out.push(c);
        }
        out
    });
    Cow::Owned(escaped.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_drives_a_terminal_gets_through() {
        let hostile = "a\u{1b}[2J\u{7}\u{9b}31m\r\n\t\u{0}\u{202e}\u{200b}é🦀";
        let shown = Printable(hostile).to_string();
        assert_eq!(shown, "a\\u{1b}[2J\\u{7}\\u{9b}31m\\r\\n\\t\\u{0}\\u{202e}\\u{200b}é🦀");
        assert!(!shown.contains(is_hidden));
    }

    #[test]
    fn json_keeps_its_value_and_loses_what_drives_a_terminal() {
        let json = "[\"\u{9b}31m\u{202e}abc\u{2028}\u{7f}\",\"é\"]";
        assert_eq!(&*printable_json(json.as_bytes()), b"[\"\\u009b31m\\u202eabc\\u2028\\u007f\",\"\xc3\xa9\"]");
        assert!(matches!(printable_json(b"[1]"), Cow::Borrowed(b"[1]")));
    }

    #[test]
    fn values_are_quoted_only_where_needed() {
        assert_eq!(Quotable("stdout").to_string(), "stdout");
        assert_eq!(Quotable("").to_string(), "\"\"");
        assert_eq!(Quotable("a \"b\"=\\c\n").to_string(), "\"a \\\"b\\\"=\\\\c\\n\"");
    }
}
