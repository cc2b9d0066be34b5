//! Bytes of records: numbers, texts and lists, written one after another and read back within bounds.
//!
//! Invariant: equal values write equal bytes, and reading never takes more memory than the bytes it reads could fill.

use latent_core::Sha256Digest;

/// The longest list that is read. Nothing that fits into a record has more elements.
const ELEMENTS_MAX: u64 = 1 << 24;

/// Why bytes are no record of the kind that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Bytes in the making.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Seven bits a byte, the lowest first; small numbers take one byte.
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(low_bits(value) | 0x80);
            value >>= 7;
        }
        self.bytes.push(low_bits(value));
    }

    pub(crate) fn count(&mut self, value: usize) {
        self.number(value as u64);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn digest(&mut self, digest: &Sha256Digest) {
        self.bytes.extend_from_slice(digest.as_bytes());
    }

    pub(crate) fn wide(&mut self, value: u128) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// One byte that says whether there is a value, then the value.
    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.count(items.len());
        items.for_each(|item| write(self, item));
    }
}

fn low_bits(value: u64) -> u8 {
    u8::try_from(value & 0x7f).unwrap_or_default()
}

/// What is left of the bytes of a record.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Says that nothing is left.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed("there is more in it than belongs there")) }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("a number is too large"))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_| Malformed("a text is too long"))?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(Malformed("it ends within a text"))?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| Malformed("a text is not UTF-8"))
    }

    pub(crate) fn digest(&mut self) -> Result<Sha256Digest, Malformed> {
        self.fixed().map(Sha256Digest::from_bytes)
    }

    pub(crate) fn wide(&mut self) -> Result<u128, Malformed> {
        self.fixed().map(u128::from_be_bytes)
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(Malformed("a mark of presence is neither 0 nor 1")),
        }
    }

    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.number()?;
        // Every element takes a byte at least.
        if count > ELEMENTS_MAX.min(self.rest.len() as u64) {
            return Err(Malformed("a list is longer than the record"));
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Malformed("it ends too early"))?;
        self.rest = rest;
        Ok(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_and_texts_come_back(number: u64, wide: u128, text in ".{0,300}", some: Option<u64>, list: Vec<u64>) {
            let mut encoder = Encoder::default();
            encoder.number(number);
            encoder.wide(wide);
            encoder.text(&text);
            encoder.option(some, Encoder::number);
            encoder.list(list.iter(), |encoder, item| encoder.number(*item));
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            prop_assert_eq!(decoder.number(), Ok(number));
            prop_assert_eq!(decoder.wide(), Ok(wide));
            prop_assert_eq!(decoder.text(), Ok(&*text));
            prop_assert_eq!(decoder.option(Decoder::number), Ok(some));
            prop_assert_eq!(decoder.list(Decoder::number), Ok(list));
            prop_assert_eq!(decoder.finish(), Ok(()));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let mut decoder = Decoder::new(&bytes);
            let read = decoder.list(|decoder| decoder.text().map(str::to_owned));
            prop_assert!(read.is_err() || read.is_ok_and(|texts| texts.len() <= bytes.len()));
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_refused() {
        assert!(Decoder::new(&[0xff; 11]).number().is_err());
        assert!(Decoder::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]).number().is_err());
    }
}
