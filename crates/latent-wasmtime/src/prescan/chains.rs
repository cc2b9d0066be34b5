//! How many types refer to one another in a row. Types that are declared flat, one after the other, can still build on
//! one another, and the validator keeps a depth for each that it cannot hold without bound.
//!
//! Invariant: what is kept for a type is at least its depth as the validator counts it.

use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentDefinedType, ComponentExport, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentType, ComponentTypeRef, ComponentValType, TypeBounds,
};

use super::tally::{Refusal, within};

/// The depths of everything that has been defined so far, for each component and type declarator that is open.
pub struct Chains {
    scopes: Vec<Scope>,
    max: u32,
}

#[derive(Default)]
struct Scope {
    types: Vec<u16>,
    functions: Vec<u16>,
    instances: Vec<u16>,
    components: Vec<u16>,
    /// The deepest import or export.
    deepest: u16,
}

impl Scope {
    fn space(&mut self, kind: ComponentExternalKind) -> Option<&mut Vec<u16>> {
        match kind {
            ComponentExternalKind::Type => Some(&mut self.types),
            ComponentExternalKind::Func => Some(&mut self.functions),
            ComponentExternalKind::Instance => Some(&mut self.instances),
            ComponentExternalKind::Component => Some(&mut self.components),
            ComponentExternalKind::Module | ComponentExternalKind::Value => None,
        }
    }

    fn get(&mut self, kind: ComponentExternalKind, index: u32) -> u16 {
        self.space(kind).and_then(|space| space.get(index as usize).copied()).unwrap_or(1)
    }

    fn push(&mut self, kind: ComponentExternalKind, depth: u16) {
        if let Some(space) = self.space(kind) {
            space.push(depth);
        }
    }
}

impl Chains {
    /// Nothing is open.
    pub fn new(max: u32) -> Self {
        Self { scopes: Vec::new(), max }
    }

    /// Opens a component or a declarator.
    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes the innermost declarator, which becomes a type of what is around it.
    pub fn close_type(&mut self) -> Result<(), Refusal> {
        let depth = self.close();
        self.define(ComponentExternalKind::Type, depth)
    }

    /// Closes the innermost component.
    pub fn close_component(&mut self) -> Result<(), Refusal> {
        let depth = self.close();
        self.define(ComponentExternalKind::Component, depth)
    }

    fn close(&mut self) -> u16 {
        self.scopes.pop().map_or(1, |scope| scope.deepest.saturating_add(1))
    }

    /// A type that holds no declarations.
    pub fn flat_type(&mut self, of: &ComponentType<'_>) -> Result<(), Refusal> {
        let below = match of {
            ComponentType::Defined(defined) => self.below_defined(defined),
            ComponentType::Func(function) => {
                let params = function.params.iter().map(|(_, param)| *param);
                self.deepest(params.chain(function.result))
            }
            ComponentType::Resource { .. } | ComponentType::Component(_) | ComponentType::Instance(_) => 0,
        };
        self.define(ComponentExternalKind::Type, below.saturating_add(1))
    }

    /// An import, or an export that a declarator declares.
    pub fn declared(&mut self, reference: ComponentTypeRef) -> Result<(), Refusal> {
        let depth = self.of_reference(reference);
        self.public(reference.kind(), depth)
    }

    /// An export of a component.
    pub fn exported(&mut self, export: &ComponentExport<'_>) -> Result<(), Refusal> {
        let depth = self.get(export.kind, export.index);
        let ascribed = export.ty.map_or(0, |reference| self.of_reference(reference));
        self.public(export.kind, depth.max(ascribed))
    }

