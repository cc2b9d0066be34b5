//! Records as JSON lines. Pure: a record in, one line out, its fields exactly those that the help lists.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use latent_core::{ActivationOutcome, BudgetConsumption, MediaType, Payload};
use latent_executor::LogRecord;
use serde::Serialize;
use serde_json::value::RawValue;

use super::node::{Record, Rest};
use super::verdict::outcome_name;
use crate::errors::{ErrorBody, Fields};

/// The line of one activation, closed by a line feed.
pub fn activation_line(record: &Record) -> Vec<u8> {
    let (mut media_type, mut result, mut declared_error, mut error) = (None, None, None, None);
    match &record.report.outcome {
        ActivationOutcome::Succeeded { output } => {
            media_type = (output.media_type != MediaType::Json).then(|| output.media_type.as_str());
            result = Some(Value::of(output));
        }
        ActivationOutcome::DeclaredError { error } => declared_error = Some(Value::of(error)),
        ActivationOutcome::Failed { error: failure, .. } => error = Some(ErrorBody::of(failure)),
    }
    line(&ActivationLine {
        activation_id: record.report.activation_id.as_str(),
        outcome: outcome_name(&record.report.outcome),
        terminal_state: record.report.outcome.terminal_state().as_str(),
        media_type,
        result,
        declared_error,
        error,
        consumption: Consumption::of(&record.report.consumption),
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
}

impl Consumption {
    fn of(used: &BudgetConsumption) -> Self {
        Self {
            fuel: used.fuel,
            peak_memory_bytes: used.peak_memory_bytes,
            wall_time_micros: u64::try_from(used.wall_time.as_micros()).unwrap_or(u64::MAX),
            log_bytes: used.log_bytes,
        }
    }
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
