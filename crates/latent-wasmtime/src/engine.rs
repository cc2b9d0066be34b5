//! The one engine of a backend: built with the smallest surface, on the pool where the machine can hold it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use latent_core::{PlatformError, PlatformErrorCode};
use wasmtime::{
    CacheStore, Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures,
};

use crate::settings::{AllocatorChoice, EngineSettings, PagemapScanChoice};

/// Bytes kept resident in a freed memory slot when dirty pages are found by scanning.
const KEEP_RESIDENT_SCANNED: usize = 2 << 20;
/// Bytes kept resident in a freed memory slot when they have to be overwritten blindly.
const KEEP_RESIDENT_BLIND: usize = 64 << 10;
/// The largest 32-bit memory.
const MEMORY32_BYTES: u64 = 1 << 32;

/// What the engine turned out to be on this machine; reported at start and in the resource snapshot's neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineReport {
    /// Whether instances come from the pool. `false` is several times slower.
    pub pooling: bool,
    /// Whether dirty pages are found by scanning.
    pub pagemap_scan: bool,
    /// Why the pool or the scan is not used, if one is not.
    pub reason: Option<Box<str>>,
}

/// Builds the engine.
///
/// # Errors
/// `invalid-argument` when a setting is unusable; `internal` when this machine cannot run the engine at all.
pub fn build(settings: &EngineSettings) -> Result<(Engine, EngineReport), PlatformError> {
    if settings.cells == 0 {
        return Err(PlatformError::new(PlatformErrorCode::InvalidArgument, "the engine needs at least one cell"));
    }
    let scan = scan_decision(settings.pagemap_scan);
    let mut reason = scan.err().map(Into::into);
    if settings.allocator == AllocatorChoice::Auto {
        let mut config = base_config(settings.wasm_stack_bytes);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(settings, scan.is_ok())));
        match Engine::new(&config) {
            Ok(engine) => return Ok((engine, EngineReport { pooling: true, pagemap_scan: scan.is_ok(), reason })),
            Err(error) => reason = Some(format!("the pool does not fit this machine: {error}").into_boxed_str()),
        }
    }
    let engine = Engine::new(&base_config(settings.wasm_stack_bytes)).map_err(|error| cannot_start(&error))?;
    Ok((engine, EngineReport { pooling: false, pagemap_scan: false, reason }))
}

/// An engine that only compiles: it reserves nothing for instances, so that it starts within any address space. What it
/// compiles, [`build`]'s engines load. With `functions` it looks there for functions that were compiled before.
///
/// # Errors
/// `internal` when this machine cannot run the engine at all.
pub(crate) fn build_compile_only(
    wasm_stack_bytes: u32,
    functions: Option<Arc<dyn CacheStore>>,
) -> Result<Engine, PlatformError> {
    let mut config = base_config(wasm_stack_bytes);
    let cached = functions.map_or(Ok(()), |store| config.enable_incremental_compilation(store).map(|_config| ()));
    cached.and_then(|()| Engine::new(&config)).map_err(|error| cannot_start(&error))
}

/// What names an engine in preparation keys: engines of the same value load one another's images.
#[must_use]
pub fn compatibility(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

fn cannot_start(error: &wasmtime::Error) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, format_args!("the engine cannot start here: {error}"))
}

/// The proposals and settings that every engine of ours shares, pooled or not, so that code compiled by one loads
/// in the other.
fn base_config(wasm_stack_bytes: u32) -> Config {
    let mut config = Config::new();
    config
        .wasm_features(WasmFeatures::all() - offered_features(), false)
        .wasm_features(offered_features(), true)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(wasm_stack_bytes as usize)
        .async_stack_size((wasm_stack_bytes as usize).saturating_add(1536 << 10))
        .wasm_backtrace_max_frames(None)
        .native_unwind_info(false)
        .generate_address_map(false)
        .memory_init_cow(true);
    config
}

/// What a guest may use of the language: what the standard toolchains emit, and nothing that waits for WASI 0.3,
/// needs a garbage collector, or differs between machines.
#[must_use]
pub fn offered_features() -> WasmFeatures {
    WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::SIMD
        | WasmFeatures::FLOATS
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::COMPONENT_MODEL
        | WasmFeatures::CALL_INDIRECT_OVERLONG
        | WasmFeatures::BULK_MEMORY_OPT
}

