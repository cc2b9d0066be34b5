//! A type taken apart by one level, whatever it was read from, and how the engine's types are.
//!
//! Invariant: a source only says what is there. What can cross the boundary and how much of it is decided in one place,
//! for every source alike.

use latent_core::contract::ValueType;
use wasmtime::component::Type;
use wasmtime::component::types::ComponentFunc;

/// A type of some source, which calls its types `T`. Names are borrowed from it.
pub enum Shape<'a, T> {
    /// A type that holds nothing.
    Plain(ValueType),
    /// Something that is not a plain value, in words with their article.
    NotAValue(&'static str),
    /// A list and its elements.
    List(T),
    /// An option and what it may hold.
    Option(T),
    /// Cases without payloads.
    Enum(Vec<&'a str>),
    /// Names, any of which a value may have.
    Flags(Vec<&'a str>),
    /// Elements in order.
    Tuple(Vec<T>),
    /// Fields in order.
    Record(Vec<(&'a str, T)>),
    /// Cases in order.
    Variant(Vec<(&'a str, Option<T>)>),
    /// A result.
    Result {
        /// What success carries.
        ok: Option<T>,
        /// What failure carries.
        err: Option<T>,
    },
}

/// A type that can be taken apart.
pub trait Typed: Sized {
    /// The outermost level.
    fn shape(&self) -> Shape<'_, Self>;
}

/// The type of a function.
pub struct Function<'a, T> {
    /// Whether it is an async function.
    pub is_async: bool,
    /// Parameters in order.
    pub params: Vec<(&'a str, T)>,
    /// Results; more than one in old components only.
    pub results: Vec<T>,
}

impl Typed for Type {
    fn shape(&self) -> Shape<'_, Self> {
        match self {
            Self::Bool => Shape::Plain(ValueType::Bool),
            Self::S8 => Shape::Plain(ValueType::S8),
            Self::U8 => Shape::Plain(ValueType::U8),
            Self::S16 => Shape::Plain(ValueType::S16),
            Self::U16 => Shape::Plain(ValueType::U16),
            Self::S32 => Shape::Plain(ValueType::S32),
            Self::U32 => Shape::Plain(ValueType::U32),
            Self::S64 => Shape::Plain(ValueType::S64),
            Self::U64 => Shape::Plain(ValueType::U64),
            Self::Float32 => Shape::Plain(ValueType::F32),
            Self::Float64 => Shape::Plain(ValueType::F64),
            Self::Char => Shape::Plain(ValueType::Char),
            Self::String => Shape::Plain(ValueType::String),
            Self::List(list) => Shape::List(list.ty()),
            Self::Option(option) => Shape::Option(option.ty()),
            Self::Enum(names) => Shape::Enum(names.names().collect()),
            Self::Flags(names) => Shape::Flags(names.names().collect()),
            Self::Tuple(tuple) => Shape::Tuple(tuple.types().collect()),
            Self::Record(record) => Shape::Record(record.fields().map(|field| (field.name, field.ty)).collect()),
            Self::Variant(variant) => Shape::Variant(variant.cases().map(|case| (case.name, case.ty)).collect()),
            Self::Result(result) => Shape::Result { ok: result.ok(), err: result.err() },
            Self::Map(_) => Shape::NotAValue("a map"),
            Self::FixedLengthList(_) => Shape::NotAValue("a fixed-length list"),
            Self::Own(_) => Shape::NotAValue("an owned resource"),
            Self::Borrow(_) => Shape::NotAValue("a borrowed resource"),
            Self::Future(_) => Shape::NotAValue("a future"),
            Self::Stream(_) => Shape::NotAValue("a stream"),
            Self::ErrorContext => Shape::NotAValue("an error-context"),
        }
    }
}

impl<'a> From<&'a ComponentFunc> for Function<'a, Type> {
    fn from(func: &'a ComponentFunc) -> Self {
        Self { is_async: func.async_(), params: func.params().collect(), results: func.results().collect() }
    }
}
