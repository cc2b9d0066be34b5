//! The database's view of its file: either the file itself, or a layer over it that keeps the file as it is.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use crate::disk::Blocks;

/// The file itself. The database's own locks are not offered: the directory has one owner.
#[derive(Debug)]
pub(super) struct Backend(pub(super) Arc<dyn Blocks>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, data)
    }
}

/// A file that only seems to change: opening a database writes to it, and looking at one must not.
#[derive(Debug)]
pub(crate) struct Overlay {
    file: Arc<dyn Blocks>,
    changes: Mutex<Changes>,
}

/// What was written over the file, in pages, so that it takes memory in proportion to what was written.
#[derive(Debug)]
struct Changes {
    bytes: u64,
    /// What of the file is still to be seen: what was cut off once reads as zeros.
    seen_bytes: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
}

const PAGE: usize = 4096;

impl Overlay {
    /// A layer over `file`, which nobody else changes meanwhile.
    pub(crate) fn new(file: Arc<dyn Blocks>) -> io::Result<Self> {
        let bytes = file.len()?;
        Ok(Self { file, changes: Mutex::new(Changes { bytes, seen_bytes: bytes, pages: BTreeMap::new() }) })
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page at `number` as it seems to be.
    fn page(&self, changes: &Changes, number: u64) -> io::Result<Box<[u8; PAGE]>> {
        if let Some(page) = changes.pages.get(&number) {
            return Ok(page.clone());
        }
        let mut page = Box::new([0; PAGE]);
        let start = number * PAGE as u64;
        let there = changes.seen_bytes.saturating_sub(start).min(PAGE as u64);
        let there = usize::try_from(there).unwrap_or(PAGE);
        if there > 0 {
            self.file.read_at(start, &mut page[..there])?;
        }
        Ok(page)
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changes().bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changes = self.changes();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > changes.bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, from, part) in parts(offset, out.len()) {
            out[part.clone()].copy_from_slice(&self.page(&changes, number)?[from..from + part.len()]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut changes = self.changes();
        let last = len / PAGE as u64;
        changes.pages.retain(|number, _| *number <= last);
        changes.bytes = len;
        changes.seen_bytes = changes.seen_bytes.min(len);
        if let Some(page) = changes.pages.get_mut(&last) {
            page[usize::try_from(len % PAGE as u64).unwrap_or_default()..].fill(0);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changes = self.changes();
        for (number, from, part) in parts(offset, data.len()) {
            let mut page = self.page(&changes, number)?;
            page[from..from + part.len()].copy_from_slice(&data[part]);
            changes.pages.insert(number, page);
        }
        Ok(())
    }
}

/// The pages that `length` bytes from `offset` on lie in: their number, the place in the page, and which of the bytes.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let from = usize::try_from(at % PAGE as u64).unwrap_or_default();
        let part = done..length.min(done + PAGE - from);
        done = part.end;
        (!part.is_empty()).then_some((at / PAGE as u64, from, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(Vec<u8>);

    impl Blocks for Fixed {
        fn len(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }
        fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let start = usize::try_from(offset).expect("a small file has small offsets");
            out.copy_from_slice(&self.0[start..start + out.len()]);
            Ok(())
        }
        fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
            unreachable!("a layer never writes through")
        }
        fn set_len(&self, _: u64) -> io::Result<()> {
            unreachable!("a layer never cuts what is below")
        }
        fn sync(&self) -> io::Result<()> {
            unreachable!("a layer has nothing to make durable")
        }
    }

    proptest::proptest! {
        #[test]
        fn a_layer_reads_as_a_file_that_was_written_to(
            original in proptest::collection::vec(1u8.., 0..10_000usize),
            steps in proptest::collection::vec((0usize..12_000, 0usize..9_000, proptest::bool::ANY), 0..12),
        ) {
            let mut model = original.clone();
            let layer = Overlay::new(Arc::new(Fixed(original))).expect("a fixed file has a length");
            for (offset, length, cut) in steps {
                if cut {
                    model.resize(offset, 0);
                    layer.set_len(offset as u64).expect("a layer is cut");
                } else if offset + length <= model.len() {
                    let data = vec![0xab; length];
                    model[offset..offset + length].copy_from_slice(&data);
                    layer.write(offset as u64, &data).expect("a layer is written to");
                }
                let mut seen = vec![0; model.len()];
                layer.read(0, &mut seen).expect("a layer reads");
                proptest::prop_assert_eq!(&seen, &model);
            }
            proptest::prop_assert!(layer.read(0, &mut vec![0; model.len() + 1]).is_err());
        }
    }
}
