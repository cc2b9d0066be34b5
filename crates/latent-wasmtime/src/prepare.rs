//! From bytes to code that is ready to run: inspected, compiled, linked, with every export looked up once.

use latent_core::{ContractSurface, ErrorDetail, FunctionTarget, PlatformError, PlatformErrorCode};
use latent_executor::{ImportName, PreparedCode};
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};

use crate::call::FunctionPlan;
use crate::host::{HostState, bind_imports, mistyped};
use crate::http::HandlerPlan;
use crate::inspect::{WASM_PAGE_BYTES, malformed, over};
use crate::plan::Plan;
use crate::ready::PinCount;
use crate::settings::EngineSettings;
use crate::values::{self, UnsupportedType};

/// Compiled and linked code of one component. Immutable; shared by every run of it.
pub struct PreparedComponent {
    pub(crate) pre: InstancePre<HostState>,
    /// Sorted by target: a component has few functions, so looking one up compares a few strings and hashes nothing.
    plans: Box<[(FunctionTarget, FunctionPlan)]>,
    handler: Option<HandlerPlan>,
    surface: ContractSurface,
    imports: Box<[ImportName]>,
    declared_memory_bytes: u64,
    code_bytes: u64,
    pins: PinCount,
}

impl PreparedComponent {
    /// Links `component` and looks its exports up.
    ///
    /// # Errors
    /// `incompatible-contract` for one that declares more than the settings allow or imports what is not offered.
    pub(crate) fn new(
        engine: &Engine,
        settings: &EngineSettings,
        component: &Component,
    ) -> Result<Self, PlatformError> {
        counts_fit(component, settings)?;
        let (linker, imports) = bind_imports(engine, component)?;
        let pre = linker.instantiate_pre(component).map_err(|error| mistyped(&imports, &error))?;
        let mut planned = Planned::default();
        planned.collect(engine, component);
        let pages = component.resources_required().and_then(|needs| needs.max_initial_memory_size);
        let range = component.image_range();
        Ok(Self {
            pre,
            surface: std::mem::take(&mut planned.surface),
            handler: planned.handler.take(),
            plans: planned.sorted(),
            imports: imports.into_boxed_slice(),
            declared_memory_bytes: pages.unwrap_or(0).saturating_mul(WASM_PAGE_BYTES),
            code_bytes: (range.end as usize - range.start as usize) as u64,
            pins: PinCount::default(),
        })
    }

    /// The plan of `target`.
    ///
    /// # Errors
    /// `incompatible-contract` naming the function and what there is, or why it cannot be called.
    pub(crate) fn plan(&self, target: &FunctionTarget) -> Result<Plan<'_>, PlatformError> {
        match (self.plans.binary_search_by(|(known, _)| known.cmp(target)), &self.handler) {
            (Ok(found), _) => Ok(Plan::Values(&self.plans[found].1)),
            (Err(_), Some(handler)) if target.is_http_handler() => Ok(Plan::Http(handler)),
            (Err(_), _) => Err(self.no_such_function(target)),
        }
    }

    /// How often readiness pins it.
    pub(crate) fn pins(&self) -> &PinCount {
        &self.pins
    }

    fn no_such_function(&self, target: &FunctionTarget) -> PlatformError {
        let detail = ErrorDetail::new("component.function").with("function", target);
        let refused = self.surface.refused.iter().find(|(known, _)| known == target);
        let message = if let Some((_, reason)) = refused {
            format!("the function {target} cannot be called: {reason}")
        } else {
            let known: Vec<_> = self.surface.functions.iter().map(|(known, _)| known.to_string()).collect();
            format!("the component has no function {target}; it exports: {}", known.join(", "))
        };
        PlatformError::new(PlatformErrorCode::IncompatibleContract, message).with_detail(detail)
    }
}

impl PreparedCode for PreparedComponent {
    fn surface(&self) -> &ContractSurface {
        &self.surface
    }

    fn imports(&self) -> &[ImportName] {
        &self.imports
    }

    fn declared_memory_bytes(&self) -> u64 {
        self.declared_memory_bytes
    }

    fn code_bytes(&self) -> u64 {
        self.code_bytes
    }
}

#[derive(Default)]
struct Planned {
    plans: Vec<(FunctionTarget, FunctionPlan)>,
    handler: Option<HandlerPlan>,
    surface: ContractSurface,
}

impl Planned {
    fn sorted(mut self) -> Box<[(FunctionTarget, FunctionPlan)]> {
        self.plans.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.plans.into_boxed_slice()
    }

