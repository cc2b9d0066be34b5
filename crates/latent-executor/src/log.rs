//! Guest logs: the record, its canonical encoding, and the node's bounded sink.
//!
//! A record costs what its canonical line has in bytes, escaping and the trusted correlation fields included. It is
//! charged when the sink accepts it; evicting it later gives nothing back (`activation-containment.md`, "Runtime
//! interruption and deadline tolerance").

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use latent_core::{ActivationId, ServiceName, TenantId};

/// How much a record matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the levels are the usual five")]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    /// The level in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One accepted or offered record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Whose activation wrote it.
    pub tenant: TenantId,
    /// Which activation wrote it.
    pub activation_id: ActivationId,
    /// The service that was called, where there is one. Not in the canonical line.
    pub service: Option<ServiceName>,
    /// The level.
    pub level: LogLevel,
    /// The message; from stdout or stderr, one line without its end.
    pub message: Box<str>,
    /// Fields in the order given; keys under `latent.` are the node's own.
    pub fields: Vec<(Box<str>, Box<str>)>,
}

impl LogRecord {
    /// The canonical line: one JSON object, trusted fields first, closed by a line feed.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut line = String::with_capacity(96 + self.message.len());
        line.push_str("{\"latent.tenant\":");
        push_json_string(&mut line, self.tenant.as_str());
        line.push_str(",\"latent.activation\":");
        push_json_string(&mut line, self.activation_id.as_str());
        line.push_str(",\"level\":\"");
        line.push_str(self.level.as_str());
        line.push_str("\",\"message\":");
        push_json_string(&mut line, &self.message);
        for (name, value) in &self.fields {
            line.push(',');
            push_json_string(&mut line, name);
            line.push(':');
            push_json_string(&mut line, value);
        }
        line.push_str("}\n");
        line
    }

    /// What the record costs: the bytes of its canonical line.
    #[must_use]
    pub fn charge_bytes(&self) -> u64 {
        self.canonical().len() as u64
    }
}

fn push_json_string(line: &mut String, text: &str) {
    let quoted = serde_json::to_string(text).expect("a string always has a JSON form");
    line.push_str(&quoted);
}

/// The sink took nothing: it is full for good, or the record is larger than all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRefused;

/// Where accepted records go. Offers come from running guests: an implementation neither blocks nor waits.
pub trait LogSink: Send + Sync {
    /// Takes `record`, whose canonical line has `bytes` bytes, or refuses it.
    ///
    /// # Errors
    /// [`LogRefused`]; the caller then refunds the charge.
    fn offer(&self, record: LogRecord, bytes: u64) -> Result<(), LogRefused>;
}

/// The node's sink: at most `capacity_bytes` of canonical lines in memory, the oldest evicted first.
#[derive(Debug)]
pub struct BoundedLogSink {
    capacity_bytes: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    records: VecDeque<(LogRecord, u64)>,
    bytes: u64,
    evicted: u64,
}

impl BoundedLogSink {
    /// A sink that holds at most `capacity_bytes`; zero refuses every record.
    #[must_use]
    pub fn new(capacity_bytes: u64) -> Self {
        Self { capacity_bytes, held: Mutex::default() }
    }

    /// Takes out every record of one activation, oldest first.
    #[must_use]
    pub fn take(&self, tenant: &TenantId, activation_id: &ActivationId) -> Vec<LogRecord> {
        let mut held = self.lock();
        let mut taken = Vec::new();
        let mut freed = 0;
        let mut kept = VecDeque::with_capacity(held.records.len());
        for (record, bytes) in held.records.drain(..) {
            if record.activation_id == *activation_id && record.tenant == *tenant {
                freed += bytes;
                taken.push(record);
            } else {
                kept.push_back((record, bytes));
            }
        }
        held.records = kept;
        held.bytes -= freed;
        taken
    }

    /// Bytes held, and records evicted so far.
    #[must_use]
    pub fn usage(&self) -> (u64, u64) {
        let held = self.lock();
        (held.bytes, held.evicted)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogSink for BoundedLogSink {
    fn offer(&self, record: LogRecord, bytes: u64) -> Result<(), LogRefused> {
        if bytes > self.capacity_bytes {
            return Err(LogRefused);
        }
        let mut evicted = Vec::new();
        let mut held = self.lock();
        while held.bytes + bytes > self.capacity_bytes {
            let (oldest, freed) = held.records.pop_front().expect("bytes are held only by records");
            held.bytes -= freed;
            held.evicted += 1;
            evicted.push(oldest);
        }
        held.bytes += bytes;
        held.records.push_back((record, bytes));
        drop(held);
        drop(evicted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: &str, message: &str) -> LogRecord {
        LogRecord {
            tenant: TenantId::new("t").unwrap(),
            activation_id: ActivationId::new(id).unwrap(),
            service: None,
            level: LogLevel::Info,
            message: message.into(),
            fields: vec![("k".into(), "\u{1}".into())],
        }
    }

    #[test]
    fn the_canonical_line_counts_escapes_and_trusted_fields() {
        let line = record("a", "x\n\"").canonical();
        assert_eq!(
            line,
            "{\"latent.tenant\":\"t\",\"latent.activation\":\"a\",\"level\":\"info\",\"message\":\"x\\n\\\"\",\"k\":\"\\u0001\"}\n"
        );
        assert_eq!(record("a", "x\n\"").charge_bytes(), line.len() as u64);
    }

    #[test]
    fn the_oldest_record_leaves_first_and_the_bound_holds() {
        let one = record("a", "1");
        let bytes = one.charge_bytes();
        let sink = BoundedLogSink::new(2 * bytes);
        for message in ["1", "2", "3"] {
            sink.offer(record("a", message), bytes).unwrap();
        }
        assert_eq!(sink.usage(), (2 * bytes, 1));
        let left = sink.take(&one.tenant, &one.activation_id);
        assert_eq!(left.iter().map(|r| &*r.message).collect::<Vec<_>>(), ["2", "3"]);
        assert_eq!(sink.usage(), (0, 1));
    }

    #[test]
    fn a_record_larger_than_the_sink_is_refused() {
        let sink = BoundedLogSink::new(10);
        assert_eq!(sink.offer(record("a", "1"), 11), Err(LogRefused));
        assert_eq!(sink.usage(), (0, 0));
    }

    #[test]
    fn records_of_other_activations_and_tenants_stay() {
        let sink = BoundedLogSink::new(10_000);
        let mut foreign = record("a", "theirs");
        foreign.tenant = TenantId::new("u").unwrap();
        sink.offer(foreign, 5).unwrap();
        sink.offer(record("b", "other"), 5).unwrap();
        sink.offer(record("a", "mine"), 5).unwrap();
        let mine = sink.take(&TenantId::new("t").unwrap(), &ActivationId::new("a").unwrap());
        assert_eq!(mine.len(), 1);
        assert_eq!(sink.usage().0, 10);
    }
}
