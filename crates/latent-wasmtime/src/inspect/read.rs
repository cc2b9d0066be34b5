//! The one reading of a component's types: every section is validated, function bodies are passed over, and nothing is
//! compiled.
//!
//! Invariant: only what the pre-scan let pass is read, which bounds the time and the memory that this takes.

use latent_core::{ContractSurface, FunctionTarget, PlatformError};
use latent_executor::ImportName;
use wasmparser::component_types::{ComponentEntityType, ComponentFuncTypeId};
use wasmparser::types::{Types, TypesRef};
use wasmparser::{BinaryReaderError, ComponentTypeRef, Parser, Payload, ValidPayload, Validator};

use super::{declared, malformed, malformed_at, over};
use crate::engine::offered_features;
use crate::prepare::reason;
use crate::settings::PrescanLimits;
use crate::values::signature_of;

/// What a component's own sections say, as opposed to those of what is nested in it.
#[derive(Default)]
pub struct Outermost<'a> {
    /// Imports in order, and whether each is only a type.
    pub imports: Vec<Import>,
    exports: Vec<&'a str>,
    /// Where the last import section ends, if whatever comes before it is types, imports and aliases.
    pub shell_end: Option<usize>,
    has_code: bool,
}

/// An import of the component.
pub struct Import {
    /// Its name.
    pub name: ImportName,
    /// Whether it is a type, which nobody has to offer.
    pub is_type: bool,
}

/// The types of a component and what its own sections say.
pub struct Reading<'a> {
    types: Types,
    /// What its own sections say.
    pub outermost: Outermost<'a>,
}

/// Reads `bytes`, which the pre-scan let pass.
///
/// # Errors
/// `invalid-argument` (`component.malformed`) where they do not validate.
pub fn read(bytes: &[u8]) -> Result<Reading<'_>, PlatformError> {
    let mut validator = Validator::new_with_features(offered_features());
    let mut parser = Parser::new(0);
    parser.set_features(offered_features());
    let mut outermost = Outermost::default();
    let mut open = 0_usize;
    for payload in parser.parse_all(bytes) {
        let payload = payload.map_err(|error| invalid(&error))?;
        if open == 0 {
            outermost.note(&payload).map_err(|error| invalid(&error))?;
        }
        if matches!(payload, Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) {
            open += 1;
        }
        // The validator of a body is handed out, not run.
        if let ValidPayload::End(types) = validator.payload(&payload).map_err(|error| invalid(&error))? {
            match open.checked_sub(1) {
                Some(fewer) => open = fewer,
                None => return Ok(Reading { types, outermost }),
            }
        }
    }
    Err(malformed(format_args!("not a well-formed component: it has no end")))
}

impl<'a> Outermost<'a> {
    fn note(&mut self, payload: &Payload<'a>) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    let import = import?;
                    let is_type = matches!(import.ty, ComponentTypeRef::Type(_));
                    self.imports.push(Import { name: ImportName(import.name.name.into()), is_type });
                }
                self.shell_end = (!self.has_code).then_some(section.range().end);
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    self.exports.push(export?.name.name);
                }
                self.has_code = true;
            }
            Payload::Version { .. }
            | Payload::CustomSection(_)
            | Payload::CoreTypeSection(_)
            | Payload::ComponentTypeSection(_)
            | Payload::ComponentAliasSection(_) => (),
            _ => self.has_code = true,
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// What can be called, in export order, and what is exported but cannot be.
    ///
    /// # Errors
    /// `incompatible-contract` (`component.limit`) when the names alone are too long.
    pub fn surface(&self, limits: &PrescanLimits) -> Result<ContractSurface, PlatformError> {
        let types = self.types.as_ref();
        let mut collected = Collected {
            types,
            surface: ContractSurface::default(),
            name_bytes: 0,
            name_bytes_max: u64::from(limits.exported_name_bytes_max),
        };
        for name in &self.outermost.exports {
            match types.component_item_for_export(name).map(|item| item.ty) {
                Some(ComponentEntityType::Func(function)) => collected.add("", name, function)?,
                Some(ComponentEntityType::Instance(instance)) => {
                    for (function_name, item) in types.get(instance).into_iter().flat_map(|of| &of.exports) {
                        if let ComponentEntityType::Func(function) = item.ty {
                            collected.add(name, function_name, function)?;
                        }
                    }
                }
                _ => (),
            }
        }
        Ok(collected.surface)
    }
}

struct Collected<'t> {
    types: TypesRef<'t>,
    surface: ContractSurface,
    name_bytes: u64,
    name_bytes_max: u64,
}

impl Collected<'_> {
    fn add(&mut self, contract: &str, function: &str, id: ComponentFuncTypeId) -> Result<(), PlatformError> {
        self.name_bytes += (contract.len() + function.len()) as u64;
        if self.name_bytes > self.name_bytes_max {
            let what = "bytes of names of exported functions";
            return Err(over(what, self.name_bytes, self.name_bytes_max, "prescan.exported_name_bytes_max"));
        }
        let target = FunctionTarget { contract: contract.into(), function: function.into() };
        let Some(func) = self.types.get(id) else { return Ok(()) };
        match signature_of(&declared::function(self.types, func)) {
            Ok(signature) => self.surface.functions.push((target, signature)),
            Err(unsupported) => {
                let reason = reason(&target, &unsupported);
                self.surface.refused.push((target, reason));
            }
        }
        Ok(())
    }
}

fn invalid(error: &BinaryReaderError) -> PlatformError {
    malformed_at(error.offset(), error.message())
}
