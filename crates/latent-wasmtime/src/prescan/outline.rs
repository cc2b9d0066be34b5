//! What of a component decides how many instances it comes to: its modules, components, instances, and how they reach
//! one another. Everything else is only weighed.

use std::collections::HashMap;

use wasmparser::ComponentExternalKind;

/// The components and modules of a file, each by its place in the order in which they begin. The first component is
/// the outermost.
#[derive(Default)]
pub struct Outline<'a> {
    /// Every component.
    pub components: Vec<Definition>,
    /// Every module.
    pub modules: Vec<Module>,
    /// What instances are given, or made of; steps refer to ranges of it.
    pub named: Vec<Named>,
    names: HashMap<&'a str, Name>,
}

/// A name that matters, as a number: long names are compared once, however often they are looked up later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(usize);

impl<'a> Outline<'a> {
    /// The number of `name`: the same for the same text.
    pub fn name(&mut self, name: &'a str) -> Name {
        let next = Name(self.names.len());
        *self.names.entry(name).or_insert(next)
    }
}

/// One component.
#[derive(Default)]
pub struct Definition {
    /// In the order of the file, because each step makes the next index of its sort.
    pub steps: Vec<Step>,
    /// Definitions of any kind, which is what one instance costs the translator.
    pub weight: u64,
}

/// One module.
#[derive(Debug, Clone, Copy, Default)]
pub struct Module {
    /// Memories it defines.
    pub memories: u32,
    /// Tables it defines.
    pub tables: u32,
    /// What it imports and exports.
    pub items: u32,
}

/// The index spaces that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Core modules.
    Module,
    /// Components.
    Component,
    /// Instances of components.
    Instance,
}

impl Sort {
    /// The sort of `kind`, if it is one that matters.
    pub fn of(kind: ComponentExternalKind) -> Option<Self> {
        match kind {
            ComponentExternalKind::Module => Some(Self::Module),
            ComponentExternalKind::Component => Some(Self::Component),
            ComponentExternalKind::Instance => Some(Self::Instance),
            ComponentExternalKind::Func | ComponentExternalKind::Value | ComponentExternalKind::Type => None,
        }
    }
}

/// Something of an index space under a name.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// Its name.
    pub name: Name,
    /// Its index space.
    pub sort: Sort,
    /// Its index.
    pub index: u32,
}

/// A range of [`Outline::named`].
#[derive(Debug, Clone, Copy)]
pub struct NamedRange {
    /// The first.
    pub start: usize,
    /// After the last.
    pub end: usize,
}

/// One definition that matters.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// A module of the outline.
    Module(usize),
    /// A component of the outline.
    Component(usize),
    /// An import.
    Import(Sort, Name),
    /// An export, which is also an index of its own.
    Export(Named),
    /// Index `index` of the component `count` levels out.
    Outer { sort: Sort, count: u32, index: u32 },
    /// Export `name` of an instance.
    Member { sort: Sort, instance: u32, name: Name },
    /// An instance of a component, with its arguments. `offset` is where the file says so.
    Instance { component: u32, arguments: NamedRange, offset: usize },
    /// An instance made of what is there.
    Bundle(NamedRange),
    /// An instance of a module.
    CoreInstance(u32),
}
