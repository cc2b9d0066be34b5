//! Finding a name among those of a type, for whatever number of names and lookups.
//!
//! Invariant: a lookup costs at most [`SCANNED_MAX`] comparisons or one hash, so that no type makes values costly.

use std::collections::HashMap;

use latent_core::contract::ValueType;

/// How many names are scanned; types with more are indexed when the first lookup comes.
const SCANNED_MAX: usize = 16;

/// The names of the types met so far in one decoding or encoding, by the address of the type. No type lies within
/// another, so an address names one type; parameters, which have no type of their own, have the address 0.
#[derive(Default)]
pub(super) struct NameIndex<'t> {
    by_type: HashMap<usize, HashMap<&'t str, usize>>,
}

impl<'t> NameIndex<'t> {
    /// Where `wanted` is among `names`, which are those of `owner`, or of the parameters.
    pub(super) fn position(
        &mut self,
        owner: Option<&'t ValueType>,
        names: impl ExactSizeIterator<Item = &'t str>,
        wanted: &str,
    ) -> Option<usize> {
        let mut numbered = names.enumerate();
        if numbered.len() <= SCANNED_MAX {
            return numbered.find(|(_, name)| *name == wanted).map(|(at, _)| at);
        }
        let address = owner.map_or(0, |owner| std::ptr::from_ref(owner).addr());
        let index = self.by_type.entry(address).or_insert_with(|| numbered.map(|(at, name)| (name, at)).collect());
        index.get(wanted).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scanned_and_indexed_names_are_found_alike() {
        for count in [0, 1, SCANNED_MAX, SCANNED_MAX + 1, 1000] {
            let names: Vec<String> = (0..count).map(|at| format!("n{at}")).collect();
            let other: Vec<String> = names.iter().rev().cloned().collect();
            let ty = ValueType::Bool;
            let mut index = NameIndex::default();
            for _ in 0..2 {
                for (at, name) in names.iter().enumerate() {
                    assert_eq!(index.position(Some(&ty), names.iter().map(|name| &**name), name), Some(at));
                    assert_eq!(index.position(None, other.iter().map(|name| &**name), name), Some(count - 1 - at));
                }
                assert_eq!(index.position(Some(&ty), names.iter().map(|name| &**name), "other"), None);
            }
        }
    }
}
