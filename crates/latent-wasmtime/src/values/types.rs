//! From the types of a component to the closed tree of `latent-core`, whether the engine or the bytes tell them.
//!
//! Owns what is refused and why. Invariant: whatever a component declares, the tree is at most [`TYPE_DEPTH_MAX`] deep,
//! and its types and names are charged to a [`TypeBudget`].

mod shape;

pub use shape::{Function, Shape, Typed};

use latent_core::contract::{Case, Field, FunctionSignature, ValueType};
use latent_core::error::cut;
use wasmtime::component::Type;
use wasmtime::component::types::ComponentFunc;

/// How deep a type may nest.
pub const TYPE_DEPTH_MAX: u32 = 64;

/// Bytes of a place in a signature; a longer one is cut.
const PLACE_BYTES_MAX: usize = 1024;

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
    nodes: Allowance,
    name_bytes: Allowance,
}

/// One dimension of a budget.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    max: usize,
    left: usize,
}

impl Allowance {
    fn new(max: usize) -> Self {
        Self { max, left: max }
    }

    fn take(&mut self, what: &'static str, count: usize) -> Result<(), Refusal> {
        let large = Reason::Large { what, max: self.max };
        self.left = self.left.checked_sub(count).ok_or(Refusal::new(large))?;
        Ok(())
    }
}

impl Default for TypeBudget {
    /// The budget of one signature: 16,384 types and names, 1 MiB of names.
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

/// The signature of a function that some source describes, with a budget of its own.
pub(crate) fn signature_of<T: Typed>(func: &Function<'_, T>) -> Result<FunctionSignature, UnsupportedType> {
    TypeBudget::default().function(func)
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
        Self { nodes: Allowance::new(nodes_max), name_bytes: Allowance::new(name_bytes_max) }
    }

    /// The signature of a function, charged to this budget.
    ///
    /// # Errors
    /// [`UnsupportedType`] as for [`signature`]; what was charged until then stays charged.
    pub fn signature(&mut self, func: &ComponentFunc) -> Result<FunctionSignature, UnsupportedType> {
        self.function(&func.into())
    }

    fn function<T: Typed>(&mut self, func: &Function<'_, T>) -> Result<FunctionSignature, UnsupportedType> {
        if func.is_async {
            return Err(Refusal::not_a_value("an async function").at("func"));
        }
        let mut params = Vec::new();
        for (name, ty) in &func.params {
            let field = self.name(name).and_then(|name| Ok(Field { name, ty: self.convert(ty, 1)? }));
            params.push(field.map_err(|refusal| refusal.inside(&format!(".{}", shown(name))).at("params"))?);
        }
        let result = func.results.first().map(|ty| self.convert(ty, 1)).transpose().map_err(|r| r.at("result"))?;
        if func.results.len() > 1 {
            return Err(Refusal::not_a_value("one of several results").at("result"));
        }
        Ok(FunctionSignature { params, result })
    }

    fn convert<T: Typed>(&mut self, ty: &T, depth: u32) -> Result<ValueType, Refusal> {
        if depth > TYPE_DEPTH_MAX {
            return Err(Refusal::new(Reason::Deep));
        }
        self.node()?;
        Ok(match ty.shape() {
            Shape::Plain(plain) => plain,
            Shape::NotAValue(kind) => return Err(Refusal::not_a_value(kind)),
            Shape::List(element) => ValueType::List(self.inner(&element, "[]", depth)?),
            Shape::Option(inner) => ValueType::Option(self.inner(&inner, ".some", depth)?),
            Shape::Enum(names) => ValueType::Enum(self.names(names)?),
            Shape::Flags(names) => ValueType::Flags(self.names(names)?),
            Shape::Tuple(types) => ValueType::Tuple(self.elements(&types, depth)?),
            Shape::Record(fields) => ValueType::Record(self.fields(&fields, depth)?),
            Shape::Variant(cases) => ValueType::Variant(self.cases(&cases, depth)?),
            Shape::Result { ok, err } => {
                let ok = ok.map(|ty| self.inner(&ty, ".ok", depth)).transpose()?;
                let err = err.map(|ty| self.inner(&ty, ".err", depth)).transpose()?;
                ValueType::Result { ok, err }
            }
        })
    }

    fn elements<T: Typed>(&mut self, types: &[T], depth: u32) -> Result<Vec<ValueType>, Refusal> {
        let mut elements = Vec::new();
        for (at, ty) in types.iter().enumerate() {
            let element = self.convert(ty, depth + 1);
            elements.push(element.map_err(|refusal| refusal.inside(&format!("[{at}]")))?);
        }
        Ok(elements)
    }

    fn fields<T: Typed>(&mut self, types: &[(&str, T)], depth: u32) -> Result<Vec<Field>, Refusal> {
        let mut fields = Vec::new();
        for (shown_name, ty) in types {
            let name = self.name(shown_name)?;
            let ty = self.convert(ty, depth + 1);
            let ty = ty.map_err(|refusal| refusal.inside(&format!(".{}", shown(shown_name))))?;
            fields.push(Field { name, ty });
        }
        Ok(fields)
    }

    fn cases<T: Typed>(&mut self, types: &[(&str, Option<T>)], depth: u32) -> Result<Vec<Case>, Refusal> {
        let mut cases = Vec::new();
        for (shown_name, ty) in types {
            let name = self.name(shown_name)?;
            let payload = ty.as_ref().map(|ty| self.convert(ty, depth + 1)).transpose();
            let payload = payload.map_err(|refusal| refusal.inside(&format!(".{}", shown(shown_name))))?;
            cases.push(Case { name, payload });
        }
        Ok(cases)
    }

    fn inner<T: Typed>(&mut self, ty: &T, segment: &str, depth: u32) -> Result<Box<ValueType>, Refusal> {
        self.convert(ty, depth + 1).map(Box::new).map_err(|refusal| refusal.inside(segment))
    }

    fn names(&mut self, names: Vec<&str>) -> Result<Vec<Box<str>>, Refusal> {
        names.into_iter().map(|name| self.node().and_then(|()| self.name(name))).collect()
    }

    fn name(&mut self, name: &str) -> Result<Box<str>, Refusal> {
        self.name_bytes.take("bytes of names", name.len())?;
        Ok(name.into())
    }

    fn node(&mut self) -> Result<(), Refusal> {
        self.nodes.take("types and names", 1)
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
        let place = cut(&format!("{root}{}", self.inside), PLACE_BYTES_MAX).to_owned();
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
