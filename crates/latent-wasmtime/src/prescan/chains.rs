//! How far types reach: how many refer to one another in a row, and how many there are once each is spelled out
//! wherever it is used. Types that are declared flat, one after the other, can still build on one another; the validator
//! keeps a depth for each that it cannot hold without bound, and walks through all of a type at every use of it.
//!
//! Invariant: the extent that is kept for a thing is at least what the validator walks through.

use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentDefinedType, ComponentExport, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentType, ComponentTypeRef, ComponentValType, Instance, TypeBounds,
};

use super::extent::{Extent, of_name};
use super::scope::Scope;
use super::tally::{Count, Refusal, within};
use crate::settings::PrescanLimits;

/// The extents of everything that has been defined so far, for each component and type declarator that is open.
pub struct Chains {
    scopes: Vec<Scope>,
    depth_max: u32,
    weight: Count,
}

impl Chains {
    /// Nothing is open.
    pub fn new(limits: &PrescanLimits) -> Self {
        let weight = Count::new("types that weigh {}", limits.type_weight_max, "prescan.type_weight_max");
        Self { scopes: Vec::new(), depth_max: limits.type_chain_max, weight }
    }

    /// Opens a component or a declarator.
    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes the innermost declarator, which becomes a type of what is around it.
    pub fn close_type(&mut self) -> Result<(), Refusal> {
        let extent = self.close();
        self.define(ComponentExternalKind::Type, extent)
    }

    /// Closes the innermost component.
    pub fn close_component(&mut self) -> Result<(), Refusal> {
        let extent = self.close();
        self.define(ComponentExternalKind::Component, extent)
    }

    fn close(&mut self) -> Extent {
        self.scopes.pop().map_or(Extent::FLAT, |scope| scope.public().inside())
    }

    /// A core module with so many imports and exports, which have been weighed.
    pub fn core_module(&mut self, items: u32) -> Result<(), Refusal> {
        self.define(ComponentExternalKind::Module, Extent::of_items(items))
    }

