//! One pass over the sections of a component and everything nested in it: counts what they declare, and draws the
//! outline that the flattened counts come from.

mod modules;

use wasmparser::{
    BinaryReader, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, Encoding,
    Instance, Parser, Payload, SectionLimited,
};

use super::Declared;
use super::chains::Chains;
use super::outline::{Definition, Module, Named, NamedRange, Outline, Sort, Step};
use super::tally::{Refusal, Tally, within};
use super::types;
use crate::engine::offered_features;
use crate::settings::PrescanLimits;

/// So many bytes of a name weigh as much as a definition.
const NAME_BYTES_OF_A_DEFINITION: u64 = 64;

/// What one pass tells.
pub struct Scanned<'a> {
    /// How the parts reach one another.
    pub outline: Outline<'a>,
    /// What single modules declare; the sums over instances are not in it.
    pub declared: Declared,
}

/// Reads `bytes` once.
pub fn read<'a>(bytes: &'a [u8], limits: &PrescanLimits) -> Result<Scanned<'a>, Refusal> {
    let mut pass = Pass {
        bytes,
        limits,
        tally: Tally::new(limits),
        chains: Chains::new(limits),
        open: Vec::new(),
        outline: Outline::default(),
        declared: Declared::default(),
    };
    pass.enter_component()?;
    let mut parser = Parser::new(0);
    parser.set_features(offered_features());
    for payload in parser.parse_all(bytes) {
        let payload = payload?;
        if is_section(&payload) {
            pass.tally.sections.add(1u32)?;
        }
        match pass.open.last() {
            Some(Part::Component(at)) => {
                let at = *at;
                pass.of_component(at, payload)?;
            }
            Some(Part::Module(at)) => {
                let at = *at;
                pass.of_module(at, payload)?;
            }
            None => break,
        }
    }
    Ok(Scanned { outline: pass.outline, declared: pass.declared })
}

/// Beginnings and ends of parts are counted with the parts, bodies of functions with the functions.
fn is_section(payload: &Payload<'_>) -> bool {
    !matches!(payload, Payload::Version { .. } | Payload::End(_) | Payload::CodeSectionEntry(_))
}

/// A part that has begun and not ended, by its place in the outline.
enum Part {
    Component(usize),
    Module(usize),
}

struct Pass<'a, 'l> {
    bytes: &'a [u8],
    limits: &'l PrescanLimits,
    tally: Tally,
    chains: Chains,
    open: Vec<Part>,
    outline: Outline<'a>,
    declared: Declared,
}

