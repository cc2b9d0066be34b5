//! `string` decoded directly, for functions whose only parameter it is.
//!
//! Invariant: the text is charged before it is copied out of the payload.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};

use super::Target;
use super::context::{Context, refuse_otherwise};
use crate::values::ValueLimits;

/// The text of a payload that is exactly `["text"]`, without escapes or white space: the usual one, which needs no
/// parser. `None` says nothing about the payload but that it has to be parsed.
pub(super) fn plain<'a>(json: &'a [u8], limits: &ValueLimits) -> Option<&'a str> {
    let text = json.strip_prefix(b"[\"")?.strip_suffix(b"\"]")?;
    let host_bytes = text.len() + size_of::<String>();
    let fits = json.len() <= limits.bytes_in_max && host_bytes <= limits.host_bytes_max;
    let literal = text.iter().all(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20));
    if fits && literal && limits.nodes_max > 0 && limits.depth_max > 0 { std::str::from_utf8(text).ok() } else { None }
}

/// Decodes into a string.
#[derive(Clone, Copy)]
pub(super) struct Text;

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("string")
    }
}

impl<'t> Target<'t> for Text {
    type Out = String;

    fn read<'de, D: Deserializer<'de>>(self, ctx: &mut Context<'t>, depth: u32, from: D) -> Result<String, D::Error> {
        ctx.node(depth)?;
        from.deserialize_any(TextVisitor { ctx })
    }

    fn absent<E: de::Error>(self, _: &mut Context<'t>, _: u32) -> Result<Option<String>, E> {
        Ok(None)
    }
}

struct TextVisitor<'a, 't> {
    ctx: &'a mut Context<'t>,
}

impl TextVisitor<'_, '_> {
    fn refuse<E: de::Error>(self, found: &str) -> E {
        self.ctx.invalid(&Text, &found)
    }
}

impl<'de> Visitor<'de> for TextVisitor<'_, '_> {
    type Value = String;

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        self.ctx.text(text)
    }

    refuse_otherwise!(bool number null array object);
}
