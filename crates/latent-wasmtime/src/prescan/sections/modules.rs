//! The sections of a core module: counts, and the sizes that it declares.

use wasmparser::{Encoding, Payload};

use super::super::extent::{of_core_function, of_name};
use super::super::tally::{Refusal, within};
use super::{Pass, is_a};
use crate::inspect::WASM_PAGE_BYTES;

impl<'a> Pass<'a, '_> {
    /// A section of a core module.
    pub(super) fn of_module(&mut self, at: usize, payload: Payload<'a>) -> Result<(), Refusal> {
        match payload {
            Payload::Version { encoding, range, .. } => is_a(Encoding::Module, encoding, range.start),
            Payload::TypeSection(section) => {
                self.tally.types.add(section.count())?;
                section.into_iter_err_on_gc_types().try_for_each(|ty| self.chains.weigh(of_core_function(&ty?)))
            }
            Payload::ImportSection(section) => {
                self.tally.imports.add(section.count())?;
                self.items(at, section.count());
                for import in section.into_imports() {
                    let import = import?;
                    self.chains.weigh(of_name(import.module).saturating_add(of_name(import.name)))?;
                }
                Ok(())
            }
            Payload::FunctionSection(section) => self.tally.functions.add(section.count()),
            Payload::GlobalSection(section) => self.tally.globals.add(section.count()),
            Payload::ExportSection(section) => {
                self.tally.exports.add(section.count())?;
                self.items(at, section.count());
                section.into_iter().try_for_each(|export| self.chains.weigh(of_name(export?.name)))
            }
            Payload::ElementSection(section) => self.tally.element_segments.add(section.count()),
            Payload::DataSection(section) => self.tally.data_segments.add(section.count()),
            Payload::CodeSectionEntry(body) => {
                let (size, allowed) = (body.range().len() as u64, u64::from(self.limits.body_bytes_max));
                within("a function body of {} bytes", size, allowed, "prescan.body_bytes_max")
            }
            Payload::MemorySection(section) => {
                self.outline.modules[at].memories = section.count();
                self.declared.memories = self.declared.memories.max(u64::from(section.count()));
                for memory in section {
                    let memory = memory?;
                    let page = memory.page_size_log2.map_or(Some(WASM_PAGE_BYTES), |log2| 1u64.checked_shl(log2));
                    let size = memory.initial.saturating_mul(page.unwrap_or(u64::MAX));
                    self.declared.memory_bytes = self.declared.memory_bytes.max(size);
                }
                Ok(())
            }
            Payload::TableSection(section) => {
                self.outline.modules[at].tables = section.count();
                self.declared.tables = self.declared.tables.max(u64::from(section.count()));
                for table in section {
                    self.declared.table_elements = self.declared.table_elements.max(table?.ty.initial);
                }
                Ok(())
            }
            Payload::End(_) => {
                self.open.pop();
                self.chains.core_module(self.outline.modules[at].items)
            }
            _ => Ok(()),
        }
    }

    fn items(&mut self, at: usize, more: u32) {
        let items = &mut self.outline.modules[at].items;
        *items = items.saturating_add(more);
    }
}
