//! A buffer of JSON text that never grows beyond its bound.
//!
//! Invariant: the size is checked before every push, and the capacity is never larger than the bound.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How many bytes are turned into base64 at a time; a multiple of three, so that only the last chunk is padded.
const CHUNK_BYTES: usize = 768;

/// How many bytes of text are checked for escapes at a time.
const BLOCK_BYTES: usize = 32;

/// The bound was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// The text so far and its bound.
pub(super) struct Writer {
    out: Vec<u8>,
    bytes_max: usize,
}

impl Writer {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { out: Vec::new(), bytes_max }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// Makes room for exactly what the bound allows, doubling as a vector would.
    fn room(&mut self, more: usize) -> Result<(), Full> {
        let len = self.out.len().checked_add(more).filter(|len| *len <= self.bytes_max).ok_or(Full)?;
        if len > self.out.capacity() {
            let target = len.max(self.out.capacity() * 2).max(64).min(self.bytes_max);
            self.out.reserve_exact(target - self.out.len());
        }
        Ok(())
    }

    pub(super) fn raw(&mut self, text: &[u8]) -> Result<(), Full> {
        self.room(text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    /// Text that needs no quotes and no escapes, such as a number.
    pub(super) fn plain(&mut self, value: impl fmt::Display) -> Result<(), Full> {
        fmt::write(self, format_args!("{value}")).map_err(|fmt::Error| Full)
    }

    /// A string with its quotes, escaped as JSON demands and no further.
    pub(super) fn string(&mut self, text: &str) -> Result<(), Full> {
        self.room(text.len() + 2)?;
        self.raw(b"\"")?;
        let bytes = text.as_bytes();
        let mut from = 0;
        while let Some(plain) = first_to_escape(&bytes[from..]) {
            let at = from + plain;
            self.raw(&bytes[from..at])?;
            self.escape(bytes[at])?;
            from = at + 1;
        }
        self.raw(&bytes[from..])?;
        self.raw(b"\"")
    }

    fn escape(&mut self, byte: u8) -> Result<(), Full> {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        match byte {
            b'"' => self.raw(b"\\\""),
            b'\\' => self.raw(b"\\\\"),
            b'\n' => self.raw(b"\\n"),
            b'\r' => self.raw(b"\\r"),
            b'\t' => self.raw(b"\\t"),
            other => {
                let digit = |nibble: u8| HEX[usize::from(nibble)];
                self.raw(&[b'\\', b'u', b'0', b'0', digit(other >> 4), digit(other & 0xf)])
            }
        }
    }

    /// Bytes as a base64 string with its quotes.
    pub(super) fn base64(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let text = base64::encoded_len(bytes.len(), true).ok_or(Full)?;
        self.room(text.checked_add(2).ok_or(Full)?)?;
        self.raw(b"\"")?;
        let start = self.out.len();
        self.out.resize(start + text, 0);
        STANDARD.encode_slice(bytes, &mut self.out[start..]).expect("the slice has the length of the text");
        self.raw(b"\"")
    }

    /// The same for bytes that come one by one; `count` is how many there are.
    pub(super) fn base64_from<E: From<Full>>(
        &mut self,
        count: usize,
        bytes: impl Iterator<Item = Result<u8, E>>,
    ) -> Result<(), E> {
        let text = base64::encoded_len(count, true).ok_or(Full)?;
        self.room(text.checked_add(2).ok_or(Full)?)?;
        self.raw(b"\"")?;
        let (mut chunk, mut filled) = ([0; CHUNK_BYTES], 0);
        for byte in bytes {
            chunk[filled] = byte?;
            filled += 1;
            if filled == CHUNK_BYTES {
                self.base64_chunk(&chunk)?;
                filled = 0;
            }
        }
        self.base64_chunk(&chunk[..filled])?;
        Ok(self.raw(b"\"")?)
    }

    fn base64_chunk(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let mut text = [0; CHUNK_BYTES / 3 * 4];
        let len = STANDARD.encode_slice(bytes, &mut text).expect("a chunk's text is four thirds of it");
        self.raw(&text[..len])
    }
}

/// Where the first byte is that a JSON string may not hold as it is.
fn first_to_escape(bytes: &[u8]) -> Option<usize> {
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let (near, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES));
    let in_near = near.iter().position(|byte| special(*byte));
    in_near.or_else(|| {
        // Whole blocks without a branch a byte, which the compiler turns into vector code.
        let block = |block: &&[u8]| !block.iter().fold(false, |any, byte| any | special(*byte));
        let plain = rest.chunks_exact(BLOCK_BYTES).take_while(block).count() * BLOCK_BYTES;
        rest[plain..].iter().position(|byte| special(*byte)).map(|at| near.len() + plain + at)
    })
}

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.raw(text.as_bytes()).map_err(|Full| fmt::Error)
    }
}