    /// An alias. What an instance exports is no deeper than the instance.
    pub fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), Refusal> {
        let (kind, depth) = match *alias {
            ComponentAlias::InstanceExport { kind, instance_index, .. } => {
                (kind, self.get(ComponentExternalKind::Instance, instance_index))
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Type, count, index } => {
                (ComponentExternalKind::Type, self.outer(ComponentExternalKind::Type, count, index))
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                (ComponentExternalKind::Component, self.outer(ComponentExternalKind::Component, count, index))
            }
            ComponentAlias::Outer { .. } | ComponentAlias::CoreInstanceExport { .. } => return Ok(()),
        };
        self.define(kind, depth)
    }

    /// An instance of a component, or one made of what is there.
    pub fn instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), Refusal> {
        let depth = match instance {
            ComponentInstance::Instantiate { component_index, .. } => {
                self.get(ComponentExternalKind::Component, *component_index)
            }
            ComponentInstance::FromExports(exports) => {
                let below = exports.iter().map(|export| self.get(export.kind, export.index)).max();
                below.unwrap_or(0).saturating_add(1)
            }
        };
        self.define(ComponentExternalKind::Instance, depth)
    }

    /// A canonical definition, of which only a lift makes something that types are known of.
    pub fn canonical(&mut self, function: &CanonicalFunction) -> Result<(), Refusal> {
        let CanonicalFunction::Lift { type_index, .. } = function else { return Ok(()) };
        let depth = self.get(ComponentExternalKind::Type, *type_index);
        self.define(ComponentExternalKind::Func, depth)
    }

    fn below_defined(&mut self, defined: &ComponentDefinedType<'_>) -> u16 {
        match defined {
            ComponentDefinedType::Record(fields) => self.deepest(fields.iter().map(|(_, field)| *field)),
            ComponentDefinedType::Variant(cases) => self.deepest(cases.iter().filter_map(|case| case.ty)),
            ComponentDefinedType::Tuple(types) => self.deepest(types.iter().copied()),
            ComponentDefinedType::List(of)
            | ComponentDefinedType::FixedLengthList(of, _)
            | ComponentDefinedType::Option(of) => self.deepest([*of]),
            ComponentDefinedType::Map(key, value) => self.deepest([*key, *value]),
            ComponentDefinedType::Result { ok, err } => self.deepest(ok.iter().chain(err).copied()),
            ComponentDefinedType::Future(of) | ComponentDefinedType::Stream(of) => self.deepest(*of),
            ComponentDefinedType::Own(of) | ComponentDefinedType::Borrow(of) => {
                self.get(ComponentExternalKind::Type, *of)
            }
            ComponentDefinedType::Primitive(_) | ComponentDefinedType::Flags(_) | ComponentDefinedType::Enum(_) => 0,
        }
    }

    fn deepest(&mut self, types: impl IntoIterator<Item = ComponentValType>) -> u16 {
        let depths = types.into_iter().map(|of| match of {
            ComponentValType::Primitive(_) => 1,
            ComponentValType::Type(index) => self.get(ComponentExternalKind::Type, index),
        });
        depths.max().unwrap_or(0)
    }

    fn of_reference(&mut self, reference: ComponentTypeRef) -> u16 {
        match reference {
            ComponentTypeRef::Func(of)
            | ComponentTypeRef::Instance(of)
            | ComponentTypeRef::Component(of)
            | ComponentTypeRef::Type(TypeBounds::Eq(of))
            | ComponentTypeRef::Value(ComponentValType::Type(of)) => self.get(ComponentExternalKind::Type, of),
            ComponentTypeRef::Module(_)
            | ComponentTypeRef::Type(TypeBounds::SubResource)
            | ComponentTypeRef::Value(ComponentValType::Primitive(_)) => 1,
        }
    }

    /// What the validator will refuse because it is not there counts as flat.
    fn get(&mut self, kind: ComponentExternalKind, index: u32) -> u16 {
        self.outer(kind, 0, index)
    }

    fn outer(&mut self, kind: ComponentExternalKind, count: u32, index: u32) -> u16 {
        self.scopes.iter_mut().nth_back(count as usize).map_or(1, |scope| scope.get(kind, index))
    }

    fn public(&mut self, kind: ComponentExternalKind, depth: u16) -> Result<(), Refusal> {
        if let Some(scope) = self.scopes.last_mut() {
            scope.deepest = scope.deepest.max(depth);
        }
        self.define(kind, depth)
    }

    fn define(&mut self, kind: ComponentExternalKind, depth: u16) -> Result<(), Refusal> {
        within("types in a chain", u64::from(depth), u64::from(self.max), "prescan.type_chain_max")?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(kind, depth);
        }
        Ok(())
    }
}
