//! From the engine's types to the closed tree of `latent-core`, once per prepared component.
//!
//! Owns what is refused and why. Invariant: whatever a component declares, the tree is at most [`TYPE_DEPTH_MAX`] deep,
//! and its types and names are charged to a [`TypeBudget`].

use latent_core::contract::{Case, Field, FunctionSignature, ValueType};
use latent_core::error::cut;
use wasmtime::component::Type;
use wasmtime::component::types::ComponentFunc;

/// How deep a type may nest.
pub const TYPE_DEPTH_MAX: u32 = 64;

/// Why a function's type cannot be called from outside. The place reads like `params.order.lines[].handle`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedType {
    /// It needs something that is not a plain value.
    #[error("`{place}` is {kind}, which cannot cross the activation boundary: only plain values can")]
    NotAValue {
        /// Where in the signature.
        place: String,
        /// What is there, with its article.
        kind: &'static str,
    },
    /// It nests too deep.
    #[error("`{place}` nests types deeper than {TYPE_DEPTH_MAX} levels: flatten the type")]
    TooDeep {
        /// Where in the signature.
        place: String,
    },
    /// It is too large.
    #[error("`{place}` exceeds the {max} {what} that types may have: make the type smaller")]
    TooLarge {
        /// Where in the signature.
        place: String,
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        max: usize,
    },
}

/// What the type trees of one signature, or of all signatures of a component, may still occupy. A component's types
/// are a graph with sharing, and a tree of it can be exponentially larger than the component.
#[derive(Debug, Clone)]
pub struct TypeBudget {
    nodes_max: usize,
    nodes_left: usize,
    name_bytes_max: usize,
    name_bytes_left: usize,
}

impl Default for TypeBudget {
    /// 16,384 types and names, 1 MiB of names.
    fn default() -> Self {
        Self::new(16_384, 1 << 20)
    }
}

/// The signature of a function, with a budget of its own.
///
/// # Errors
/// [`UnsupportedType`] when a parameter or the result is not a plain value or is too large.
pub fn signature(func: &ComponentFunc) -> Result<FunctionSignature, UnsupportedType> {
    TypeBudget::default().signature(func)
}

/// The tree of one type, with a budget of its own.
///
/// # Errors
/// [`UnsupportedType`] when the type is not a plain value or is too large.
pub fn value_type(ty: &Type) -> Result<ValueType, UnsupportedType> {
    TypeBudget::default().convert(ty, 1).map_err(|refusal| refusal.at("type"))
}

impl TypeBudget {
    /// A budget of `nodes_max` types and names, and of `name_bytes_max` bytes of names.
    #[must_use]
    pub fn new(nodes_max: usize, name_bytes_max: usize) -> Self {
        Self { nodes_max, nodes_left: nodes_max, name_bytes_max, name_bytes_left: name_bytes_max }
    }

    /// The signature of a function, charged to this budget.
    ///
    /// # Errors
    /// [`UnsupportedType`] as for [`signature`]; what was charged until then stays charged.
    pub fn signature(&mut self, func: &ComponentFunc) -> Result<FunctionSignature, UnsupportedType> {
        if func.async_() {
            return Err(Refusal::not_a_value("an async function").at("func"));
        }
        let mut params = Vec::new();
        for (name, ty) in func.params() {
            let field = self.name(name).and_then(|name| Ok(Field { name, ty: self.convert(&ty, 1)? }));
            params.push(field.map_err(|refusal| refusal.inside(&format!(".{}", shown(name))).at("params"))?);
        }
        let mut results = func.results();
        let result = results.next().map(|ty| self.convert(&ty, 1)).transpose().map_err(|r| r.at("result"))?;
        if results.next().is_some() {
            return Err(Refusal::not_a_value("one of several results").at("result"));
        }
        Ok(FunctionSignature { params, result })
    }

