//! How far one type, function, instance or component reaches.

use wasmparser::{ComponentExternalKind, FuncType};

/// So many bytes of a name weigh as much as what it names.
const NAME_BYTES_OF_ONE: usize = 64;
/// So many parameters and results of a core function weigh as much as a type.
const CORE_VALUES_OF_ONE: usize = 16;

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
    /// The size of the largest function or type in it that is exported by a name.
    member: u32,
}

impl Extent {
    /// What refers to nothing has below it.
    pub const NOTHING: Self = Self { depth: 0, size: 0, member: 0 };
    /// A type that refers to nothing.
    pub const FLAT: Self = Self { depth: 1, size: 1, member: 1 };

    /// Something flat of so many items.
    pub fn of_items(items: u32) -> Self {
        let size = items.saturating_add(1);
        Self { depth: 1, size, member: size }
    }

    /// Both, side by side.
    pub fn and(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            size: self.size.saturating_add(other.size),
            member: self.member.max(other.member),
        }
    }

    /// Whichever reaches further.
    pub fn or(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            size: self.size.max(other.size),
            member: self.member.max(other.member),
        }
    }

    /// One level around it.
    pub fn inside(self) -> Self {
        Self { depth: self.depth.saturating_add(1), size: self.size.saturating_add(1), ..self }
    }

    /// With names that weigh `names`.
    pub fn with_names(self, names: u32) -> Self {
        Self { size: self.size.saturating_add(names), ..self }
    }

    /// A function or a type as what it is when an instance exports it.
    pub fn as_member(self) -> Self {
        Self { member: self.size, ..self }
    }

    /// What an instance of this extent exports as `kind`, at most.
    pub fn member(self, kind: ComponentExternalKind) -> Self {
        match kind {
            ComponentExternalKind::Func | ComponentExternalKind::Type | ComponentExternalKind::Value => {
                Self { size: self.member, ..self }
            }
            ComponentExternalKind::Instance | ComponentExternalKind::Component | ComponentExternalKind::Module => self,
        }
    }
}
