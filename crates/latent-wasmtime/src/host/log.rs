//! The way of one log record: bounds, charge, sink, refund on refusal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use latent_executor::{ActivationContext, ExecutionCancellation, LogLevel, LogRecord, LogSink};
use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use crate::host::HostState;
use crate::settings::LogLimits;

/// The name prefix of the node's own fields.
const RESERVED_PREFIX: &str = "latent.";
/// Marks a record that was cut, and the notice that records were dropped.
const TRUNCATED: &str = "latent.truncated";

/// Why a record was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDenied {
    /// The budget does not hold it.
    BudgetExhausted,
    /// The sink refused it, or it is over a bound.
    Refused,
    /// A field's name is reserved.
    ReservedField,
}

/// Writes the records of one activation.
pub struct LogWriter {
    context: Arc<ActivationContext>,
    cancellation: ExecutionCancellation,
    sink: Arc<dyn LogSink>,
    limits: LogLimits,
    notice_given: AtomicBool,
}

impl LogWriter {
    /// A writer that charges the activation's ledger and offers to `sink`.
    #[must_use]
    pub fn new(
        context: Arc<ActivationContext>,
        cancellation: ExecutionCancellation,
        sink: Arc<dyn LogSink>,
        limits: LogLimits,
    ) -> Self {
        Self { context, cancellation, sink, limits, notice_given: AtomicBool::new(false) }
    }

    /// Bytes of a message, above which it is cut.
    pub(crate) fn message_bytes_max(&self) -> usize {
        self.limits.message_bytes_max as usize
    }

    /// Writes a record of the guest.
    ///
    /// # Errors
    /// [`LogDenied`]; nothing was written or charged. The first denial for want of budget leaves one notice, which is
    /// the node's own and costs the guest nothing.
    pub fn write(&self, level: LogLevel, message: &str, fields: Vec<(Box<str>, Box<str>)>) -> Result<(), LogDenied> {
        if fields.iter().any(|(name, _)| name.starts_with(RESERVED_PREFIX)) {
            return Err(LogDenied::ReservedField);
        }
        if !self.within_bounds(&fields) {
            return Err(LogDenied::Refused);
        }
        let kept = latent_core::error::cut(message, self.message_bytes_max());
        self.accept(level, kept, fields, kept.len() < message.len())
    }

    /// Writes a line of a standard stream, marked when it was cut.
    pub(crate) fn write_line(&self, level: LogLevel, stream: &str, line: &str, truncated: bool) {
        // A guest's own output cannot be refused to it: what is over budget is dropped, and the notice says so.
        let _denied = self.accept(level, line, vec![("stream".into(), stream.into())], truncated);
    }

    fn within_bounds(&self, fields: &[(Box<str>, Box<str>)]) -> bool {
        let fits = |(name, value): &(Box<str>, Box<str>)| {
            name.len() <= self.limits.field_name_bytes_max as usize
                && value.len() <= self.limits.field_value_bytes_max as usize
        };
        fields.len() <= self.limits.fields_max as usize && fields.iter().all(fits)
    }

    fn accept(
        &self,
        level: LogLevel,
        message: &str,
        mut fields: Vec<(Box<str>, Box<str>)>,
        truncated: bool,
    ) -> Result<(), LogDenied> {
        if truncated {
            fields.push((TRUNCATED.into(), "true".into()));
        }
        let record = self.record(level, message, fields);
        let bytes = record.charge_bytes();
        let ledger = self.cancellation.budget_accounting();
        if !ledger.try_charge_log(bytes) {
            self.notice();
            return Err(LogDenied::BudgetExhausted);
        }
        self.sink.offer(record, bytes).map_err(|_refused| {
            ledger.refund_log(bytes);
            LogDenied::Refused
        })
    }

    fn notice(&self) {
        if !self.notice_given.swap(true, Ordering::Relaxed) {
            let fields = vec![(TRUNCATED.into(), "true".into())];
            let notice = self.record(LogLevel::Warn, "log budget exhausted, later records are dropped", fields);
            let bytes = notice.charge_bytes();
            let _refused = self.sink.offer(notice, bytes);
        }
    }

    fn record(&self, level: LogLevel, message: &str, fields: Vec<(Box<str>, Box<str>)>) -> LogRecord {
        LogRecord {
            tenant: self.context.principal.tenant.clone(),
            activation_id: self.context.activation_id.clone(),
            service: self.context.service.clone(),
            level,
            message: message.into(),
            fields,
        }
    }
}

#[derive(ComponentType, Lift, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "guests construct the levels")]
enum Level {
    #[component(name = "trace")]
    Trace,
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::Trace,
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error => Self::Error,
        }
    }
}

#[derive(ComponentType, Lower, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
enum LogError {
    #[component(name = "budget-exhausted")]
    BudgetExhausted,
    #[component(name = "refused")]
    Refused,
    #[component(name = "reserved-field")]
    ReservedField,
}

impl From<LogDenied> for LogError {
    fn from(denied: LogDenied) -> Self {
        match denied {
            LogDenied::BudgetExhausted => Self::BudgetExhausted,
            LogDenied::Refused => Self::Refused,
            LogDenied::ReservedField => Self::ReservedField,
        }
    }
}

/// Defines `latent:log/log`.
pub(super) fn bind(instance: &mut LinkerInstance<'_, HostState>) -> wasmtime::Result<()> {
    instance.func_wrap("log", |mut store, (level, message, fields): (Level, String, Vec<(String, String)>)| {
        let fields = fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let written = store.data_mut().log().write(level.into(), &message, fields);
        Ok((written.map_err(LogError::from),))
    })
}
