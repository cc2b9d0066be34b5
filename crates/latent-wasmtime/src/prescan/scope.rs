//! The index spaces of one component or type declarator, by the extents of what is in them.

use wasmparser::ComponentExternalKind;

use super::extent::Extent;

/// What has been defined in one component or declarator.
#[derive(Default)]
pub struct Scope {
    types: Vec<Extent>,
    functions: Vec<Extent>,
    instances: Vec<Extent>,
    components: Vec<Extent>,
    modules: Vec<Extent>,
    /// Core types, which no import or export is.
    pub core_types: Vec<Extent>,
    public: Extent,
}

impl Scope {
    fn space(&mut self, kind: ComponentExternalKind) -> Option<&mut Vec<Extent>> {
        match kind {
            ComponentExternalKind::Type => Some(&mut self.types),
            ComponentExternalKind::Func => Some(&mut self.functions),
            ComponentExternalKind::Instance => Some(&mut self.instances),
            ComponentExternalKind::Component => Some(&mut self.components),
            ComponentExternalKind::Module => Some(&mut self.modules),
            ComponentExternalKind::Value => None,
        }
    }

    /// The extent of what has an index, or of something flat where nothing has it.
    pub fn get(&mut self, kind: ComponentExternalKind, index: u32) -> Extent {
        self.space(kind).and_then(|space| space.get(index as usize).copied()).unwrap_or(Extent::FLAT)
    }

    /// Gives the next index of `kind` to something.
    pub fn push(&mut self, kind: ComponentExternalKind, extent: Extent) {
        if let Some(space) = self.space(kind) {
            space.push(extent);
        }
    }

    /// Adds an import or an export to what the outside sees.
    pub fn publish(&mut self, extent: Extent) {
        self.public = self.public.and(extent);
    }

    /// All imports and exports together.
    pub fn public(&self) -> Extent {
        self.public
    }
}