    /// A core type: a function type, or a module type with so many declarations.
    pub fn core_type(&mut self, items: u32) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.core_types.push(Extent::of_items(items));
        }
    }

    /// Weighs what belongs to no index space: an import or an export of a module, a declaration.
    pub fn weigh(&mut self, more: u32) -> Result<(), Refusal> {
        self.weight.add(more)
    }

    /// A type that holds no declarations. It is walked through when it is used; now, only what it is made of is.
    pub fn flat_type(&mut self, of: &ComponentType<'_>) -> Result<(), Refusal> {
        let (parts, below) = match of {
            ComponentType::Defined(defined) => self.below_defined(defined),
            ComponentType::Func(function) => {
                let below = self.all(function.params.iter().map(|(_, param)| *param).chain(function.result));
                named(below, function.params.iter().map(|(name, _)| *name))
            }
            ComponentType::Resource { .. } => {
                self.weigh(Extent::RESOURCE.size)?;
                return self.define(ComponentExternalKind::Type, Extent::RESOURCE);
            }
            ComponentType::Component(_) | ComponentType::Instance(_) => (0, Extent::NOTHING),
        };
        self.weigh(parts.saturating_add(1))?;
        self.define(ComponentExternalKind::Type, below.inside_a_type())
    }

    /// An import, or an export that a declarator declares.
    pub fn declared(&mut self, name: &str, reference: ComponentTypeRef) -> Result<(), Refusal> {
        let extent = self.of_reference(reference);
        self.public(name, reference.kind(), extent)
    }

    /// An export of a component.
    pub fn exported(&mut self, export: &ComponentExport<'_>) -> Result<(), Refusal> {
        let extent = self.get(export.kind, export.index);
        let ascribed = export.ty.map_or(Extent::NOTHING, |reference| self.of_reference(reference));
        self.weigh(ascribed.size)?;
        self.public(export.name.name, export.kind, extent.or(ascribed))
    }

    /// An alias. What an instance exports reaches no further than the instance.
    pub fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), Refusal> {
        match *alias {
            ComponentAlias::InstanceExport { kind, instance_index, .. } => {
                self.weigh(1)?;
                let instance = self.get(ComponentExternalKind::Instance, instance_index);
                self.define(kind, instance.member(kind))
            }
            ComponentAlias::CoreInstanceExport { .. } => self.weigh(1),
            ComponentAlias::Outer { kind, count, index } => {
                let kind = match kind {
                    ComponentOuterAliasKind::Type => ComponentExternalKind::Type,
                    ComponentOuterAliasKind::Component => ComponentExternalKind::Component,
                    ComponentOuterAliasKind::CoreModule => ComponentExternalKind::Module,
                    ComponentOuterAliasKind::CoreType => return self.outer_core_type(count, index),
                };
                let extent = self.outer(kind, count, index);
                self.weigh(extent.size)?;
                self.define(kind, extent)
            }
        }
    }

    fn outer_core_type(&mut self, count: u32, index: u32) -> Result<(), Refusal> {
        let scope = self.scopes.iter().nth_back(count as usize);
        let extent = scope.and_then(|scope| scope.core_types.get(index as usize).copied()).unwrap_or(Extent::FLAT);
        if let Some(scope) = self.scopes.last_mut() {
            scope.core_types.push(extent);
        }
        self.weigh(1)
    }

    /// An instance of a component, or one made of what is there.
    pub fn instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), Refusal> {
        let extent = match instance {
            ComponentInstance::Instantiate { component_index, args } => {
                let names = args.iter().map(|arg| of_name(arg.name)).fold(0, u32::saturating_add);
                self.weigh(names)?;
                self.get(ComponentExternalKind::Component, *component_index)
            }
            ComponentInstance::FromExports(exports) => {
                let mut below = Extent::NOTHING;
                for export in exports {
                    let extent = self.get(export.kind, export.index).with_names(of_name(export.name.name));
                    below = below.and(extent.public(export.kind));
                }
                below.inside()
            }
        };
        self.weigh(extent.size)?;
        self.define(ComponentExternalKind::Instance, extent)
    }

    /// An instance of a core module, or one made of what is there.
    pub fn core_instance(&mut self, instance: &Instance<'_>) -> Result<(), Refusal> {
        let weight = match instance {
            Instance::Instantiate { module_index, args } => {
                let module = self.get(ComponentExternalKind::Module, *module_index).size;
                args.iter().map(|arg| of_name(arg.name)).fold(module, u32::saturating_add)
            }
            Instance::FromExports(exports) => {
                exports.iter().map(|export| of_name(export.name)).fold(1, u32::saturating_add)
            }
        };
        self.weigh(weight)
    }

    /// A canonical definition. A lift makes something that types are known of; that and a lowering walk through one.
    pub fn canonical(&mut self, function: &CanonicalFunction) -> Result<(), Refusal> {
        match function {
            CanonicalFunction::Lift { type_index, .. } => {
                let extent = self.get(ComponentExternalKind::Type, *type_index);
                self.weigh(extent.size)?;
                self.define(ComponentExternalKind::Func, extent)
            }
            CanonicalFunction::Lower { func_index, .. } => {
                let extent = self.get(ComponentExternalKind::Func, *func_index);
                self.weigh(extent.size)
            }
            _ => self.weigh(1),
        }
    }

    /// How many parts a type has, and what it refers to.
    fn below_defined(&mut self, defined: &ComponentDefinedType<'_>) -> (u32, Extent) {
        let below = match defined {
            ComponentDefinedType::Record(fields) => {
                let below = self.all(fields.iter().map(|(_, field)| *field));
                return named(below, fields.iter().map(|(name, _)| *name));
            }
            ComponentDefinedType::Variant(cases) => {
                let below = self.all(cases.iter().filter_map(|case| case.ty));
                return named(below, cases.iter().map(|case| case.name));
            }
            ComponentDefinedType::Flags(names) | ComponentDefinedType::Enum(names) => {
                return named(Extent::NOTHING, names.iter().copied());
            }
            ComponentDefinedType::Tuple(types) => {
                let parts = u32::try_from(types.len()).unwrap_or(u32::MAX);
                return (parts, self.all(types.iter().copied()));
            }
            ComponentDefinedType::List(of)
            | ComponentDefinedType::FixedLengthList(of, _)
            | ComponentDefinedType::Option(of) => self.all([*of]),
            ComponentDefinedType::Map(key, value) => self.all([*key, *value]),
            ComponentDefinedType::Result { ok, err } => self.all(ok.iter().chain(err).copied()),
            ComponentDefinedType::Future(of) | ComponentDefinedType::Stream(of) => self.all(*of),
            ComponentDefinedType::Own(of) | ComponentDefinedType::Borrow(of) => {
                self.get(ComponentExternalKind::Type, *of)
            }
            ComponentDefinedType::Primitive(_) => Extent::NOTHING,
        };
        (0, below)
    }

    fn all(&mut self, types: impl IntoIterator<Item = ComponentValType>) -> Extent {
        types.into_iter().fold(Extent::NOTHING, |all, of| {
            all.and(match of {
                ComponentValType::Primitive(_) => Extent::FLAT,
                ComponentValType::Type(index) => self.get(ComponentExternalKind::Type, index),
            })
        })
    }

    fn of_reference(&mut self, reference: ComponentTypeRef) -> Extent {
        match reference {
            ComponentTypeRef::Func(of)
            | ComponentTypeRef::Instance(of)
            | ComponentTypeRef::Component(of)
            | ComponentTypeRef::Type(TypeBounds::Eq(of))
            | ComponentTypeRef::Value(ComponentValType::Type(of)) => self.get(ComponentExternalKind::Type, of),
            ComponentTypeRef::Module(of) => {
                let scope = self.scopes.last();
                scope.and_then(|scope| scope.core_types.get(of as usize).copied()).unwrap_or(Extent::FLAT)
            }
            ComponentTypeRef::Type(TypeBounds::SubResource) => Extent::RESOURCE,
            ComponentTypeRef::Value(ComponentValType::Primitive(_)) => Extent::FLAT,
        }
    }

    /// What the validator will refuse because it is not there counts as flat.
    fn get(&mut self, kind: ComponentExternalKind, index: u32) -> Extent {
        self.outer(kind, 0, index)
    }

    fn outer(&mut self, kind: ComponentExternalKind, count: u32, index: u32) -> Extent {
        self.scopes.iter_mut().nth_back(count as usize).map_or(Extent::FLAT, |scope| scope.get(kind, index))
    }

    fn public(&mut self, name: &str, kind: ComponentExternalKind, extent: Extent) -> Result<(), Refusal> {
        let named = extent.with_names(of_name(name)).public(kind);
        self.weigh(named.size)?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.publish(named);
        }
        self.define(kind, extent)
    }

    fn define(&mut self, kind: ComponentExternalKind, extent: Extent) -> Result<(), Refusal> {
        let depth = u64::from(extent.depth);
        within("types in a chain", depth, u64::from(self.depth_max), "prescan.type_chain_max")?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(kind, extent);
        }
        Ok(())
    }
}

/// The weight of `names`, and what is below them together with them.
fn named<'n>(below: Extent, names: impl Iterator<Item = &'n str>) -> (u32, Extent) {
    let weight = names.map(of_name).fold(0, u32::saturating_add);
    (weight, below.with_names(weight))
}
