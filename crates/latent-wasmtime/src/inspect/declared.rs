//! The types of a component as its bytes tell them, for the one conversion that decides what can cross the boundary.

use latent_core::contract::ValueType;
use wasmparser::PrimitiveValType;
use wasmparser::component_types::{ComponentDefinedType, ComponentFuncType, ComponentValType};
use wasmparser::names::KebabString;
use wasmparser::types::TypesRef;

use crate::values::{Function, Shape, Typed};

/// A type of a component, with the list that it refers to.
pub struct DeclaredType<'t> {
    types: TypesRef<'t>,
    ty: ComponentValType,
}

/// The type of a function that a component declares.
pub fn function<'t>(types: TypesRef<'t>, func: &'t ComponentFuncType) -> Function<'t, DeclaredType<'t>> {
    let declared = |ty: &ComponentValType| DeclaredType { types, ty: *ty };
    Function {
        is_async: func.async_,
        params: func.params.iter().map(|(name, ty)| (name.as_str(), declared(ty))).collect(),
        results: func.result.iter().map(declared).collect(),
    }
}

impl<'t> DeclaredType<'t> {
    fn with(&self, ty: ComponentValType) -> Self {
        Self { types: self.types, ty }
    }

    fn defined(&self, defined: &'t ComponentDefinedType) -> Shape<'t, Self> {
        match defined {
            ComponentDefinedType::Primitive(primitive) => of_primitive(*primitive),
            ComponentDefinedType::Record(record) => {
                Shape::Record(record.fields.iter().map(|(name, ty)| (name.as_str(), self.with(*ty))).collect())
            }
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.iter();
                Shape::Variant(cases.map(|(name, case)| (name.as_str(), case.ty.map(|ty| self.with(ty)))).collect())
            }
            ComponentDefinedType::List { element, .. } => Shape::List(self.with(*element)),
            ComponentDefinedType::Tuple(tuple) => Shape::Tuple(tuple.types.iter().map(|ty| self.with(*ty)).collect()),
            ComponentDefinedType::Flags(names) => Shape::Flags(names.iter().map(KebabString::as_str).collect()),
            ComponentDefinedType::Enum(names) => Shape::Enum(names.iter().map(KebabString::as_str).collect()),
            ComponentDefinedType::Option { ty, .. } => Shape::Option(self.with(*ty)),
            ComponentDefinedType::Result { ok, err, .. } => {
                Shape::Result { ok: ok.map(|ty| self.with(ty)), err: err.map(|ty| self.with(ty)) }
            }
            ComponentDefinedType::Map { .. } => Shape::NotAValue("a map"),
            ComponentDefinedType::FixedLengthList { .. } => Shape::NotAValue("a fixed-length list"),
            ComponentDefinedType::Own(_) => Shape::NotAValue("an owned resource"),
            ComponentDefinedType::Borrow(_) => Shape::NotAValue("a borrowed resource"),
            ComponentDefinedType::Future { .. } => Shape::NotAValue("a future"),
            ComponentDefinedType::Stream { .. } => Shape::NotAValue("a stream"),
        }
    }
}

impl Typed for DeclaredType<'_> {
    fn shape(&self) -> Shape<'_, Self> {
        match self.ty {
            ComponentValType::Primitive(primitive) => of_primitive(primitive),
            ComponentValType::Type(id) => {
                self.types.get(id).map_or(Shape::NotAValue("an unknown type"), |defined| self.defined(defined))
            }
        }
    }
}

fn of_primitive<'a, T>(primitive: PrimitiveValType) -> Shape<'a, T> {
    Shape::Plain(match primitive {
        PrimitiveValType::Bool => ValueType::Bool,
        PrimitiveValType::S8 => ValueType::S8,
        PrimitiveValType::U8 => ValueType::U8,
        PrimitiveValType::S16 => ValueType::S16,
        PrimitiveValType::U16 => ValueType::U16,
        PrimitiveValType::S32 => ValueType::S32,
        PrimitiveValType::U32 => ValueType::U32,
        PrimitiveValType::S64 => ValueType::S64,
        PrimitiveValType::U64 => ValueType::U64,
        PrimitiveValType::F32 => ValueType::F32,
        PrimitiveValType::F64 => ValueType::F64,
        PrimitiveValType::Char => ValueType::Char,
        PrimitiveValType::String => ValueType::String,
        PrimitiveValType::ErrorContext => return Shape::NotAValue("an error-context"),
    })
}
