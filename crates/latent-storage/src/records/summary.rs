//! Fingerprints of records, and the one number that stands for all of them.

use latent_core::Sha256Digest;

use crate::codec::{Decoder, Encoder, Malformed};

/// Separates these fingerprints from other digests, and those of the summary from those of records.
const DOMAIN: &[u8] = b"latent record";
const SUMMARY_TABLE: u8 = 0;

/// What the database holds, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    /// How many changes were written, this one included.
    pub(crate) commit: u64,
    /// The generation of the catalog.
    pub(crate) generation: u64,
    /// How many records there are.
    pub(crate) records: u64,
    /// The sum of their fingerprints, which does not depend on their order. It finds accidents, not forgery: whoever can
    /// write here can write all of it anew.
    pub(crate) sum: u128,
}

impl Summary {
    pub(crate) const BYTES_MAX: usize = 3 * 10 + 2 * 16;

    pub(crate) fn add(&mut self, fingerprint: u128) {
        self.records += 1;
        self.sum = self.sum.wrapping_add(fingerprint);
    }

    pub(crate) fn take(&mut self, fingerprint: u128) {
        self.records = self.records.saturating_sub(1);
        self.sum = self.sum.wrapping_sub(fingerprint);
    }

    /// Whether both stand for the same records and generation, however many changes led there.
    pub(crate) fn has_same_records(&self, other: &Self) -> bool {
        Self { commit: other.commit, ..*self } == *other
    }

    /// Its bytes, which end with their own fingerprint.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Encoder::default();
        bytes.number(self.commit);
        bytes.number(self.generation);
        bytes.number(self.records);
        bytes.wide(self.sum);
        let text = bytes.finish();
        let mut bytes = text.clone();
        bytes.extend_from_slice(&fingerprint(SUMMARY_TABLE, &[], &text).to_be_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, and nothing else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let (text, print) = bytes.split_last_chunk().ok_or(Malformed("it ends too early"))?;
        if fingerprint(SUMMARY_TABLE, &[], text) != u128::from_be_bytes(*print) {
            return Err(Malformed("its checksum is another"));
        }
        let mut decoder = Decoder::new(text);
        let summary = Self {
            commit: decoder.number()?,
            generation: decoder.number()?,
            records: decoder.number()?,
            sum: decoder.wide()?,
        };
        decoder.finish()?;
        Ok(summary)
    }
}

/// Stands for one record in its table: the first half of a SHA-256.
pub(crate) fn fingerprint(table: u8, key: &[u8], value: &[u8]) -> u128 {
    let mut text = Vec::with_capacity(DOMAIN.len() + 9 + key.len() + value.len());
    text.extend_from_slice(DOMAIN);
    text.push(table);
    text.extend_from_slice(&(key.len() as u64).to_be_bytes());
    text.extend_from_slice(key);
    text.extend_from_slice(value);
    let digest = Sha256Digest::of(&text);
    let (half, _) = digest.as_bytes().split_first_chunk().expect("a SHA-256 has two halves");
    u128::from_be_bytes(*half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_comes_back_and_no_flipped_bit_does() {
        let summary = Summary { commit: u64::MAX, generation: 7, records: 300, sum: u128::MAX / 3 };
        let bytes = summary.to_bytes();
        assert!(bytes.len() <= Summary::BYTES_MAX);
        assert_eq!(Summary::from_bytes(&bytes), Ok(summary));
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Summary::from_bytes(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn table_key_and_value_do_not_run_into_one_another() {
        let all = [
            fingerprint(1, b"a", b"b"),
            fingerprint(2, b"a", b"b"),
            fingerprint(1, b"ab", b""),
            fingerprint(1, b"", b"ab"),
        ];
        let distinct: std::collections::BTreeSet<_> = all.into();
        assert_eq!(distinct.len(), all.len());
    }
}