    fn collect(&mut self, engine: &Engine, component: &Component) {
        for (name, item) in component.component_type().exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(function) => {
                    let index = component.get_export_index(None, name);
                    self.add("", name, index, values::signature(&function));
                }
                ComponentItem::ComponentInstance(instance) => {
                    let parent = component.get_export_index(None, name);
                    for (function_name, item) in instance.exports(engine) {
                        if let ComponentItem::ComponentFunc(function) = item.ty {
                            let index = component.get_export_index(parent.as_ref(), function_name);
                            self.add(name, function_name, index, values::signature(&function));
                        }
                    }
                }
                _ => (),
            }
        }
    }

    fn add(
        &mut self,
        contract: &str,
        function: &str,
        index: Option<ComponentExportIndex>,
        signature: Result<latent_core::FunctionSignature, UnsupportedType>,
    ) {
        let target = FunctionTarget { contract: contract.into(), function: function.into() };
        match (signature, index) {
            (Ok(signature), Some(index)) => {
                self.surface.functions.push((target.clone(), signature.clone()));
                self.plans.push((target, FunctionPlan::new(index, signature)));
            }
            (Err(unsupported), index) => {
                let reason = reason(&target, &unsupported);
                if target.is_exported_http_handler() && self.handler.is_none() {
                    self.handler = index.map(HandlerPlan::new);
                }
                self.surface.refused.push((target, reason));
            }
            (Ok(_), None) => self.surface.refused.push((target, "the engine lists it without a place".into())),
        }
    }
}

/// Why an exported function cannot be called with values.
pub(crate) fn reason(target: &FunctionTarget, unsupported: &UnsupportedType) -> Box<str> {
    if target.is_exported_http_handler() {
        "it is served over HTTP, not called with values".into()
    } else {
        unsupported.to_string().into_boxed_str()
    }
}

pub(crate) fn compile_error(error: &wasmtime::Error, settings: &EngineSettings) -> PlatformError {
    let text = error.root_cause().to_string();
    counted_by_the_pool(&text, settings)
        .unwrap_or_else(|| malformed(format_args!("the component does not validate or compile: {text}")))
}

/// The refusal of a component that holds more objects than the pool allows one to have. The engine counts them
/// through all nested components, but says so in words only.
fn counted_by_the_pool(text: &str, settings: &EngineSettings) -> Option<PlatformError> {
    if let Some(of) = text.strip_prefix("instance allocation for this ") {
        let bytes = of.split_once(" requires ")?.1.split_once(" bytes")?.0.parse().ok()?;
        let cap = u64::from(settings.instance_bytes_max);
        return Some(over("bytes of instance state", bytes, cap, "instance_bytes_max"));
    }
    let (count, what) = text.strip_prefix("The component transitively contains ")?.split_once(' ')?;
    let count = count.parse().ok()?;
    let kinds = [
        ("core module instances", "core instances", settings.core_instances_max, "core_instances_max"),
        ("Wasm linear memories", "memories", settings.memories_max, "memories_max"),
        ("tables", "tables", settings.tables_max, "tables_max"),
    ];
    let (_, what, cap, setting) = kinds.into_iter().find(|(engines_word, ..)| what.starts_with(engines_word))?;
    Some(over(what, count, u64::from(cap), setting))
}

/// The on-demand allocator counts nothing at compilation, so that memories and tables are counted here.
fn counts_fit(component: &Component, settings: &EngineSettings) -> Result<(), PlatformError> {
    let Some(needs) = component.resources_required() else { return Ok(()) };
    let checks = [
        ("memories", needs.num_memories, settings.memories_max, "memories_max"),
        ("tables", needs.num_tables, settings.tables_max, "tables_max"),
    ];
    match checks.into_iter().find(|(_, count, cap, _)| count > cap) {
        Some((what, count, cap, setting)) => Err(over(what, u64::from(count), u64::from(cap), setting)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_guests::generated;

    #[test]
    fn what_the_pool_counts_is_refused_by_name() {
        let settings = EngineSettings::for_cells(1);
        let (engine, report) = crate::engine::build(&settings).unwrap();
        assert!(report.pooling, "{report:?}");
        for (component, wanted) in [
            (generated::composed(65, 1), "65 core instances, at most 64 are allowed (setting core_instances_max)"),
            (generated::composed(9, 1), "9 memories, at most 8 are allowed (setting memories_max)"),
        ] {
            let error = Component::from_binary(&engine, &component).expect_err("the pool refuses it");
            let error = compile_error(&error, &settings);
            assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
            assert_eq!(error.message(), format!("the component declares {wanted}"));
        }
        let tables = "The component transitively contains 40 tables, which exceeds the configured maximum of 32";
        let error = counted_by_the_pool(tables, &settings).unwrap();
        assert_eq!(error.message(), "the component declares 40 tables, at most 32 are allowed (setting tables_max)");
        for other in ["The component transitively contains nothing", "instance allocation for this requires", ""] {
            assert_eq!(counted_by_the_pool(other, &settings), None);
        }
    }
}
