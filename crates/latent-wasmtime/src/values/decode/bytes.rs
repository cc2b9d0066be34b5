//! `list<u8>` from a base64 string or from an array of numbers.
//!
//! Invariant: one list is one value however long it is; its length is bounded by the host bytes it is charged for.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, DecodeSliceError};
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use wasmtime::component::Val;

use super::Target;
use super::context::{Context, Segment, refuse_otherwise};

/// What a `list<u8>` should have been.
pub(super) const EXPECTED: &str = "list<u8>, as a base64 string with padding or an array of numbers";

/// Decodes into bytes, without a value for each.
#[derive(Clone, Copy)]
pub(super) struct Bytes;

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("list<u8>")
    }
}

impl<'t> Target<'t> for Bytes {
    type Out = Vec<u8>;

    fn read<'de, D: Deserializer<'de>>(self, ctx: &mut Context<'t>, depth: u32, from: D) -> Result<Vec<u8>, D::Error> {
        ctx.node(depth)?;
        from.deserialize_any(List { ctx })
    }

    fn absent<E: de::Error>(self, _: &mut Context<'t>, _: u32) -> Result<Option<Vec<u8>>, E> {
        Ok(None)
    }
}

/// The bytes of a base64 string, each charged with `weight` host bytes.
pub(super) fn from_base64<E: de::Error>(ctx: &mut Context<'_>, text: &str, weight: usize) -> Result<Vec<u8>, E> {
    let padding = text.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
    let len = (text.len().div_ceil(4) * 3).saturating_sub(padding);
    ctx.host_bytes(len.saturating_mul(weight))?;
    let mut bytes = vec![0; len];
    match STANDARD.decode_slice(text, &mut bytes) {
        Ok(written) if written == len => Ok(bytes),
        Ok(_) | Err(DecodeSliceError::OutputSliceTooSmall) => Err(invalid(ctx, "a string of a wrong length")),
        Err(DecodeSliceError::DecodeError(error)) => Err(match error {
            DecodeError::InvalidByte(at, _) => invalid(ctx, &format!("a string with no base64 at its byte {at}")),
            DecodeError::InvalidLastSymbol { .. } => invalid(ctx, "a string whose last symbol has stray bits"),
            DecodeError::InvalidPadding => invalid(ctx, "a string with missing or misplaced padding"),
            DecodeError::InvalidLength(_) => invalid(ctx, "a string of a wrong length"),
        }),
    }
}

/// The bytes of an array of numbers, each charged with `weight` host bytes.
pub(super) fn from_numbers<'de, A>(ctx: &mut Context<'_>, mut seq: A, weight: usize) -> Result<Vec<u8>, A::Error>
where
    A: SeqAccess<'de>,
{
    let mut bytes = Vec::new();
    loop {
        let read = seq.next_element_seed(Number { ctx });
        let Some(byte) = ctx.within(Segment::Index(bytes.len()), read)? else {
            return Ok(bytes);
        };
        ctx.room_for_one(&mut bytes, weight)?;
        bytes.push(byte);
    }
}

/// What a byte weighs that becomes a dynamic value.
pub(super) const WEIGHT_AS_VALUE: usize = 1 + size_of::<Val>();

/// The bytes as a dynamic list.
pub(super) fn as_value(bytes: Vec<u8>) -> Val {
    Val::List(bytes.into_iter().map(Val::U8).collect())
}

fn invalid<E: de::Error>(ctx: &mut Context<'_>, found: &str) -> E {
    ctx.invalid(&EXPECTED, &found)
}

struct List<'a, 't> {
    ctx: &'a mut Context<'t>,
}

impl List<'_, '_> {
    fn refuse<E: de::Error>(self, found: &str) -> E {
        invalid(self.ctx, found)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = Vec<u8>;

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<u8>, E> {
        from_base64(self.ctx, text, 1)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<u8>, A::Error> {
        from_numbers(self.ctx, seq, 1)
    }

    refuse_otherwise!(bool number null object);
}

struct Number<'a, 't> {
    ctx: &'a mut Context<'t>,
}

impl Number<'_, '_> {
    fn refuse<E: de::Error>(self, found: &str) -> E {
        self.ctx.invalid(&"u8, an integer from 0 to 255", &found)
    }
}

impl<'de> DeserializeSeed<'de> for Number<'_, '_> {
    type Value = u8;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<u8, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Number<'_, '_> {
    type Value = u8;

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u8, E> {
        u8::try_from(number).map_err(|_| self.refuse("an integer out of range"))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<u8, E> {
        Err(self.refuse("an integer out of range"))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<u8, E> {
        Err(self.refuse("a number with a fraction or an exponent, or out of range"))
    }

    refuse_otherwise!(bool string null array object);
}
