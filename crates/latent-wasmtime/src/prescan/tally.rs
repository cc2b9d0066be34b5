//! Counts against their limits, and the refusal when one is exceeded.

use crate::settings::PrescanLimits;

/// Why a component is refused before anything compiles it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It declares more than a setting allows.
    Excess(Excess),
    /// The bytes are not a component.
    Malformed {
        /// What is wrong with them.
        message: String,
        /// Where, in bytes from the start.
        offset: usize,
    },
    /// It instantiates a component that it only imports, so that nobody can tell what that makes.
    Unresolved {
        /// Where, in bytes from the start.
        offset: usize,
    },
}

/// A limit and what was counted when it was passed. Counting stops there, so the component may declare more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    /// What is counted.
    pub what: &'static str,
    /// How many there are, at least.
    pub declared: u64,
    /// How many may be.
    pub allowed: u64,
    /// The setting that says so.
    pub setting: &'static str,
}

impl From<wasmparser::BinaryReaderError> for Refusal {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self::Malformed { message: error.message().to_owned(), offset: error.offset() }
    }
}

/// Refuses `declared` of something above `allowed`.
pub fn within(what: &'static str, declared: u64, allowed: u64, setting: &'static str) -> Result<(), Refusal> {
    if declared <= allowed {
        return Ok(());
    }
    Err(Refusal::Excess(Excess { what, declared, allowed, setting }))
}

/// One running count.
pub struct Count {
    what: &'static str,
    setting: &'static str,
    sum: u64,
    max: u64,
}

impl Count {
    /// Nothing counted yet, and `max` allowed.
    pub fn new(what: &'static str, max: u32, setting: &'static str) -> Self {
        Self { what, setting, sum: 0, max: u64::from(max) }
    }

    /// Counts `more`.
    pub fn add(&mut self, more: impl Into<u64>) -> Result<(), Refusal> {
        self.sum = self.sum.saturating_add(more.into());
        within(self.what, self.sum, self.max, self.setting)
    }
}

/// Every count that is summed over the whole file, whatever is instantiated.
pub struct Tally {
    /// Modules and components, the outermost included.
    pub parts: Count,
    /// Sections of all of them.
    pub sections: Count,
    /// Definitions at the level of components.
    pub definitions: Count,
    /// Types, and declarations inside of them.
    pub types: Count,
    /// Functions that modules define.
    pub functions: Count,
    /// Globals that modules define.
    pub globals: Count,
    /// Imports of modules and components.
    pub imports: Count,
    /// Exports of modules and components.
    pub exports: Count,
    /// Data segments.
    pub data_segments: Count,
    /// Element segments.
    pub element_segments: Count,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(limits: &PrescanLimits) -> Self {
        Self {
            parts: Count::new("modules and components", limits.parts_max, "prescan.parts_max"),
            sections: Count::new("sections", limits.sections_max, "prescan.sections_max"),
            definitions: definitions(limits),
            types: Count::new("types", limits.types_max, "prescan.types_max"),
            functions: Count::new("functions", limits.functions_max, "prescan.functions_max"),
            globals: Count::new("globals", limits.globals_max, "prescan.globals_max"),
            imports: Count::new("imports", limits.imports_max, "prescan.imports_max"),
            exports: Count::new("exports", limits.exports_max, "prescan.exports_max"),
            data_segments: Count::new("data segments", limits.data_segments_max, "prescan.data_segments_max"),
            element_segments: Count::new(
                "element segments",
                limits.element_segments_max,
                "prescan.element_segments_max",
            ),
        }
    }
}

/// A count of definitions, of the file or of all instances together.
pub fn definitions(limits: &PrescanLimits) -> Count {
    Count::new("definitions", limits.definitions_max, "prescan.definitions_max")
}
