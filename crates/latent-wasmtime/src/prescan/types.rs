//! The walk over type declarators, which may nest: the engine's readers recurse into them, this walk does not.
//! Whatever does not nest is left to those readers.

use wasmparser::{
    BinaryReader, ComponentExternName, ComponentImport, CompositeInnerType, CoreType, ModuleTypeDeclaration, RecGroup,
};

use super::chains::Chains;
use super::extent::{of_core_function, of_name};
use super::tally::{Refusal, Tally, within};
use crate::settings::PrescanLimits;

/// The leading bytes of the declarators that hold declarations.
const COMPONENT: u8 = 0x41;
const INSTANCE: u8 = 0x42;
const MODULE: u8 = 0x50;
/// The leading byte of a recursion group, which only garbage-collected types need.
const RECURSION_GROUP: u8 = 0x4e;

/// What the next declarations of a level are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    TypeSection,
    CoreTypeSection,
    Component,
    Instance,
    Module,
}

/// Walks a section of component types, whose bytes `reader` holds.
pub fn walk(
    reader: BinaryReader<'_>,
    limits: &PrescanLimits,
    tally: &mut Tally,
    chains: &mut Chains,
) -> Result<(), Refusal> {
    Walk { reader, limits, tally, chains, levels: Vec::new() }.run(Inside::TypeSection)
}

/// Walks a section of core types, whose bytes `reader` holds.
pub fn walk_core(
    reader: BinaryReader<'_>,
    limits: &PrescanLimits,
    tally: &mut Tally,
    chains: &mut Chains,
) -> Result<(), Refusal> {
    Walk { reader, limits, tally, chains, levels: Vec::new() }.run(Inside::CoreTypeSection)
}

struct Level {
    inside: Inside,
    /// Declarations in all.
    count: u32,
    /// Declarations that are still to come.
    left: u32,
}

struct Walk<'a, 't> {
    reader: BinaryReader<'a>,
    limits: &'t PrescanLimits,
    tally: &'t mut Tally,
    chains: &'t mut Chains,
    /// The open levels, the section first.
    levels: Vec<Level>,
}

impl Walk<'_, '_> {
    fn run(mut self, section: Inside) -> Result<(), Refusal> {
        self.open(section)?;
        while let Some(level) = self.levels.last_mut() {
            let Some(fewer) = level.left.checked_sub(1) else {
                self.close()?;
                continue;
            };
            level.left = fewer;
            match level.inside {
                Inside::TypeSection => self.component_type()?,
                Inside::CoreTypeSection => self.core_type()?,
                Inside::Module => self.module_declaration()?,
                inside @ (Inside::Component | Inside::Instance) => self.declaration(inside)?,
            }
        }
        if self.reader.eof() {
            return Ok(());
        }
        Err(self.malformed("more bytes than the types of the section take".to_owned()))
    }

    /// Opens a level. The section itself is none.
    fn open(&mut self, inside: Inside) -> Result<(), Refusal> {
        let (depth, allowed) = (self.levels.len() as u64, u64::from(self.limits.type_depth_max));
        within("levels of nested types", depth, allowed, "prescan.type_depth_max")?;
        let declarations = self.reader.read_var_u32()?;
        self.tally.types.add(declarations)?;
        self.levels.push(Level { inside, count: declarations, left: declarations });
        if matches!(inside, Inside::Component | Inside::Instance) {
            self.chains.open();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refusal> {
        match self.levels.pop() {
            Some(Level { inside: Inside::Component | Inside::Instance, .. }) => self.chains.close_type(),
            Some(Level { inside: Inside::Module, count, .. }) => {
                self.chains.core_type(count);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn component_type(&mut self) -> Result<(), Refusal> {
        match self.next_byte()? {
            byte @ (COMPONENT | INSTANCE) => {
                self.reader.read_u8()?;
                self.open(if byte == COMPONENT { Inside::Component } else { Inside::Instance })
            }
            _ => self.chains.flat_type(&self.reader.read()?),
        }
    }

    fn core_type(&mut self) -> Result<(), Refusal> {
        match self.next_byte()? {
            MODULE => {
                self.reader.read_u8()?;
                self.open(Inside::Module)
            }
            RECURSION_GROUP => Err(self.malformed("recursion groups are not offered".to_owned())),
            _ => {
                if let CoreType::Rec(group) = self.reader.read()? {
                    self.weigh_core_functions(&group)?;
                }
                self.chains.core_type(0);
                Ok(())
            }
        }
    }

    fn declaration(&mut self, inside: Inside) -> Result<(), Refusal> {
        match self.reader.read_u8()? {
            0x00 => self.core_type(),
            0x01 => self.component_type(),
            0x02 => self.chains.alias(&self.reader.read()?),
            0x03 if inside == Inside::Component => {
                let import: ComponentImport<'_> = self.reader.read()?;
                self.chains.declared(import.name.name, import.ty)
            }
            0x04 => {
                let name: ComponentExternName<'_> = self.reader.read()?;
                self.chains.declared(name.name, self.reader.read()?)
            }
            byte => Err(self.malformed(format!("a declaration cannot begin with the byte 0x{byte:02x}"))),
        }
    }

    fn module_declaration(&mut self) -> Result<(), Refusal> {
        let mut ahead = self.reader.clone();
        if ahead.read_u8()? == 0x01 && ahead.read_u8()? == RECURSION_GROUP {
            return Err(self.malformed("recursion groups are not offered".to_owned()));
        }
        match self.reader.read()? {
            ModuleTypeDeclaration::Type(group) => self.weigh_core_functions(&group),
            ModuleTypeDeclaration::Export { name, .. } => self.chains.weigh(of_name(name)),
            ModuleTypeDeclaration::Import(import) => {
                self.chains.weigh(of_name(import.module).saturating_add(of_name(import.name)))
            }
            ModuleTypeDeclaration::OuterAlias { .. } => self.chains.weigh(1),
        }
    }

    fn weigh_core_functions(&mut self, group: &RecGroup) -> Result<(), Refusal> {
        group.types().try_for_each(|ty| match &ty.composite_type.inner {
            CompositeInnerType::Func(function) => self.chains.weigh(of_core_function(function)),
            _ => self.chains.weigh(1),
        })
    }

    fn next_byte(&self) -> Result<u8, Refusal> {
        Ok(self.reader.clone().read_u8()?)
    }

    fn malformed(&self, message: String) -> Refusal {
        Refusal::Malformed { message, offset: self.reader.original_position() }
    }
}
