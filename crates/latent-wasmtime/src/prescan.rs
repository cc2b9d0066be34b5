//! The pre-scan: what a component's bytes declare, bounded before anything validates, translates or compiles them.
//!
//! Invariant: nothing here recurses on the input, time is linear in it, and memory is bounded by the input and the
//! limits. The engine may recurse on whatever passes, because its depth is bounded here.

mod chains;
mod extent;
mod flatten;
mod outline;
mod scope;
mod sections;
mod tally;
#[cfg(test)]
mod tests;
mod types;

pub use tally::{Excess, Refusal};

use crate::settings::EngineSettings;

/// What the modules of a component declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Declared {
    /// The largest minimum of one memory, in bytes.
    pub memory_bytes: u64,
    /// Memories of all instances together, or those of one module if it alone has more.
    pub memories: u64,
    /// The largest minimum of one table, in elements.
    pub table_elements: u64,
    /// Tables of all instances together, or those of one module if it alone has more.
    pub tables: u64,
    /// Instances of modules, once everything is instantiated.
    pub core_instances: u64,
}

/// Scans `bytes` and checks every limit of `settings` that concerns what they declare.
///
/// # Errors
/// The first limit that is exceeded, or where the bytes stop being a component.
pub fn scan(bytes: &[u8], settings: &EngineSettings) -> Result<Declared, Refusal> {
    let scanned = sections::read(bytes, &settings.prescan)?;
    let totals = flatten::totals(&scanned.outline, &settings.prescan)?;
    let mut declared = scanned.declared;
    declared.memories = declared.memories.max(totals.memories);
    declared.tables = declared.tables.max(totals.tables);
    declared.core_instances = totals.core_instances;
    fits(&declared, settings)?;
    Ok(declared)
}

fn fits(declared: &Declared, settings: &EngineSettings) -> Result<(), Refusal> {
    let checks = [
        ("a memory of {} bytes", declared.memory_bytes, settings.memory_bytes_max, "memory_bytes_max"),
        ("core instances", declared.core_instances, u64::from(settings.core_instances_max), "core_instances_max"),
        ("memories", declared.memories, u64::from(settings.memories_max), "memories_max"),
        (
            "a table of {} elements",
            declared.table_elements,
            u64::from(settings.table_elements_max),
            "table_elements_max",
        ),
        ("tables", declared.tables, u64::from(settings.tables_max), "tables_max"),
    ];
    for (what, declared, allowed, setting) in checks {
        tally::within(what, declared, allowed, setting)?;
    }
    Ok(())
}
