//! Types from bytes: any bytes are the types of a function's parameters.
//!
//! Invariant: a type nests and has members within bounds that a component could have too.

use latent_core::contract::{Case, Field, FunctionSignature, ValueType};

/// Levels of a type.
const DEPTH_MAX: u32 = 5;
/// Members of a record, variant, enumeration or set of flags, and parameters.
const MEMBERS_MAX: u8 = 5;
/// Names that members have, among them those that mean something to some type.
const NAMES: [&str; 5] = ["a", "ok", "some", "by-length", "null"];

/// The signature that the first bytes are, and what follows them.
pub fn signature(data: &[u8]) -> (FunctionSignature, &[u8]) {
    let mut from = Bytes(data);
    let count = from.next() % MEMBERS_MAX;
    let params = (0..usize::from(count)).map(|at| field(at, &mut from)).collect();
    (FunctionSignature { params, result: None }, from.0)
}

/// A function of one parameter.
pub fn takes(name: &str, ty: ValueType) -> FunctionSignature {
    FunctionSignature { params: vec![Field { name: name.into(), ty }], result: None }
}

/// Bytes, and zeros after them.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

fn field(at: usize, from: &mut Bytes<'_>) -> Field {
    Field { name: NAMES[at].into(), ty: ty(from, DEPTH_MAX) }
}

fn ty(from: &mut Bytes<'_>, depth: u32) -> ValueType {
    let scalars = [
        ValueType::Bool,
        ValueType::S8,
        ValueType::U8,
        ValueType::S16,
        ValueType::U16,
        ValueType::S32,
        ValueType::U32,
        ValueType::S64,
        ValueType::U64,
        ValueType::F32,
        ValueType::F64,
        ValueType::Char,
        ValueType::String,
        ValueType::List(Box::new(ValueType::U8)),
    ];
    let choice = usize::from(from.next()) % (scalars.len() + 8);
    let (Some(composite), true) = (choice.checked_sub(scalars.len()), depth > 0) else {
        return scalars[choice % scalars.len()].clone();
    };
    let mut inner = |from: &mut Bytes<'_>| ty(from, depth - 1);
    match composite {
        0 => ValueType::List(Box::new(inner(from))),
        1 => ValueType::Option(Box::new(inner(from))),
        2 => ValueType::Tuple(members(from, 1, |_, from| inner(from))),
        3 => ValueType::Record(members(from, 1, |name, from| Field { name, ty: inner(from) })),
        4 => ValueType::Variant(members(from, 1, |name, from| Case { name, payload: maybe(from, &mut inner) })),
        5 => ValueType::Enum(members(from, 1, |name, _| name)),
        6 => ValueType::Flags(members(from, 1, |name, _| name)),
        _ => {
            ValueType::Result { ok: maybe(from, &mut inner).map(Box::new), err: maybe(from, &mut inner).map(Box::new) }
        }
    }
}

fn members<T>(from: &mut Bytes<'_>, min: u8, mut one: impl FnMut(Box<str>, &mut Bytes<'_>) -> T) -> Vec<T> {
    let count = min + from.next() % (MEMBERS_MAX - min + 1);
    NAMES.iter().take(count.into()).map(|name| one((*name).into(), from)).collect()
}

fn maybe(from: &mut Bytes<'_>, inner: &mut impl FnMut(&mut Bytes<'_>) -> ValueType) -> Option<ValueType> {
    (from.next() % 2 == 1).then(|| inner(from))
}
