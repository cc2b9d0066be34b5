//! `string` decoded directly, for functions whose only parameter it is.
//!
//! Invariant: the text is charged before it is copied out of the payload.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};

use super::Target;
use super::context::{Context, refuse_otherwise};

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
