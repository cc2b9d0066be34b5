//! Every limit of the engine and of what a guest can make the host hold, each with its default and its effect.

use crate::values::ValueLimits;

/// How the engine finds room for instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocatorChoice {
    /// The pool, or the on-demand allocator when the address space does not hold the pool.
    #[default]
    Auto,
    /// The on-demand allocator: slower, but reserves nothing ahead.
    OnDemand,
}

/// Whether freed memories are cleaned by scanning for dirty pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PagemapScanChoice {
    /// Where the kernel can (6.7 or newer) and no swap is on.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Settings of one engine. Sizes are in bytes unless the name says otherwise.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Cells the engine serves at once; sizes the pool. Default 16.
    pub cells: u32,
    /// The most linear memory one activation may have over all its memories, whatever it is granted. Default 64 MiB;
    /// above 4 GiB the engine's own 32-bit bound holds.
    pub memory_bytes_max: u64,
    /// Memories a component may instantiate. Default 8.
    pub memories_max: u32,
    /// Tables a component may instantiate. Default 32.
    pub tables_max: u32,
    /// Core instances a component may have. Default 64; Python components use 14.
    pub core_instances_max: u32,
    /// Bytes of the engine's own state of one instance: globals, function references, headers of memories and tables.
    /// Default 4 MiB. Enforced by the pool only.
    pub instance_bytes_max: u32,
    /// Elements over all tables of one activation, 8 bytes each. Default 20,000; JS components use 8,000.
    pub table_elements_max: u32,
    /// The largest component. Default 64 MiB.
    pub component_bytes_max: u64,
    /// Live component-model handles of one activation. Default 4,096.
    pub handles_max: u32,
    /// Live host resources (pollables, streams) of one activation. Default 1,024.
    pub host_resources_max: u32,
    /// Bytes one call between guest and host may carry towards the host, as the host holds them; results are such a
    /// call too. Default 32 MiB. A `list<u8>` that is a dynamic value costs about 40 bytes an element, one that is a
    /// function's whole result on a typed path costs one.
    pub host_call_bytes_max: u32,
    /// Bytes one request for random bytes may ask for. Default 64 KiB.
    pub random_bytes_max: u32,
    /// Guest stack. Default 512 KiB.
    pub wasm_stack_bytes: u32,
    /// Milliseconds between two epochs. Default 1.
    pub epoch_tick_interval_millis: u32,
    /// Epochs a guest may run before it is looked at. Default 1.
    pub epoch_deadline_ticks: u32,
    /// Live instances at once, over all cells. Default 2 × 16.
    pub instances_max: u32,
    /// Prepared components kept. Default 64. Zero keeps exactly one, in the shared uncached-preparation slot.
    pub prepared_entries_max: u32,
    /// Bytes of compiled code kept. Default 512 MiB; the newest entry stays even if it alone is larger.
    pub prepared_bytes_max: u64,
    /// Preparations that may wait for the compiler at once. Default 64; more are refused as `resource-exhausted`.
    pub preparations_max: u32,
    /// How room for instances is found.
    pub allocator: AllocatorChoice,
    /// How memories are cleaned.
    pub pagemap_scan: PagemapScanChoice,
    /// Bounds of values going in and out.
    pub values: ValueLimits,
    /// Bounds of log records.
    pub logs: LogLimits,
}

/// Bounds of one log record, beyond the activation's budget of log bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "every limit says that it is the most")]
pub struct LogLimits {
    /// Bytes of a message, and of a line on stdout or stderr; longer ones are cut and marked. Default 4 KiB.
    pub message_bytes_max: u32,
    /// Fields of a record; more are refused. Default 32.
    pub fields_max: u32,
    /// Bytes of a field's name. Default 64.
    pub field_name_bytes_max: u32,
    /// Bytes of a field's value. Default 1 KiB.
    pub field_value_bytes_max: u32,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self { message_bytes_max: 4 << 10, fields_max: 32, field_name_bytes_max: 64, field_value_bytes_max: 1 << 10 }
    }
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self::for_cells(16)
    }
}

impl EngineSettings {
    /// The defaults for a node with `cells` cells.
    #[must_use]
    pub fn for_cells(cells: u32) -> Self {
        Self {
            cells,
            memory_bytes_max: 64 << 20,
            memories_max: 8,
            tables_max: 32,
            core_instances_max: 64,
            instance_bytes_max: 4 << 20,
            table_elements_max: 20_000,
            component_bytes_max: 64 << 20,
            handles_max: 4096,
            host_resources_max: 1024,
            host_call_bytes_max: 32 << 20,
            random_bytes_max: 64 << 10,
            wasm_stack_bytes: 512 << 10,
            epoch_tick_interval_millis: 1,
            epoch_deadline_ticks: 1,
            instances_max: cells.saturating_mul(2),
            prepared_entries_max: 64,
            prepared_bytes_max: 512 << 20,
            preparations_max: 64,
            allocator: AllocatorChoice::Auto,
            pagemap_scan: PagemapScanChoice::Auto,
            values: ValueLimits::default(),
            logs: LogLimits::default(),
        }
    }
}
