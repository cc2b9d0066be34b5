//! Parameters from JSON: an array in order or an object by name, read straight into values.
//!
//! Owns the entry points; the parts below own the accounting, the named and ordered slots, and each kind of value.
//! Invariant: no part of a payload is kept that has not been charged, and unknown parts are refused unread.

mod bytes;
mod composite;
mod context;
mod slots;
mod text;
mod value;

use std::fmt;

use latent_core::contract::FunctionSignature;
use latent_core::error::PlatformError;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use wasmtime::component::Val;

use super::ValueLimits;
use bytes::Bytes;
use context::{Context, refuse_otherwise};
use slots::Slots;
use text::Text;

/// Decodes a function's parameters from an `application/json` payload.
///
/// The payload is an array of the parameters in order or an object by name, in at most `bytes_in_max` bytes; a function
/// without parameters also accepts an empty payload.
///
/// # Errors
/// `invalid-argument` with a detail `values.invalid` {path, expected, found} or `values.limit` {limit, max}.
pub fn decode_params(
    signature: &FunctionSignature,
    json: &[u8],
    limits: &ValueLimits,
) -> Result<Vec<Val>, PlatformError> {
    let params = &signature.params;
    let slot = |at: usize| (&*params[at].name, &params[at].ty);
    read_params(json, *limits, &Slots { owner: None, count: params.len(), what: "parameter", slot })
}

/// Decodes the payload of a function whose only parameter, called `name`, is `list<u8>`.
///
/// # Errors
/// As for [`decode_params`].
pub fn decode_single_bytes(name: &str, json: &[u8], limits: &ValueLimits) -> Result<Vec<u8>, PlatformError> {
    read_single(name, Bytes, json, *limits)
}

/// Decodes the payload of a function whose only parameter, called `name`, is `string`.
///
/// # Errors
/// As for [`decode_params`].
pub fn decode_single_string(name: &str, json: &[u8], limits: &ValueLimits) -> Result<String, PlatformError> {
    match text::plain(json, limits) {
        Some(text) => Ok(text.to_owned()),
        None => read_single(name, Text, json, *limits),
    }
}

/// What a slot is decoded into: any value by its type, or bytes and text directly.
trait Target<'t>: Copy + fmt::Display {
    /// What decoding yields.
    type Out;

    /// Reads one value at `depth`.
    fn read<'de, D: Deserializer<'de>>(self, ctx: &mut Context<'t>, depth: u32, from: D)
    -> Result<Self::Out, D::Error>;

    /// What an absent slot stands for, if it may be absent.
    fn absent<E: de::Error>(self, ctx: &mut Context<'t>, depth: u32) -> Result<Option<Self::Out>, E>;
}

fn read_single<'t, T: Target<'t>>(
    name: &'t str,
    target: T,
    json: &[u8],
    limits: ValueLimits,
) -> Result<T::Out, PlatformError> {
    let slot = |_: usize| (name, target);
    let mut values = read_params(json, limits, &Slots { owner: None, count: 1, what: "parameter", slot })?;
    Ok(values.pop().expect("one slot yields one value"))
}

fn read_params<'t, T, F>(json: &[u8], limits: ValueLimits, slots: &Slots<'t, F>) -> Result<Vec<T::Out>, PlatformError>
where
    T: Target<'t>,
    F: Fn(usize) -> (&'t str, T),
{
    let mut ctx = Context::new(limits);
    if json.len() > limits.bytes_in_max {
        return Err(context::limit_error("$", "bytes-in", limits.bytes_in_max));
    }
    if json.is_empty() {
        if slots.count == 0 {
            return Ok(Vec::new());
        }
        return Err(context::invalid_error("$", &Shape(slots).to_string(), "an empty payload"));
    }
    let mut from = serde_json::Deserializer::from_slice(json);
    let read = from.deserialize_any(Params { ctx: &mut ctx, slots });
    read.and_then(|values| from.end().map(|()| values)).map_err(|error| ctx.into_error(&error))
}

/// The payload's outermost level.
struct Params<'a, 't, F> {
    ctx: &'a mut Context<'t>,
    slots: &'a Slots<'t, F>,
}

impl<'t, T: Target<'t>, F: Fn(usize) -> (&'t str, T)> Params<'_, 't, F> {
    fn refuse<E: de::Error>(self, found: &str) -> E {
        self.ctx.invalid(&Shape(self.slots), &found)
    }
}

impl<'de, 't, T: Target<'t>, F: Fn(usize) -> (&'t str, T)> Visitor<'de> for Params<'_, 't, F> {
    type Value = Vec<T::Out>;

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        self.slots.in_order(seq, self.ctx, 1, &Shape(self.slots))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.slots.by_name(map, self.ctx, 1, &Shape(self.slots))
    }

    refuse_otherwise!(bool number string null);
}

/// What the outermost level should have been.
struct Shape<'a, 't, F>(&'a Slots<'t, F>);

impl<'t, T: Target<'t>, F: Fn(usize) -> (&'t str, T)> fmt::Display for Shape<'_, 't, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.count {
            0 => return f.write_str("no parameters: [], {} or an empty payload"),
            1 => f.write_str("1 parameter, as an array of it or an object by name: (")?,
            n => write!(f, "{n} parameters, as an array in order or an object by name: (")?,
        }
        for at in 0..self.0.count {
            let (name, target) = (self.0.slot)(at);
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name}: {target}")?;
        }
        f.write_str(")")
    }
}