fn pool(settings: &EngineSettings, scan: bool) -> PoolingAllocationConfig {
    let cells = settings.cells;
    let instances = settings.instances_max.max(cells);
    let memories = cells.saturating_mul(settings.memories_max);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(settings.core_instances_max))
        .total_memories(memories)
        .total_tables(cells.saturating_mul(settings.tables_max))
        .total_stacks(instances)
        .max_core_instances_per_component(settings.core_instances_max)
        .max_memories_per_component(settings.memories_max)
        .max_memories_per_module(settings.memories_max)
        .max_tables_per_component(settings.tables_max)
        .max_tables_per_module(settings.tables_max)
        .table_elements(settings.table_elements_max as usize)
        .max_memory_size(memory_slot_bytes(settings))
        .max_component_instance_size(settings.instance_bytes_max as usize)
        .max_core_instance_size(settings.instance_bytes_max as usize)
        .max_unused_warm_slots(memories)
        .decommit_batch_size(1)
        .linear_memory_keep_resident(if scan { KEEP_RESIDENT_SCANNED } else { KEEP_RESIDENT_BLIND })
        .table_keep_resident(64 << 10)
        .pagemap_scan(if scan { Enabled::Yes } else { Enabled::No });
    pool
}

fn memory_slot_bytes(settings: &EngineSettings) -> usize {
    usize::try_from(settings.memory_bytes_max.min(MEMORY32_BYTES)).unwrap_or(usize::MAX)
}

fn scan_decision(choice: PagemapScanChoice) -> Result<(), &'static str> {
    match choice {
        PagemapScanChoice::Off => Err("the dirty-page scan is switched off"),
        PagemapScanChoice::Auto if !PoolingAllocationConfig::is_pagemap_scan_available() => {
            Err("the kernel has no PAGEMAP_SCAN (it needs 6.7 or newer)")
        }
        // Dirty pages that were swapped out escape the scan, so memory could cross tenants.
        PagemapScanChoice::Auto if swap_is_on() => Err("swap is on, and the dirty-page scan misses swapped pages"),
        PagemapScanChoice::Auto => Ok(()),
    }
}

/// Whether any swap is on. When nobody can tell, it is assumed to be.
fn swap_is_on() -> bool {
    std::fs::read_to_string("/proc/swaps").map_or(true, |table| table.lines().count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_surface_is_exactly_what_is_written_here() {
        let (engine, _) = build(&EngineSettings::for_cells(1)).unwrap();
        let enabled: Vec<_> = engine.get_wasm_features().iter_names().map(|(name, _)| name).collect();
        assert_eq!(
            enabled,
            [
                "MUTABLE_GLOBAL",
                "SATURATING_FLOAT_TO_INT",
                "SIGN_EXTENSION",
                "REFERENCE_TYPES",
                "MULTI_VALUE",
                "BULK_MEMORY",
                "SIMD",
                "TAIL_CALL",
                "FLOATS",
                "MULTI_MEMORY",
                "EXTENDED_CONST",
                "COMPONENT_MODEL",
            ]
        );
        // Two more go by no name of their own: they are parts of reference types and of bulk memory.
        assert_eq!(engine.get_wasm_features(), offered_features());
    }

    #[test]
    fn engines_with_and_without_a_pool_load_one_anothers_images() {
        let mut settings = EngineSettings::for_cells(4);
        let (pooled, report) = build(&settings).unwrap();
        assert!(report.pooling, "{report:?}");
        let only_compiles = build_compile_only(settings.wasm_stack_bytes, None).unwrap();
        settings.allocator = AllocatorChoice::OnDemand;
        let on_demand = build(&settings).unwrap().0;
        assert_eq!(compatibility(&pooled), compatibility(&only_compiles));
        assert_eq!(compatibility(&pooled), compatibility(&on_demand));
    }

    #[test]
    fn no_cells_is_refused() {
        let error = build(&EngineSettings::for_cells(0)).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    }

    #[test]
    fn a_switched_off_scan_and_pool_are_visible_in_the_report() {
        let mut settings = EngineSettings::for_cells(1);
        settings.pagemap_scan = PagemapScanChoice::Off;
        let (_, report) = build(&settings).unwrap();
        assert!(report.pooling && !report.pagemap_scan);
        assert_eq!(report.reason.as_deref(), Some("the dirty-page scan is switched off"));
        settings.allocator = AllocatorChoice::OnDemand;
        assert!(!build(&settings).unwrap().1.pooling);
    }
}
