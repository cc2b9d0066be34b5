//! How far one type, function, instance or component reaches.

use wasmparser::{ComponentExternalKind, FuncType};

/// So many bytes of a name weigh as much as what it names.
const NAME_BYTES_OF_ONE: usize = 64;
/// So many parameters and results of a core function weigh as much as a type.
const CORE_VALUES_OF_ONE: usize = 16;
/// The weight of an instance or a component, without what is in it.
const INSTANCE: u32 = 4;
/// So many steps of a path to a resource weigh as much as a type.
const PATH_STEPS_OF_ONE: u32 = 16;

/// The weight of a name together with what it names.
pub fn of_name(name: &str) -> u32 {
    u32::try_from(name.len() / NAME_BYTES_OF_ONE).unwrap_or(u32::MAX).saturating_add(1)
}

/// The weight of a core function's type.
pub fn of_core_function(ty: &FuncType) -> u32 {
    let values = (ty.params().len() + ty.results().len()) / CORE_VALUES_OF_ONE;
    u32::try_from(values).unwrap_or(u32::MAX).saturating_add(1)
}

/// An upper bound of what the validator finds when it walks through something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// The longest chain of types.
    pub depth: u16,
    /// Types and names, each counted as often as a chain leads to it.
    pub size: u32,
    /// Resources in it. Whatever is around it keeps a list of its own of them, each with the path that leads to it.
    resources: u32,
    /// The largest function or type in it that is exported by a name.
    member: Member,
}

/// What a function or a type that an instance exports is at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Member {
    size: u32,
    resources: u32,
}

impl Extent {
    /// What refers to nothing has below it.
    pub const NOTHING: Self = Self { depth: 0, size: 0, resources: 0, member: Member { size: 0, resources: 0 } };
    /// A type that refers to nothing.
    pub const FLAT: Self = Self { depth: 1, size: 1, ..Self::NOTHING };
    /// A resource, for which more is kept than for another type.
    pub const RESOURCE: Self = Self { depth: 1, size: 5, resources: 1, ..Self::NOTHING };

    /// Something flat of so many items.
    pub fn of_items(items: u32) -> Self {
        Self { size: items.saturating_add(1), ..Self::FLAT }
    }

    /// Both, side by side.
    pub fn and(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            size: self.size.saturating_add(other.size),
            resources: self.resources.saturating_add(other.resources),
            member: self.member.or(other.member),
        }
    }

    /// Whichever reaches further.
    pub fn or(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            size: self.size.max(other.size),
            resources: self.resources.max(other.resources),
            member: self.member.or(other.member),
        }
    }

    /// A type of values or a function around it, which has resources only by name.
    pub fn inside_a_type(self) -> Self {
        Self {
            depth: self.depth.saturating_add(1),
            size: self.size.saturating_add(1),
            resources: 0,
            member: Member::default(),
        }
    }

    /// An instance or a component around it.
    pub fn inside(self) -> Self {
        let paths = self.resources.saturating_mul(1 + u32::from(self.depth) / PATH_STEPS_OF_ONE);
        let size = self.size.saturating_add(paths).saturating_add(INSTANCE);
        Self { depth: self.depth.saturating_add(1), size, ..self }
    }

    /// With names that weigh `names`.
    pub fn with_names(self, names: u32) -> Self {
        Self { size: self.size.saturating_add(names), ..self }
    }

    /// It, as something of `kind` that is imported or exported by name.
    pub fn public(self, kind: ComponentExternalKind) -> Self {
        if is_member(kind) {
            return Self { member: Member { size: self.size, resources: self.resources }, ..self };
        }
        self
    }

    /// What an instance of this extent exports as `kind`, at most.
    pub fn member(self, kind: ComponentExternalKind) -> Self {
        if is_member(kind) {
            return Self { size: self.member.size, resources: self.member.resources, ..self };
        }
        self
    }
}

impl Member {
    fn or(self, other: Self) -> Self {
        Self { size: self.size.max(other.size), resources: self.resources.max(other.resources) }
    }
}

fn is_member(kind: ComponentExternalKind) -> bool {
    matches!(kind, ComponentExternalKind::Func | ComponentExternalKind::Type | ComponentExternalKind::Value)
}
