//! Any value by its type: one visitor, directed by the type tree.
//!
//! Invariant: recursion follows the type, so it is as deep as the type at most, and each level is charged on entry.

use std::fmt;

use latent_core::contract::ValueType;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use wasmtime::component::Val;

use super::Target;
use super::bytes;
use super::composite::boxed;
use super::context::{Context, clipped, quoted};

impl<'t> Target<'t> for &'t ValueType {
    type Out = Val;

    fn read<'de, D: Deserializer<'de>>(self, ctx: &mut Context<'t>, depth: u32, from: D) -> Result<Val, D::Error> {
        ctx.node(depth)?;
        from.deserialize_any(Value { ctx, ty: self, depth })
    }

    fn absent<E: de::Error>(self, ctx: &mut Context<'t>, depth: u32) -> Result<Option<Val>, E> {
        if !matches!(self, ValueType::Option(_)) {
            return Ok(None);
        }
        ctx.node(depth)?;
        Ok(Some(Val::Option(None)))
    }
}

/// One value that is being read.
pub(super) struct Value<'a, 't> {
    pub(super) ctx: &'a mut Context<'t>,
    pub(super) ty: &'t ValueType,
    pub(super) depth: u32,
}

impl<'t> Value<'_, 't> {
    /// Reads through an option that stands for its value directly, and wraps what comes of it.
    fn through_option<E, F>(self, read: F) -> Result<Val, E>
    where
        E: de::Error,
        F: FnOnce(Value<'_, 't>) -> Result<Val, E>,
    {
        let ValueType::Option(inner) = self.ty else {
            return read(self);
        };
        if matches!(**inner, ValueType::Option(_)) {
            return read(self);
        }
        let depth = self.depth + 1;
        self.ctx.node(depth)?;
        let value = read(Value { ctx: &mut *self.ctx, ty: inner, depth })?;
        Ok(Val::Option(Some(boxed(self.ctx, value)?)))
    }

    pub(super) fn refuse<E: de::Error>(self, found: &str) -> E {
        self.ctx.invalid(&Expected(self.ty), &found)
    }

    fn integer<E: de::Error>(self, number: i128) -> Result<Val, E> {
        #[expect(clippy::cast_precision_loss, reason = "a float takes the nearest value, as for any number")]
        let value = match self.ty {
            ValueType::S8 => number.try_into().map(Val::S8),
            ValueType::U8 => number.try_into().map(Val::U8),
            ValueType::S16 => number.try_into().map(Val::S16),
            ValueType::U16 => number.try_into().map(Val::U16),
            ValueType::S32 => number.try_into().map(Val::S32),
            ValueType::U32 => number.try_into().map(Val::U32),
            ValueType::S64 => number.try_into().map(Val::S64),
            ValueType::U64 => number.try_into().map(Val::U64),
            ValueType::F32 => Ok(Val::Float32(number as f32)),
            ValueType::F64 => Ok(Val::Float64(number as f64)),
            _ => return Err(self.refuse("a number")),
        };
        value.map_err(|_| self.refuse("an integer out of range"))
    }

    fn float<E: de::Error>(self, number: f64) -> Result<Val, E> {
        match self.ty {
            ValueType::F64 => Ok(Val::Float64(number)),
            ValueType::F32 => {
                let nearest = nearest_f32(number);
                if nearest.is_finite() { Ok(Val::Float32(nearest)) } else { Err(self.refuse("a number out of range")) }
            }
            // The parser tells the integer `-0` only as this float.
            ty if integer_range(ty).is_some() && number == 0.0 && number.is_sign_negative() => self.integer(0),
            ty if integer_range(ty).is_some() => {
                Err(self.refuse("a number with a fraction or an exponent, or out of range"))
            }
            _ => Err(self.refuse("a number")),
        }
    }

    fn string<E: de::Error>(self, text: &str) -> Result<Val, E> {
        let mut chars = text.chars();
        match self.ty {
            ValueType::String => self.ctx.text(text).map(Val::String),
            ValueType::Char => match (chars.next(), chars.next()) {
                (Some(only), None) => Ok(Val::Char(only)),
                (None, _) => Err(self.refuse("an empty string")),
                _ => Err(self.refuse("a string of several characters")),
            },
            ty if ty.is_bytes() => bytes::from_base64(self.ctx, text, bytes::WEIGHT_AS_VALUE).map(bytes::as_value),
            ValueType::S64 | ValueType::U64 => match decimal(text) {
                Some(number) => self.integer(number),
                None => Err(self.refuse("a string that is not a decimal integer")),
            },
            ValueType::F32 | ValueType::F64 => match (special(text), self.ty) {
                (Some(number), ValueType::F32) => Ok(Val::Float32(number)),
                (Some(number), _) => Ok(Val::Float64(number.into())),
                (None, _) => Err(self.refuse("a string")),
            },
            ValueType::Enum(names) => {
                match self.ctx.names.position(Some(self.ty), names.iter().map(|name| &**name), text) {
                    Some(at) => self.ctx.text(&names[at]).map(Val::Enum),
                    None => Err(self.refuse(&format!("the unknown case {}", quoted(text)))),
                }
            }
            ValueType::Variant(cases) => {
                let at = self.ctx.names.position(Some(self.ty), cases.iter().map(|case| &*case.name), text);
                match at.map(|at| &cases[at]) {
                    Some(case) if case.payload.is_none() => Ok(Val::Variant(self.ctx.text(&case.name)?, None)),
                    Some(case) => Err(self.refuse(&format!("the case {} without what it carries", quoted(&case.name)))),
                    None => Err(self.refuse(&format!("the unknown case {}", quoted(text)))),
                }
            }
            _ => Err(self.refuse("a string")),
        }
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = Val;

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Val, E> {
        self.through_option(|it| match it.ty {
            ValueType::Bool => Ok(Val::Bool(value)),
            _ => Err(it.refuse("a boolean")),
        })
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Val, E> {
        self.through_option(|it| it.integer(number.into()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Val, E> {
        self.through_option(|it| it.integer(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Val, E> {
        self.through_option(|it| it.float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Val, E> {
        self.through_option(|it| it.string(text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Val, E> {
        match self.ty {
            ValueType::Option(_) => Ok(Val::Option(None)),
            _ => Err(self.refuse("null")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Val, A::Error> {
        self.through_option(|it| it.array(seq))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Val, A::Error> {
        self.through_option(|it| it.object(map))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
}

/// A 64-bit integer as a string: decimal digits in their one canonical form.
fn decimal(text: &str) -> Option<i128> {
    let number: i128 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// The floats that JSON numbers cannot express.
fn special(text: &str) -> Option<f32> {
    match text {
        "NaN" => Some(f32::NAN),
        "Infinity" => Some(f32::INFINITY),
        "-Infinity" => Some(f32::NEG_INFINITY),
        _ => None,
    }
}

/// The `f32` that a number stands for.
///
/// The text of an `f32` can be so near the middle between it and its neighbour that, read as `f64`, it is the middle, and
/// rounding goes to the wrong one (`7.038531e-26`). In the middle, the one whose own text reads as this number is meant.
fn nearest_f32(number: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is meant, the caller refuses infinity")]
    let nearest = number as f32;
    let twice = number * 2.0;
    let in_the_middle = |other: &f32| f64::from(nearest) + f64::from(*other) == twice;
    let neighbour = [nearest.next_down(), nearest.next_up()].into_iter().find(in_the_middle);
    let names = |other: &f32| format!("{other:?}").parse() == Ok(number);
    neighbour.filter(|other| other.is_finite() && names(other)).unwrap_or(nearest)
}

/// The least and the greatest value of an integer type.
fn integer_range(ty: &ValueType) -> Option<(i64, u64)> {
    Some(match ty {
        ValueType::S8 => (i8::MIN.into(), i8::MAX as u64),
        ValueType::U8 => (0, u8::MAX.into()),
        ValueType::S16 => (i16::MIN.into(), i16::MAX as u64),
        ValueType::U16 => (0, u16::MAX.into()),
        ValueType::S32 => (i32::MIN.into(), i32::MAX as u64),
        ValueType::U32 => (0, u32::MAX.into()),
        ValueType::S64 => (i64::MIN, i64::MAX as u64),
        ValueType::U64 => (0, u64::MAX),
        _ => return None,
    })
}

/// A type in the words of WIT and how it is written in JSON.
pub(super) struct Expected<'t>(pub(super) &'t ValueType);

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_bytes() {
            return f.write_str(bytes::EXPECTED);
        }
        f.write_str(&clipped(self.0, 120))?;
        if let Some((least, greatest)) = integer_range(self.0) {
            let string = if greatest > u32::MAX.into() { " or a decimal string" } else { "" };
            return write!(f, ", an integer from {least} to {greatest}{string}");
        }
        f.write_str(match self.0 {
            ValueType::Bool => ", true or false",
            ValueType::F32 | ValueType::F64 => r#", a number, "NaN", "Infinity" or "-Infinity""#,
            ValueType::Char => ", a string of one character",
            ValueType::List(_) => ", an array",
            ValueType::Tuple(types) => return write!(f, ", an array of {}", types.len()),
            ValueType::Record(_) => ", an object with these keys",
            ValueType::Variant(_) => r#", "case" or {"case": payload}"#,
            ValueType::Enum(_) => ", the name of a case",
            ValueType::Flags(_) => ", an array of names",
            ValueType::Option(inner) if matches!(**inner, ValueType::Option(_)) => r#", null or {"some": value}"#,
            ValueType::Option(_) => ", null or the value",
            ValueType::Result { .. } => r#", {"ok": value} or {"err": value}"#,
            _ => "",
        })
    }
}
