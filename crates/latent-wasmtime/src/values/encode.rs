//! A result as JSON: a direct writer over the type and the value side by side.
//!
//! Invariant: the output is checked against its bound before it grows, and recursion follows the type, bounded by depth.

use latent_core::contract::{Case, Field, ValueType};
use wasmtime::component::Val;

use super::ValueLimits;
use super::kinds::{kind_of, kind_of_type};
use super::names::NameIndex;
use super::writer::{Full, Writer};

/// Why a value was not encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The JSON would be longer than `bytes_out_max`. The activation fails with `result-limit-exceeded`.
    #[error("the result exceeds the limit of {limit} bytes of JSON: return less in one call")]
    TooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// The result holds more values than `nodes_max`. The activation fails with `result-limit-exceeded`.
    #[error("the result exceeds the limit of {limit} values: return less in one call")]
    TooManyNodes {
        /// The bound in values.
        limit: u32,
    },
    /// The result nests deeper than `depth_max`. The activation fails with `result-limit-exceeded`.
    #[error("the result exceeds the limit of {limit} levels of nesting: flatten it")]
    TooDeep {
        /// The bound in levels.
        limit: u32,
    },
    /// The value is not of the type: a fault of the platform, never of a guest.
    #[error("the result is {found} where its type says {expected}")]
    Mismatch {
        /// The kind of the type.
        expected: &'static str,
        /// The kind of the value.
        found: &'static str,
    },
}

/// Encodes a value of the given type as `application/json`.
///
/// # Errors
/// [`EncodeError`] when a bound is exceeded or the value is not of the type.
pub fn encode(ty: &ValueType, value: &Val, limits: &ValueLimits) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder { out: Writer::new(limits.bytes_out_max), limits, nodes: 0, names: NameIndex::default() };
    match encoder.value(ty, value, 1) {
        Ok(()) => Ok(encoder.out.finish()),
        Err(stop) => Err(stop.into_error(limits)),
    }
}

/// Encodes bytes as [`encode`] does a `list<u8>`, without a value for each.
///
/// # Errors
/// [`EncodeError::TooLarge`].
pub fn encode_bytes(bytes: &[u8], limits: &ValueLimits) -> Result<Vec<u8>, EncodeError> {
    let mut out = Writer::new(limits.bytes_out_max);
    out.base64(bytes).map_err(|full| Stop::from(full).into_error(limits))?;
    Ok(out.finish())
}

/// Encodes text as [`encode`] does a `string`.
///
/// # Errors
/// [`EncodeError::TooLarge`].
pub fn encode_string(text: &str, limits: &ValueLimits) -> Result<Vec<u8>, EncodeError> {
    let mut out = Writer::new(limits.bytes_out_max);
    out.string(text).map_err(|full| Stop::from(full).into_error(limits))?;
    Ok(out.finish())
}

struct Encoder<'t> {
    out: Writer,
    limits: &'t ValueLimits,
    nodes: u32,
    names: NameIndex<'t>,
}

/// Why encoding stopped, without the numbers.
enum Stop {
    Full,
    Nodes,
    Depth,
    Mismatch { expected: &'static str, found: &'static str },
}

impl From<Full> for Stop {
    fn from(Full: Full) -> Self {
        Self::Full
    }
}

impl Stop {
    fn into_error(self, limits: &ValueLimits) -> EncodeError {
        match self {
            Self::Full => EncodeError::TooLarge { limit: limits.bytes_out_max },
            Self::Nodes => EncodeError::TooManyNodes { limit: limits.nodes_max },
            Self::Depth => EncodeError::TooDeep { limit: limits.depth_max },
            Self::Mismatch { expected, found } => EncodeError::Mismatch { expected, found },
        }
    }
}

impl<'t> Encoder<'t> {
    fn node(&mut self, depth: u32) -> Result<(), Stop> {
        if depth > self.limits.depth_max {
            return Err(Stop::Depth);
        }
        if self.nodes >= self.limits.nodes_max {
            return Err(Stop::Nodes);
        }
        self.nodes += 1;
        Ok(())
    }

    fn value(&mut self, ty: &'t ValueType, value: &Val, depth: u32) -> Result<(), Stop> {
        self.node(depth)?;
        match (ty, value) {
            (ValueType::Bool, Val::Bool(true)) => self.out.raw(b"true")?,
            (ValueType::Bool, Val::Bool(false)) => self.out.raw(b"false")?,
            (ValueType::S8, Val::S8(number)) => self.out.plain(number)?,
            (ValueType::U8, Val::U8(number)) => self.out.plain(number)?,
            (ValueType::S16, Val::S16(number)) => self.out.plain(number)?,
            (ValueType::U16, Val::U16(number)) => self.out.plain(number)?,
            (ValueType::S32, Val::S32(number)) => self.out.plain(number)?,
            (ValueType::U32, Val::U32(number)) => self.out.plain(number)?,
            (ValueType::S64, Val::S64(number)) => self.out.plain(format_args!("\"{number}\""))?,
            (ValueType::U64, Val::U64(number)) => self.out.plain(format_args!("\"{number}\""))?,
            (ValueType::F32, Val::Float32(number)) => match special((*number).into()) {
                Some(text) => self.out.string(text)?,
                None => self.out.plain(format_args!("{number:?}"))?,
            },
            (ValueType::F64, Val::Float64(number)) => match special(*number) {
                Some(text) => self.out.string(text)?,
                None => self.out.plain(format_args!("{number:?}"))?,
            },
            (ValueType::Char, Val::Char(char)) => self.out.string(char.encode_utf8(&mut [0; 4]))?,
            (ValueType::String, Val::String(text)) => self.out.string(text)?,
            (ValueType::Enum(names), Val::Enum(name)) => {
                if self.names.position(Some(ty), names.iter().map(|name| &**name), name).is_none() {
                    return Err(mismatch(ty, value));
                }
                self.out.string(name)?;
            }
            _ => self.composite(ty, value, depth)?,
        }
        Ok(())
    }

