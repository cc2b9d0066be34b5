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
    /// Cells the engine serves at once; sizes the pool. Default 16. A guest that spins is looked at on its turn, one tick
    /// a turn: with more than about 500 spinning guests for each thread that runs them, deadlines are kept later than
    /// their tolerance.
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
    /// Live host resources (pollables, streams) of one activation. Default 2,048: the engine of JavaScript components keeps
    /// one for each 8 KiB of a body that its service passes through.
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
    /// Memory mappings of prepared components kept, at eight a component. Default 32,768, half of what a process may
    /// have on a usual kernel (`vm.max_map_count`).
    pub prepared_mappings_max: u32,
    /// Components that are compiled at once. Default 2. Each may need a compiler's memory; one tenant has at most all but
    /// one of them, so that none keeps the others from compiling.
    pub compilers: u32,
    /// Callers that may wait for a preparation at once. Default 64; more are refused as `resource-exhausted`.
    pub preparations_max: u32,
    /// Callers of one tenant that may wait for a preparation at once. Default 48.
    pub preparations_per_tenant_max: u32,
    /// Activations that may hold prepared code while they wait for a cell. Default 256; more are refused as
    /// `resource-exhausted`.
    pub ready_pins_max: u32,
    /// Bytes of compiled code that such activations may hold, each component counted once. Default 1 GiB; one component
    /// may always be held.
    pub ready_bytes_max: u64,
    /// How room for instances is found.
    pub allocator: AllocatorChoice,
    /// How memories are cleaned.
    pub pagemap_scan: PagemapScanChoice,
    /// Bounds of values going in and out.
    pub values: ValueLimits,
    /// Bounds of log records.
    pub logs: LogLimits,
    /// Bounds of HTTP.
    pub http: HttpLimits,
    /// Bounds of what a component's bytes may declare.
    pub prescan: PrescanLimits,
}

/// Bounds of what a component's bytes may declare, checked before any of it is validated or compiled. A refusal names
/// the field as `prescan.<field>`. What the fields count, `ARCHITECTURE.md` calls the pre-scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "every limit says that it is the most")]
pub struct PrescanLimits {
    /// Components and modules within components, the outermost being the first level. Default 16.
    pub section_depth_max: u32,
    /// Types declared within types. Default 16. The engine recurses once a level.
    pub type_depth_max: u32,
    /// Types, instances and components that build on one another in a row. Default 100; the engine cannot keep more
    /// than 127.
    pub type_chain_max: u32,
    /// Modules and components in the file, however often they are instantiated. Default 256.
    pub parts_max: u32,
    /// Sections of all modules and components, custom and empty ones included. Default 100,000.
    pub sections_max: u32,
    /// Instances of components within the outermost, once everything is instantiated. Default 256.
    pub instances_max: u32,
    /// Definitions of components (imports, exports, aliases, instances and their arguments, types, functions), each
    /// counted once for every instance of the component that has it, and once more for every 64 bytes of its name.
    /// Default 100,000.
    pub definitions_max: u32,
    /// Types, and declarations inside of types. Default 100,000.
    pub types_max: u32,
    /// What the types weigh: each type and each name counts one, and one more for every 64 bytes of the name, at every
    /// place that uses it (an import, an export, an alias from outside, an instance, a lifting or lowering). Instances
    /// and resources count more, because more is kept for them, and imports and exports of modules are such places too.
    /// Default 200,000; JS components have 6,000 to 13,000, Python ones 45,000. Reading types takes time and memory in
    /// proportion, less than half a second and 80 MiB at the default, whatever the size of the file.
    pub type_weight_max: u32,
    /// Bytes of the names of exported functions, each together with the name of its interface. Default 1 MiB.
    pub exported_name_bytes_max: u32,
    /// Functions of all modules. Default 200,000.
    pub functions_max: u32,
    /// Bytes of one function's body. Default 1 MiB. Compiling one takes memory in proportion.
    pub body_bytes_max: u32,
    /// Globals of all modules. Default 1,000,000; `instance_bytes_max` bounds those of one instance.
    pub globals_max: u32,
    /// Imports of all modules and components. Default 100,000.
    pub imports_max: u32,
    /// Exports of all modules and components. Default 100,000.
    pub exports_max: u32,
    /// Data segments of all modules. Default 100,000.
    pub data_segments_max: u32,
    /// Element segments of all modules. Default 10,000.
    pub element_segments_max: u32,
}

impl Default for PrescanLimits {
    fn default() -> Self {
        Self {
            section_depth_max: 16,
            type_depth_max: 16,
            type_chain_max: 100,
            parts_max: 256,
            sections_max: 100_000,
            instances_max: 256,
            definitions_max: 100_000,
            types_max: 100_000,
            type_weight_max: 200_000,
            exported_name_bytes_max: 1 << 20,
            functions_max: 200_000,
            body_bytes_max: 1 << 20,
            globals_max: 1_000_000,
            imports_max: 100_000,
            exports_max: 100_000,
            data_segments_max: 100_000,
            element_segments_max: 10_000,
        }
    }
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

/// Bounds of what HTTP makes the host keep for one activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "every limit says that it is the most")]
pub struct HttpLimits {
    /// Bytes of one set of headers or trailers that a guest makes; every name and every value counts about 40 more than
    /// its length, which is what the host keeps beside it. Default 64 KiB. `host_resources_max` bounds the sets.
    pub field_bytes_max: u32,
    /// Pieces of a body that a guest wrote and nobody has taken yet. Default 16, at least 2.
    pub body_pieces_max: u32,
    /// Bytes of such a piece. Default 64 KiB, which makes 1 MiB a body.
    pub body_piece_bytes_max: u32,
    /// Bodies with such room, responses and outgoing requests together. Default 8. Those that an activation begins after
    /// them have room for two pieces of 4 KiB each.
    pub roomy_bodies_max: u32,
    /// Outgoing requests under way at once, until their responses have ended. Default 16; for more the guest gets the
    /// error code `connection-limit-reached`.
    pub outgoing_in_flight_max: u32,
    /// Outgoing requests of an activation in all, those included that are refused. Default 1,000; for more the guest gets
    /// the error code `internal-error`, with the reason.
    pub outgoing_requests_max: u32,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            field_bytes_max: 64 << 10,
            body_pieces_max: 16,
            body_piece_bytes_max: 64 << 10,
            roomy_bodies_max: 8,
            outgoing_in_flight_max: 16,
            outgoing_requests_max: 1000,
        }
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
            host_resources_max: 2048,
            host_call_bytes_max: 32 << 20,
            random_bytes_max: 64 << 10,
            wasm_stack_bytes: 512 << 10,
            epoch_tick_interval_millis: 1,
            epoch_deadline_ticks: 1,
            instances_max: cells.saturating_mul(2),
            prepared_entries_max: 64,
            prepared_bytes_max: 512 << 20,
            prepared_mappings_max: 32_768,
            compilers: 2,
            preparations_max: 64,
            preparations_per_tenant_max: 48,
            ready_pins_max: 256,
            ready_bytes_max: 1 << 30,
            allocator: AllocatorChoice::Auto,
            pagemap_scan: PagemapScanChoice::Auto,
            values: ValueLimits::default(),
            logs: LogLimits::default(),
            http: HttpLimits::default(),
            prescan: PrescanLimits::default(),
        }
    }
}