    fn convert(&mut self, ty: &Type, depth: u32) -> Result<ValueType, Refusal> {
        if depth > TYPE_DEPTH_MAX {
            return Err(Refusal::new(Reason::Deep));
        }
        self.node()?;
        let not_a_value = |kind| Err(Refusal::not_a_value(kind));
        Ok(match ty {
            Type::Bool => ValueType::Bool,
            Type::S8 => ValueType::S8,
            Type::U8 => ValueType::U8,
            Type::S16 => ValueType::S16,
            Type::U16 => ValueType::U16,
            Type::S32 => ValueType::S32,
            Type::U32 => ValueType::U32,
            Type::S64 => ValueType::S64,
            Type::U64 => ValueType::U64,
            Type::Float32 => ValueType::F32,
            Type::Float64 => ValueType::F64,
            Type::Char => ValueType::Char,
            Type::String => ValueType::String,
            Type::List(list) => ValueType::List(self.inner(&list.ty(), "[]", depth)?),
            Type::Option(option) => ValueType::Option(self.inner(&option.ty(), ".some", depth)?),
            Type::Enum(names) => ValueType::Enum(self.names(names.names())?),
            Type::Flags(names) => ValueType::Flags(self.names(names.names())?),
            Type::Tuple(_) | Type::Record(_) | Type::Variant(_) | Type::Result(_) => self.composite(ty, depth)?,
            Type::Map(_) => return not_a_value("a map"),
            Type::FixedLengthList(_) => return not_a_value("a fixed-length list"),
            Type::Own(_) => return not_a_value("an owned resource"),
            Type::Borrow(_) => return not_a_value("a borrowed resource"),
            Type::Future(_) => return not_a_value("a future"),
            Type::Stream(_) => return not_a_value("a stream"),
            Type::ErrorContext => return not_a_value("an error-context"),
        })
    }

    fn composite(&mut self, ty: &Type, depth: u32) -> Result<ValueType, Refusal> {
        Ok(match ty {
            Type::Tuple(tuple) => {
                let mut types = Vec::new();
                for (at, ty) in tuple.types().enumerate() {
                    let element = self.convert(&ty, depth + 1);
                    types.push(element.map_err(|refusal| refusal.inside(&format!("[{at}]")))?);
                }
                ValueType::Tuple(types)
            }
            Type::Record(record) => {
                let mut fields = Vec::new();
                for field in record.fields() {
                    let name = self.name(field.name)?;
                    let ty = self.convert(&field.ty, depth + 1);
                    let ty = ty.map_err(|refusal| refusal.inside(&format!(".{}", shown(field.name))))?;
                    fields.push(Field { name, ty });
                }
                ValueType::Record(fields)
            }
            Type::Variant(variant) => {
                let mut cases = Vec::new();
                for case in variant.cases() {
                    let name = self.name(case.name)?;
                    let payload = case.ty.map(|ty| self.convert(&ty, depth + 1)).transpose();
                    let payload = payload.map_err(|refusal| refusal.inside(&format!(".{}", shown(case.name))))?;
                    cases.push(Case { name, payload });
                }
                ValueType::Variant(cases)
            }
            Type::Result(result) => {
                let ok = result.ok().map(|ty| self.inner(&ty, ".ok", depth)).transpose()?;
                let err = result.err().map(|ty| self.inner(&ty, ".err", depth)).transpose()?;
                ValueType::Result { ok, err }
            }
            _ => unreachable!("only the four types above are composites"),
        })
    }

    fn inner(&mut self, ty: &Type, segment: &str, depth: u32) -> Result<Box<ValueType>, Refusal> {
        self.convert(ty, depth + 1).map(Box::new).map_err(|refusal| refusal.inside(segment))
    }

    fn names<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<Vec<Box<str>>, Refusal> {
        names.map(|name| self.node().and_then(|()| self.name(name))).collect()
    }

    fn name(&mut self, name: &str) -> Result<Box<str>, Refusal> {
        let large = Reason::Large { what: "bytes of names", max: self.name_bytes_max };
        self.name_bytes_left = self.name_bytes_left.checked_sub(name.len()).ok_or(Refusal::new(large))?;
        Ok(name.into())
    }

    fn node(&mut self) -> Result<(), Refusal> {
        let large = Reason::Large { what: "types and names", max: self.nodes_max };
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(Refusal::new(large))?;
        Ok(())
    }
}

/// A refusal on its way out: the place grows from its end.
struct Refusal {
    reason: Reason,
    inside: String,
}

enum Reason {
    NotAValue(&'static str),
    Deep,
    Large { what: &'static str, max: usize },
}

impl Refusal {
    fn new(reason: Reason) -> Self {
        Self { reason, inside: String::new() }
    }

    fn not_a_value(kind: &'static str) -> Self {
        Self::new(Reason::NotAValue(kind))
    }

    fn inside(mut self, segment: &str) -> Self {
        self.inside.insert_str(0, segment);
        self
    }

    fn at(self, root: &str) -> UnsupportedType {
        let place = format!("{root}{}", self.inside);
        match self.reason {
            Reason::NotAValue(kind) => UnsupportedType::NotAValue { place, kind },
            Reason::Deep => UnsupportedType::TooDeep { place },
            Reason::Large { what, max } => UnsupportedType::TooLarge { place, what, max },
        }
    }
}

/// A name as a place shows it.
fn shown(name: &str) -> &str {
    cut(name, 64)
}
