//! What a component says of itself, read from its bytes before anything is compiled.

use latent_core::{ContractSurface, PlatformError};

use crate::prepared::ImportName;

/// Reads components. Its input is hostile: time and memory stay in proportion to the size of the bytes.
pub trait ComponentInspector: Send + Sync {
    /// Reads exports, imports and declared sizes from `bytes`. Compiles nothing; blocks for as long as reading takes.
    ///
    /// # Errors
    /// `invalid-argument` naming what the bytes are when they are no component; `incompatible-contract` for one that
    /// declares more than the settings allow, or imports what is not offered: named, with the version wanted and the
    /// nearest that there is.
    fn inspect(&self, bytes: &[u8]) -> Result<ComponentInspection, PlatformError>;
}

/// What a component says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentInspection {
    /// What can be called, and what is exported but cannot be.
    pub surface: ContractSurface,
    /// Every import, in the order in which they are declared.
    pub imports: Vec<ImportName>,
    /// Bytes of linear memory below which no instance can be made: what its largest memory begins with.
    pub declared_memory_bytes: u64,
}
