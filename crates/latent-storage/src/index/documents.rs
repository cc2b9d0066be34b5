//! Documents by kind and key, in memory.
//!
//! Invariant: a kind without documents is not kept.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Documents of one kind, by key.
type OfKind = BTreeMap<Box<str>, Arc<[u8]>>;

/// All documents.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    kinds: BTreeMap<Box<str>, OfKind>,
}

impl Documents {
    pub(crate) fn set(&mut self, kind: &str, key: &str, value: Option<Arc<[u8]>>) {
        if let Some(value) = value {
            self.kinds.entry(kind.into()).or_default().insert(key.into(), value);
        } else if let Some(documents) = self.kinds.get_mut(kind) {
            documents.remove(key);
            if documents.is_empty() {
                self.kinds.remove(kind);
            }
        }
    }

    pub(crate) fn has(&self, kind: &str, key: &str) -> bool {
        self.kinds.get(kind).is_some_and(|documents| documents.contains_key(key))
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.kinds.get(kind).map_or(0, BTreeMap::len)
    }

    /// The documents of a kind, in the order of their keys.
    pub(crate) fn of(&self, kind: &str) -> impl Iterator<Item = (&str, &[u8])> {
        self.kinds.get(kind).into_iter().flatten().map(|(key, value)| (&**key, &**value))
    }
}