impl<'a> Pass<'a, '_> {
    fn enter_component(&mut self) -> Result<usize, Refusal> {
        self.enter()?;
        let place = self.outline.components.len();
        self.outline.components.push(Definition::default());
        self.open.push(Part::Component(place));
        self.chains.open();
        Ok(place)
    }

    fn enter_module(&mut self) -> Result<usize, Refusal> {
        self.enter()?;
        let place = self.outline.modules.len();
        self.outline.modules.push(Module::default());
        self.open.push(Part::Module(place));
        Ok(place)
    }

    fn enter(&mut self) -> Result<(), Refusal> {
        let depth = self.open.len() as u64 + 1;
        let allowed = u64::from(self.limits.section_depth_max);
        within("levels of nested components", depth, allowed, "prescan.section_depth_max")?;
        self.tally.parts.add(1u32)
    }

    /// A section of a component.
    fn of_component(&mut self, at: usize, payload: Payload<'a>) -> Result<(), Refusal> {
        match payload {
            Payload::Version { encoding, range, .. } => is_a(Encoding::Component, encoding, range.start)?,
            Payload::ModuleSection { .. } => {
                self.weigh(at, 1u32)?;
                let place = self.enter_module()?;
                self.step(at, Step::Module(place));
            }
            Payload::ComponentSection { .. } => {
                self.weigh(at, 1u32)?;
                let place = self.enter_component()?;
                self.step(at, Step::Component(place));
            }
            Payload::CoreTypeSection(section) => {
                self.weigh(at, section.count())?;
                types::walk_core(self.reader(&section), self.limits, &mut self.tally, &mut self.chains)?;
            }
            Payload::ComponentTypeSection(section) => {
                self.weigh(at, section.count())?;
                types::walk(self.reader(&section), self.limits, &mut self.tally, &mut self.chains)?;
            }
            Payload::InstanceSection(section) => self.core_instances(at, section)?,
            Payload::ComponentInstanceSection(section) => self.instances(at, section)?,
            Payload::ComponentAliasSection(section) => self.aliases(at, section)?,
            Payload::ComponentCanonicalSection(section) => {
                self.weigh(at, section.count())?;
                for function in section {
                    self.chains.canonical(&function?)?;
                }
            }
            Payload::ComponentStartSection { .. } => self.weigh(at, 1u32)?,
            Payload::ComponentImportSection(section) => {
                self.weigh(at, section.count())?;
                self.tally.imports.add(section.count())?;
                for import in section {
                    let import = import?;
                    self.chains.declared(import.name.name, import.ty)?;
                    self.weigh_name(at, import.name.name)?;
                    if let Some(sort) = Sort::of(import.ty.kind()) {
                        let name = self.outline.name(import.name.name);
                        self.step(at, Step::Import(sort, name));
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                self.weigh(at, section.count())?;
                self.tally.exports.add(section.count())?;
                for export in section {
                    let export = export?;
                    self.chains.exported(&export)?;
                    self.weigh_name(at, export.name.name)?;
                    if let Some(export) = self.named(export.name.name, export.kind, export.index) {
                        self.step(at, Step::Export(export));
                    }
                }
            }
            Payload::End(_) => {
                self.open.pop();
                self.chains.close_component()?;
            }
            _ => (),
        }
        Ok(())
    }

    fn core_instances(&mut self, at: usize, section: SectionLimited<'a, Instance<'a>>) -> Result<(), Refusal> {
        self.weigh(at, section.count())?;
        for instance in section {
            let instance = instance?;
            self.chains.core_instance(&instance)?;
            match instance {
                Instance::Instantiate { module_index, args } => {
                    self.weigh(at, args.len() as u64)?;
                    self.step(at, Step::CoreInstance(module_index));
                }
                Instance::FromExports(exports) => self.weigh(at, exports.len() as u64)?,
            }
        }
        Ok(())
    }

    fn instances(&mut self, at: usize, section: SectionLimited<'a, ComponentInstance<'a>>) -> Result<(), Refusal> {
        self.weigh(at, section.count())?;
        for instance in section.into_iter_with_offsets() {
            let (offset, instance) = instance?;
            self.chains.instance(&instance)?;
            match instance {
                ComponentInstance::Instantiate { component_index, args } => {
                    self.weigh(at, args.len() as u64)?;
                    args.iter().try_for_each(|arg| self.weigh_name(at, arg.name))?;
                    let arguments = self.keep(args.iter().map(|arg| (arg.name, arg.kind, arg.index)));
                    self.step(at, Step::Instance { component: component_index, arguments, offset });
                }
                ComponentInstance::FromExports(exports) => {
                    self.weigh(at, exports.len() as u64)?;
                    exports.iter().try_for_each(|one| self.weigh_name(at, one.name.name))?;
                    let range = self.keep(exports.iter().map(|one| (one.name.name, one.kind, one.index)));
                    self.step(at, Step::Bundle(range));
                }
            }
        }
        Ok(())
    }

    fn aliases(&mut self, at: usize, section: SectionLimited<'a, ComponentAlias<'a>>) -> Result<(), Refusal> {
        self.weigh(at, section.count())?;
        for alias in section {
            let alias = alias?;
            self.chains.alias(&alias)?;
            match alias {
                ComponentAlias::InstanceExport { kind, instance_index, name } => {
                    if let Some(sort) = Sort::of(kind) {
                        let name = self.outline.name(name);
                        self.step(at, Step::Member { sort, instance: instance_index, name });
                    }
                }
                ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, count, index } => {
                    self.step(at, Step::Outer { sort: Sort::Module, count, index });
                }
                ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                    self.step(at, Step::Outer { sort: Sort::Component, count, index });
                }
                ComponentAlias::Outer { .. } | ComponentAlias::CoreInstanceExport { .. } => (),
            }
        }
        Ok(())
    }

    fn weigh(&mut self, at: usize, more: impl Into<u64>) -> Result<(), Refusal> {
        let more = more.into();
        self.tally.definitions.add(more)?;
        self.outline.components[at].weight += more;
        Ok(())
    }

    /// A long name weighs more, because the translator copies it into every instance.
    fn weigh_name(&mut self, at: usize, name: &str) -> Result<(), Refusal> {
        self.weigh(at, name.len() as u64 / NAME_BYTES_OF_A_DEFINITION)
    }

    fn step(&mut self, at: usize, step: Step) {
        self.outline.components[at].steps.push(step);
    }

    fn keep(&mut self, all: impl Iterator<Item = (&'a str, ComponentExternalKind, u32)>) -> NamedRange {
        let start = self.outline.named.len();
        for (name, kind, index) in all {
            let named = self.named(name, kind, index);
            self.outline.named.extend(named);
        }
        NamedRange { start, end: self.outline.named.len() }
    }

    fn named(&mut self, name: &'a str, kind: ComponentExternalKind, index: u32) -> Option<Named> {
        Sort::of(kind).map(|sort| Named { name: self.outline.name(name), sort, index })
    }

    fn reader<T>(&self, section: &SectionLimited<'a, T>) -> BinaryReader<'a> {
        let range = section.range();
        BinaryReader::new_features(&self.bytes[range.clone()], range.start, offered_features())
    }
}

/// A part says twice what it is, in the section that holds it and in its own header.
fn is_a(wanted: Encoding, found: Encoding, offset: usize) -> Result<(), Refusal> {
    if found == wanted {
        return Ok(());
    }
    Err(Refusal::Malformed { message: format!("a {found:?} where a {wanted:?} was announced").to_lowercase(), offset })
}
