//! Components: what the pre-scan takes the engine survives, and what is said of a component before it is compiled is what
//! the engine says of it afterwards.

use std::sync::LazyLock;

use latent_core::contract::{ContractSurface, FunctionSignature, FunctionTarget};
use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::{ComponentArtifact, ComponentInspection, ComponentInspector as _};
use latent_wasmtime::{
    AllocatorChoice, CompileJob, Compiler as _, Declared, EngineSettings, InProcessCompiler, WasmtimeInspector,
    anonymous_image, build_engine, inspect_component, load_image, values,
};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use crate::refusal;

/// Longer components are inspected and not compiled, which would take most of the time.
const COMPILED_BYTES_MAX: usize = 8 << 10;

/// The engine and what reads components for it, made once.
static NODE: LazyLock<(EngineSettings, Engine, WasmtimeInspector)> = LazyLock::new(|| {
    let settings = EngineSettings { allocator: AllocatorChoice::OnDemand, ..EngineSettings::default() };
    let (engine, _) = build_engine(&settings).expect("an engine is made");
    let inspector = WasmtimeInspector::new(&settings).expect("an inspector is made");
    (settings, engine, inspector)
});

/// Takes `data` as a component.
///
/// # Panics
/// When a limit does not hold, a refusal says nothing, anything panics, or the engine disagrees.
pub fn check(data: &[u8]) {
    let (settings, engine, inspector) = &*NODE;
    let inspection = inspector.inspect(data);
    match (inspect_component(data, settings), inspection) {
        (Err(refused), inspection) => {
            told(&refused);
            assert_eq!(inspection, Err(refused), "what is not scanned is not looked at");
        }
        (Ok(declared), Err(refused)) => {
            within(&declared, settings);
            told(&refused);
        }
        (Ok(declared), Ok(inspection)) => {
            within(&declared, settings);
            assert_eq!(inspection.declared_memory_bytes, declared.memory_bytes);
            compiled(engine, data, &inspection);
        }
    }
}

fn told(error: &PlatformError) {
    let code = error.code();
    let expected = matches!(code, PlatformErrorCode::InvalidArgument | PlatformErrorCode::IncompatibleContract);
    assert!(expected && !error.has_detail("compiler.panic"), "{error:?}");
    refusal::tells(error);
}

fn within(declared: &Declared, settings: &EngineSettings) {
    let fits = declared.memory_bytes <= settings.memory_bytes_max
        && declared.memories <= settings.memories_max.into()
        && declared.tables <= settings.tables_max.into()
        && declared.table_elements <= settings.table_elements_max.into()
        && declared.core_instances <= settings.core_instances_max.into();
    assert!(fits, "{declared:?}");
}

/// Compiles what was inspected. That may be refused for what only the bodies of functions show.
fn compiled(engine: &Engine, data: &[u8], inspection: &ComponentInspection) {
    if data.len() > COMPILED_BYTES_MAX {
        return;
    }
    let artifact = ComponentArtifact::new(data.to_vec());
    let image = anonymous_image().expect("a file in memory");
    match InProcessCompiler::new(engine).compile(CompileJob { artifact: &artifact, tenant: None, image: &image }) {
        Ok(()) => agrees(engine, &load_image(engine, &image).expect("what was compiled is loaded"), inspection),
        Err(refused) => told(&refused),
    }
}

fn agrees(engine: &Engine, component: &Component, inspection: &ComponentInspection) {
    let types = component.component_type();
    let mut callable = Vec::new();
    for (name, export) in types.exports(engine) {
        match export.ty {
            ComponentItem::ComponentFunc(function) => {
                callable.push((target("", name), values::signature(&function).ok()))
            }
            ComponentItem::ComponentInstance(instance) => {
                for (function, export) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(ty) = export.ty {
                        callable.push((target(name, function), values::signature(&ty).ok()));
                    }
                }
            }
            _ => {}
        }
    }
    let surface = &inspection.surface;
    for (target, signature) in callable {
        // One budget for the types of all functions may refuse what is fine alone, but not unsaid.
        let is_refused = surface.refused.iter().any(|(known, _)| *known == target);
        let said = surface.signature(&target);
        assert!(said == signature.as_ref() || (said.is_none() && is_refused), "{target}: {}", listed(surface));
    }
}

fn target(contract: &str, function: &str) -> FunctionTarget {
    FunctionTarget { contract: contract.into(), function: function.into() }
}

fn listed(surface: &ContractSurface) -> String {
    let one = |(target, signature): &(FunctionTarget, FunctionSignature)| format!("{target}: {signature}");
    surface.functions.iter().map(one).collect::<Vec<_>>().join("; ")
}
