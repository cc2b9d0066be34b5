//! Records as JSON lines. Pure: a record in, one line out, its fields exactly those that the help lists.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use latent_activation::{LifecycleEvent, Progress};
use latent_core::{ActivationOutcome, BudgetConsumption, MediaType, Payload, Sha256Digest, TerminalState};
use latent_executor::LogRecord;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::node::{Record, Rest};
use super::verdict::outcome_name;
use crate::errors::{ErrorBody, Fields};

/// The line of one activation, closed by a line feed.
pub fn activation_line(record: &Record) -> Vec<u8> {
    let (mut media_type, mut result, mut declared_error, mut error) = (None, None, None, None);
    match &record.outcome {
        ActivationOutcome::Succeeded { output } => {
            media_type = (output.media_type != MediaType::Json).then(|| output.media_type.as_str());
            result = Some(Value::of(output));
        }
        ActivationOutcome::DeclaredError { error } => declared_error = Some(Value::of(error)),
        ActivationOutcome::Failed { error: failure, .. } => error = Some(ErrorBody::of(failure)),
    }
    line(&ActivationLine {
        activation_id: record.activation_id.as_str(),
        outcome: outcome_name(&record.outcome),
        terminal_state: record.outcome.terminal_state().as_str(),
        media_type,
        result,
        declared_error,
        error,
        consumption: Consumption::of(&record.consumption),
        revision: record.resolved.as_ref().map(|resolved| hex(resolved.revision.digest())),
        release: record.resolved.as_ref().map(|resolved| hex(&resolved.release)),
        phases: record.progress.as_ref().map(Phases),
        logs: record.logs.iter().map(LogLine::of).collect(),
    })
}

/// The last line, closed by a line feed.
pub fn rest_line(rest: &Rest) -> Vec<u8> {
    let (pool, runtime) = (&rest.pool, &rest.runtime);
    line(&RestLine {
        pool: Pool {
            capacity: pool.capacity,
            available: pool.available,
            active_leases: pool.active_leases,
            quarantined: pool.quarantined,
            queue_depth: pool.queue_depth,
        },
        runtime: Runtime {
            running_invocations: runtime.running_invocations,
            stores: runtime.stores,
            host_states: runtime.host_states,
            component_instances: runtime.component_instances,
            temporary_buffers: runtime.temporary_buffers,
            cancellation_probes: runtime.cancellation_probes,
            instance_permits: runtime.instance_permits,
            prepared_pins: runtime.prepared_pins,
            ready_pins: runtime.ready_pins,
            ready_bytes: runtime.ready_bytes,
            preparations: runtime.preparations,
            prepared_entries: runtime.prepared_entries,
            prepared_bytes: runtime.prepared_bytes,
            allocator: if rest.engine.pooling { "pooling" } else { "on-demand" },
            pagemap_scan: rest.engine.pagemap_scan,
            reason: rest.engine.reason.as_deref(),
        },
    })
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("numbers, strings and JSON always have a JSON form");
    line.push(b'\n');
    line
}

#[derive(Serialize)]
struct ActivationLine<'a> {
    activation_id: &'a str,
    outcome: &'static str,
    terminal_state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_error: Option<Value<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
    consumption: Consumption,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phases: Option<Phases<'a>>,
    logs: Vec<LogLine<'a>>,
}

/// A payload: JSON as the node wrote it, down to the order of its fields, or bytes as base64.
#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Json(&'a RawValue),
    Bytes(String),
}

impl<'a> Value<'a> {
    fn of(payload: &'a Payload) -> Self {
        match payload.media_type {
            MediaType::Json => Self::Json(
                serde_json::from_slice(&payload.bytes).expect("the node encodes results as well-formed JSON"),
            ),
            MediaType::OctetStream => Self::Bytes(STANDARD.encode(&payload.bytes)),
        }
    }
}

#[derive(Serialize)]
struct Consumption {
    fuel: u64,
    peak_memory_bytes: u64,
    wall_time_micros: u64,
    log_bytes: u64,
    outbound_requests: u64,
}

impl Consumption {
    fn of(used: &BudgetConsumption) -> Self {
        Self {
            fuel: used.fuel,
            peak_memory_bytes: used.peak_memory_bytes,
            wall_time_micros: micros(used.wall_time),
            log_bytes: used.log_bytes,
            outbound_requests: used.outbound_requests,
        }
    }
}

/// The events of an activation, in order.
struct Phases<'a>(&'a Progress);

impl Serialize for Phases<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.events().map(Event::of))
    }
}

/// One event of an activation's course.
#[derive(Serialize)]
struct Event {
    sequence: u64,
    phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal: Option<&'static str>,
    at_micros: u64,
    #[serde(serialize_with = "rfc3339")]
    at: SystemTime,
}

impl Event {
    fn of(event: LifecycleEvent) -> Self {
        Self {
            sequence: event.sequence,
            phase: event.phase.as_str(),
            terminal: event.terminal.map(TerminalState::as_str),
            at_micros: micros(event.since_start),
            at: event.at,
        }
    }
}

/// UTC, to the microsecond. A clock that is set outside of the years 1970 to 9999 shows the nearest of them.
fn rfc3339<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(YEAR_10000_SECS - 1);
    serializer.collect_str(&humantime::format_rfc3339_micros((*at).clamp(SystemTime::UNIX_EPOCH, last)))
}

/// When the year 10000 begins, in seconds after the year 1970 did.
const YEAR_10000_SECS: u64 = 253_402_300_800;

/// As the digest shows itself, without a formatter for each of its bytes: a line has two digests.
fn hex(digest: &Sha256Digest) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    digest.as_bytes().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[derive(Serialize)]
struct LogLine<'a> {
    level: &'static str,
    message: &'a str,
    fields: Fields<'a>,
}

impl<'a> LogLine<'a> {
    fn of(record: &'a LogRecord) -> Self {
        let fields = record.fields.iter().map(|(name, value)| (&**name, &**value));
        Self { level: record.level.as_str(), message: &record.message, fields: Fields::of(fields) }
    }
}

#[derive(Serialize)]
struct RestLine<'a> {
    pool: Pool,
    runtime: Runtime<'a>,
}

#[derive(Serialize)]
struct Pool {
    capacity: usize,
    available: usize,
    active_leases: usize,
    quarantined: usize,
    queue_depth: usize,
}

#[derive(Serialize)]
struct Runtime<'a> {
    running_invocations: u64,
    stores: u64,
    host_states: u64,
    component_instances: u64,
    temporary_buffers: u64,
    cancellation_probes: u64,
    instance_permits: u64,
    prepared_pins: u64,
    ready_pins: u64,
    ready_bytes: u64,
    preparations: u64,
    prepared_entries: u64,
    prepared_bytes: u64,
    allocator: &'static str,
    pagemap_scan: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[cfg(test)]
mod tests;