    fn composite(&mut self, ty: &'t ValueType, value: &Val, depth: u32) -> Result<(), Stop> {
        match (ty, value) {
            (ty, Val::List(items)) if ty.is_bytes() => {
                let bytes = items.iter().map(|item| match item {
                    Val::U8(byte) => Ok(*byte),
                    other => Err(mismatch(&ValueType::U8, other)),
                });
                self.out.base64_from(items.len(), bytes)
            }
            (ValueType::List(element), Val::List(items)) => {
                self.array(items.iter().map(|item| (&**element, item)), depth)
            }
            (ValueType::Tuple(types), Val::Tuple(items)) if types.len() == items.len() => {
                self.array(types.iter().zip(items), depth)
            }
            (ValueType::Record(fields), Val::Record(values)) if fields.len() == values.len() => {
                self.record(fields, values, depth)
            }
            (ValueType::Variant(cases), Val::Variant(name, payload)) => {
                self.variant(ty, cases, name, payload.as_deref(), depth)
            }
            (ValueType::Flags(names), Val::Flags(flags)) => {
                let index = &mut self.names;
                let mut known = |flag: &str| index.position(Some(ty), names.iter().map(|name| &**name), flag).is_some();
                if !flags.iter().all(|flag| known(flag)) {
                    return Err(mismatch(ty, value));
                }
                self.flags(flags, depth)
            }
            (ValueType::Option(_), Val::Option(None)) => Ok(self.out.raw(b"null")?),
            (ValueType::Option(inner), Val::Option(Some(some))) => match **inner {
                ValueType::Option(_) => self.only_key("some", Some((&**inner, &**some)), depth),
                _ => self.value(inner, some, depth + 1),
            },
            (ValueType::Result { ok, err }, Val::Result(result)) => {
                let (key, ty, payload) = match result {
                    Ok(payload) => ("ok", ok, payload),
                    Err(payload) => ("err", err, payload),
                };
                let payload = paired(ty.as_deref(), payload.as_deref())?;
                self.only_key(key, payload, depth)
            }
            _ => Err(mismatch(ty, value)),
        }
    }

    fn array<'v>(&mut self, items: impl Iterator<Item = (&'t ValueType, &'v Val)>, depth: u32) -> Result<(), Stop> {
        self.out.raw(b"[")?;
        for (at, (ty, item)) in items.enumerate() {
            self.comma(at)?;
            self.value(ty, item, depth + 1)?;
        }
        Ok(self.out.raw(b"]")?)
    }

    fn record(&mut self, fields: &'t [Field], values: &[(String, Val)], depth: u32) -> Result<(), Stop> {
        self.out.raw(b"{")?;
        for (at, (field, (name, value))) in fields.iter().zip(values).enumerate() {
            if *field.name != **name {
                return Err(mismatch(&field.ty, value));
            }
            self.comma(at)?;
            self.out.string(name)?;
            self.out.raw(b":")?;
            self.value(&field.ty, value, depth + 1)?;
        }
        Ok(self.out.raw(b"}")?)
    }

    fn variant(
        &mut self,
        ty: &'t ValueType,
        cases: &'t [Case],
        name: &str,
        payload: Option<&Val>,
        depth: u32,
    ) -> Result<(), Stop> {
        let Some(at) = self.names.position(Some(ty), cases.iter().map(|case| &*case.name), name) else {
            return Err(Stop::Mismatch { expected: "variant", found: "a case of another variant" });
        };
        match paired(cases[at].payload.as_ref(), payload)? {
            None => Ok(self.out.string(name)?),
            payload => self.only_key(name, payload, depth),
        }
    }

    fn flags(&mut self, flags: &[String], depth: u32) -> Result<(), Stop> {
        self.out.raw(b"[")?;
        for (at, flag) in flags.iter().enumerate() {
            self.node(depth + 1)?;
            self.comma(at)?;
            self.out.string(flag)?;
        }
        Ok(self.out.raw(b"]")?)
    }

    /// An object with one key, and null where nothing is carried.
    fn only_key(&mut self, key: &str, payload: Option<(&'t ValueType, &Val)>, depth: u32) -> Result<(), Stop> {
        self.out.raw(b"{")?;
        self.out.string(key)?;
        self.out.raw(b":")?;
        match payload {
            Some((ty, value)) => self.value(ty, value, depth + 1)?,
            None => self.out.raw(b"null")?,
        }
        Ok(self.out.raw(b"}")?)
    }

    fn comma(&mut self, at: usize) -> Result<(), Stop> {
        if at > 0 {
            self.out.raw(b",")?;
        }
        Ok(())
    }
}

/// A payload with its type, where both are there or both are not.
fn paired<'t, 'v>(ty: Option<&'t ValueType>, value: Option<&'v Val>) -> Result<Option<(&'t ValueType, &'v Val)>, Stop> {
    match (ty, value) {
        (Some(ty), Some(value)) => Ok(Some((ty, value))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Stop::Mismatch { expected: "a payload", found: "nothing" }),
        (None, Some(value)) => Err(Stop::Mismatch { expected: "nothing", found: kind_of(value) }),
    }
}

/// The text of a float that JSON numbers cannot express.
fn special(number: f64) -> Option<&'static str> {
    match number {
        n if n.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

fn mismatch(ty: &ValueType, value: &Val) -> Stop {
    Stop::Mismatch { expected: kind_of_type(ty), found: kind_of(value) }
}
