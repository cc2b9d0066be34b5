//! From bytes to code that is ready to run: inspected, compiled, linked, with every export looked up once.

use std::collections::HashMap;

use latent_core::{ContractSurface, ErrorDetail, FunctionTarget, PlatformError, PlatformErrorCode};
use latent_executor::{ComponentArtifact, ImportName, PreparedCode};
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};

use crate::call::FunctionPlan;
use crate::host::{HostState, bind_imports};
use crate::inspect::{inspect, malformed};
use crate::settings::EngineSettings;
use crate::values::{self, UnsupportedType};

/// Compiled and linked code of one component. Immutable; shared by every run of it.
pub struct PreparedComponent {
    pub(crate) pre: InstancePre<HostState>,
    plans: HashMap<FunctionTarget, FunctionPlan>,
    surface: ContractSurface,
    imports: Box<[ImportName]>,
    declared_memory_bytes: u64,
    code_bytes: u64,
}

impl PreparedComponent {
    /// Prepares `artifact`. Takes as long as compiling takes; call it off the serving path.
    ///
    /// # Errors
    /// `invalid-argument` for bytes that are not a component, `incompatible-contract` for one that declares more than
    /// the settings allow or imports what is not offered.
    pub(crate) fn new(
        engine: &Engine,
        settings: &EngineSettings,
        artifact: &ComponentArtifact,
    ) -> Result<Self, PlatformError> {
        let declared = inspect(artifact.bytes(), settings)?;
        let component = Component::from_binary(engine, artifact.bytes()).map_err(|error| compile_error(&error))?;
        let (linker, imports) = bind_imports(engine, &component)?;
        let pre = linker.instantiate_pre(&component).map_err(|error| link_error(&error))?;
        let mut planned = Planned::default();
        planned.collect(engine, &component);
        let required = component.resources_required().and_then(|needs| needs.max_initial_memory_size);
        let range = component.image_range();
        Ok(Self {
            pre,
            plans: planned.plans,
            surface: planned.surface,
            imports: imports.into_boxed_slice(),
            declared_memory_bytes: required.unwrap_or(declared.memory_bytes),
            code_bytes: (range.end as usize - range.start as usize) as u64,
        })
    }

    /// The plan of `target`.
    ///
    /// # Errors
    /// `incompatible-contract` naming the function and what there is, or why it cannot be called.
    pub(crate) fn plan(&self, target: &FunctionTarget) -> Result<&FunctionPlan, PlatformError> {
        self.plans.get(target).ok_or_else(|| self.no_such_function(target))
    }

    /// Bytes of compiled code, data and metadata.
    #[must_use]
    pub fn code_bytes(&self) -> u64 {
        self.code_bytes
    }

    fn no_such_function(&self, target: &FunctionTarget) -> PlatformError {
        let detail = ErrorDetail::new("component.function").with("function", target);
        let refused = self.surface.refused.iter().find(|(known, _)| known == target);
        let message = match refused {
            Some((_, reason)) => format!("the function {target} cannot be called: {reason}"),
            None => {
                let known: Vec<_> = self.surface.functions.iter().map(|(known, _)| known.to_string()).collect();
                format!("the component has no function {target}; it exports: {}", known.join(", "))
            }
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
}

#[derive(Default)]
struct Planned {
    plans: HashMap<FunctionTarget, FunctionPlan>,
    surface: ContractSurface,
}

impl Planned {
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
                self.plans.insert(target, FunctionPlan::new(index, signature));
            }
            (Err(unsupported), _) => self.surface.refused.push((target, unsupported.to_string().into_boxed_str())),
            (Ok(_), None) => self.surface.refused.push((target, "the engine lists it without a place".into())),
        }
    }
}

fn compile_error(error: &wasmtime::Error) -> PlatformError {
    malformed(format_args!("the component does not validate or compile: {}", error.root_cause()))
}

fn link_error(error: &wasmtime::Error) -> PlatformError {
    let message = format!("an import of the component has another type than what is offered: {error:#}");
    PlatformError::new(PlatformErrorCode::IncompatibleContract, message)
        .with_detail(ErrorDetail::new("component.import"))
}
