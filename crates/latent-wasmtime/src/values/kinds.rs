//! The kinds of types and values in words that name no content, for a value that is not of its type.

use latent_core::contract::ValueType;
use wasmtime::component::Val;

/// The kind of a type.
pub(super) fn kind_of_type(ty: &ValueType) -> &'static str {
    match ty {
        ValueType::Bool => "bool",
        ValueType::S8 | ValueType::S16 | ValueType::S32 | ValueType::S64 => "a signed integer",
        ValueType::U8 | ValueType::U16 | ValueType::U32 | ValueType::U64 => "an unsigned integer",
        ValueType::F32 | ValueType::F64 => "a float",
        ValueType::Char => "char",
        ValueType::String => "string",
        ValueType::List(_) => "list",
        ValueType::Tuple(_) => "tuple",
        ValueType::Record(_) => "record",
        ValueType::Variant(_) => "variant",
        ValueType::Enum(_) => "enum",
        ValueType::Flags(_) => "flags",
        ValueType::Option(_) => "option",
        ValueType::Result { .. } => "result",
    }
}

/// The kind of a value.
pub(super) fn kind_of(value: &Val) -> &'static str {
    match value {
        Val::Bool(_) => "a bool",
        Val::S8(_) | Val::S16(_) | Val::S32(_) | Val::S64(_) => "a signed integer of some width",
        Val::U8(_) | Val::U16(_) | Val::U32(_) | Val::U64(_) => "an unsigned integer of some width",
        Val::Float32(_) | Val::Float64(_) => "a float of some width",
        Val::Char(_) => "a char",
        Val::String(_) => "a string",
        Val::List(_) => "a list",
        Val::Record(_) => "a record of some shape",
        Val::Tuple(_) => "a tuple of some length",
        Val::Variant(..) => "a variant",
        Val::Enum(_) => "a case of some enum",
        Val::Option(_) => "an option",
        Val::Result(_) => "a result",
        Val::Flags(_) => "flags of some type",
        _ => "something that is not a plain value",
    }
}
