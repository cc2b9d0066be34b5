//! Small documents that a node keeps beside releases and deployments. What they say is the node's business.
//!
//! Invariant: what is listed was committed before; the documents and quotas of one call are written together or not at
//! all.

use std::collections::{BTreeMap, BTreeSet};

use latent_core::{PlatformError, TenantId};

use super::Storage;
use crate::index::Documents;
use crate::record;
use crate::records::{Edit, Table};
use crate::refusal::Refusal;

/// Bytes of a document's kind, and of its key.
pub const DOCUMENT_NAME_BYTES_MAX: usize = 256;

/// One document to be written, or with no value, removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentEdit<'a> {
    /// What kind of document it is; 1 to [`DOCUMENT_NAME_BYTES_MAX`] bytes.
    pub kind: &'a str,
    /// Its name within the kind; 1 to [`DOCUMENT_NAME_BYTES_MAX`] bytes.
    pub key: &'a str,
    /// Its bytes, at most [`document_bytes_max`](crate::StorageLimits::document_bytes_max).
    pub value: Option<&'a [u8]>,
}

impl Storage {
    /// Writes a document, or with no value, removes it. Durable when this returns. Removing what is not there changes
    /// nothing.
    ///
    /// # Errors
    /// As [`put_documents`](Self::put_documents).
    pub fn put_document(&self, kind: &str, key: &str, value: Option<&[u8]>) -> Result<(), PlatformError> {
        self.put_documents(&[DocumentEdit { kind, key, value }], &[])
    }

    /// Makes all `edits`, in their order, and gives tenants their `quotas` as [`set_quota`](Self::set_quota) does: all of
    /// it, or nothing. Durable when this returns.
    ///
    /// # Errors
    /// `invalid-argument` for a kind or key that is empty or too long; `resource-exhausted` beyond the bytes of a
    /// document or the documents of a kind, or on a full disk; `unavailable` when the disk fails. Then nothing has changed.
    pub fn put_documents(
        &self,
        edits: &[DocumentEdit<'_>],
        quotas: &[(TenantId, Option<u64>)],
    ) -> Result<(), PlatformError> {
        edits.iter().try_for_each(|edit| self.check_document(edit))?;
        let mut writer = self.writer();
        check_counts(&self.index().documents, edits, self.limits.documents_max)?;
        let documents = edits.iter().map(|edit| Edit {
            table: Table::Documents,
            key: record::document_key(edit.kind, edit.key),
            value: edit.value.map(<[u8]>::to_vec),
        });
        let quotas_written = quotas.iter().map(|(tenant, bytes)| Edit {
            table: Table::Quotas,
            key: record::quota_key(tenant),
            value: bytes.map(record::quota),
        });
        let all: Vec<_> = documents.chain(quotas_written).collect();
        if all.is_empty() {
            return Ok(());
        }
        let generation = writer.generation();
        writer.commit(all, generation)?;
        let mut index = self.index_mut();
        for edit in edits {
            index.documents.set(edit.kind, edit.key, edit.value.map(Into::into));
        }
        for (tenant, bytes) in quotas {
            index.set_quota(tenant, *bytes);
        }
        Ok(())
    }

    /// The documents of a kind, in the order of their keys. Does not block on the disk.
    #[must_use]
    pub fn documents(&self, kind: &str) -> Vec<(String, Vec<u8>)> {
        self.index().documents.of(kind).map(|(key, value)| (key.to_owned(), value.to_vec())).collect()
    }

    /// Whether a tenant has releases or deployments. Does not block on the disk.
    #[must_use]
    pub fn holds_anything(&self, tenant: &TenantId) -> bool {
        self.index().owned(tenant).releases > 0 || self.view().of_tenant(tenant).next().is_some()
    }

    fn check_document(&self, edit: &DocumentEdit<'_>) -> Result<(), Refusal> {
        for (part, name) in [("kind", edit.kind), ("key", edit.key)] {
            if name.is_empty() || name.len() > DOCUMENT_NAME_BYTES_MAX {
                return Err(Refusal::DocumentName { part, found: name.len(), max: DOCUMENT_NAME_BYTES_MAX });
            }
        }
        let (found, max) = (edit.value.map_or(0, <[u8]>::len), self.limits.document_bytes_max);
        if found > max { Err(Refusal::DocumentTooLarge { kind: edit.kind.into(), found, max }) } else { Ok(()) }
    }
}

/// Says whether each kind that grows stays within its bound.
fn check_counts(documents: &Documents, edits: &[DocumentEdit<'_>], max: usize) -> Result<(), Refusal> {
    let last: BTreeMap<_, _> = edits.iter().map(|edit| ((edit.kind, edit.key), edit.value.is_some())).collect();
    let kinds: BTreeSet<_> = edits.iter().map(|edit| edit.kind).collect();
    for kind in kinds {
        let of_kind = || last.iter().filter(|((of, _), _)| *of == kind);
        let added = of_kind().filter(|((_, key), kept)| **kept && !documents.has(kind, key)).count();
        let removed = of_kind().filter(|((_, key), kept)| !**kept && documents.has(kind, key)).count();
        if added > removed && documents.count(kind) + added - removed > max {
            return Err(Refusal::TooManyDocuments { kind: kind.into(), max });
        }
    }
    Ok(())
}
