//! Standard output as log records: one record a line, a bounded line, whatever bytes a guest writes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use latent_executor::LogLevel;
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{OutputStream, StreamResult};

use crate::host::log::LogWriter;

/// Bytes a guest may write in one call.
const WRITE_BYTES_MAX: usize = 64 << 10;

/// The line that a stream is in the middle of. Every handle to the stream shares it.
#[derive(Clone)]
pub struct LineBuffer(Arc<Mutex<Line>>);

struct Line {
    log: Arc<LogWriter>,
    level: LogLevel,
    stream: &'static str,
    bytes: Vec<u8>,
    truncated: bool,
}

impl LineBuffer {
    /// An empty line of `stream`, whose records get `level`.
    pub fn new(log: Arc<LogWriter>, level: LogLevel, stream: &'static str) -> Self {
        Self(Arc::new(Mutex::new(Line { log, level, stream, bytes: Vec::new(), truncated: false })))
    }

    /// Writes out an unfinished line.
    pub fn finish(&self) {
        let mut line = self.lock();
        if !line.bytes.is_empty() || line.truncated {
            line.emit();
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut line = self.lock();
        let mut parts = bytes.split(|byte| *byte == b'\n');
        line.extend(parts.next().unwrap_or_default());
        for part in parts {
            line.emit();
            line.extend(part);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Keeps what fits the bound; the rest of the line is dropped and the record marked.
    fn extend(&mut self, part: &[u8]) {
        let room = self.log.message_bytes_max().saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
        self.truncated |= part.len() > room;
    }

    fn emit(&mut self) {
        let bytes = if self.truncated { without_half_a_character(&self.bytes) } else { &self.bytes };
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        // Bytes that are no text take more room as text than they had.
        let kept = latent_core::error::cut(text, self.log.message_bytes_max());
        self.log.write_line(self.level, self.stream, kept, self.truncated || kept.len() < text.len());
        self.bytes.clear();
        self.truncated = false;
    }
}

/// What is left of a cut line without the character that the cut went through.
fn without_half_a_character(bytes: &[u8]) -> &[u8] {
    let is_continuation = |byte: &u8| byte & 0xc0 == 0x80;
    let begun = bytes.iter().rposition(|byte| !is_continuation(byte)).unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[begun..]) {
        Err(error) if error.error_len().is_none() => &bytes[..begun],
        _ => bytes,
    }
}

/// A standard stream that guests write to.
pub struct LineStream(LineBuffer);

impl LineStream {
    /// A stream into `lines`.
    pub fn new(lines: LineBuffer) -> Self {
        Self(lines)
    }
}

impl IsTerminal for LineStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LineStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only the WASI 0.3 side of the library asks for this one, and it is not offered.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(LineStream(self.0.clone()))
    }
}

#[async_trait]
impl Pollable for LineStream {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for LineStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}
