//! One line: what is taken along when an activation ends, and how it is written and read.
//!
//! Invariant: an entry shares its texts with the activation, and becomes text on the writer's thread.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use humantime::{format_rfc3339_micros, parse_rfc3339};
use latent_activation::{LifecyclePhase, Lineage};
use latent_core::{
    BudgetConsumption, PlatformErrorCode, ResolvedRevision, RouteName, ServiceName, TenantId, TerminalState,
};
use serde::{Deserialize, Serialize};

use crate::observe::{ActivationEnd, Limit};

/// The longest line that is read. Written ones are shorter by what their texts are bounded to.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;

/// An end on its way to the file.
pub(crate) struct Entry {
    tenant: TenantId,
    lineage: Lineage,
    service: ServiceName,
    route: RouteName,
    resolved: Option<ResolvedRevision>,
    state: TerminalState,
    code: Option<PlatformErrorCode>,
    limit: Option<Limit>,
    consumption: BudgetConsumption,
    received: SystemTime,
    queued: Option<SystemTime>,
    started: Option<SystemTime>,
    ended: SystemTime,
    bytes: (u64, u64),
    engine: Arc<str>,
}

impl Entry {
    pub(super) fn of(end: &ActivationEnd<'_>, engine: &Arc<str>) -> Self {
        let at = |phase| end.reached(phase).map(|event| event.at);
        Self {
            tenant: end.tenant.clone(),
            lineage: end.lineage.clone(),
            service: end.service.clone(),
            route: end.route.clone(),
            resolved: end.resolved.cloned(),
            state: end.terminal_state(),
            code: end.error().map(latent_core::PlatformError::code),
            limit: end.limit,
            consumption: *end.consumption,
            received: end.progress.received_at().wall,
            queued: at(LifecyclePhase::Queued),
            started: at(LifecyclePhase::Running),
            ended: end.progress.last().at,
            bytes: (end.bytes_in, end.bytes_out),
            engine: Arc::clone(engine),
        }
    }

    /// Adds the line with its end.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let resolved = self.resolved.as_ref();
        let correlation = self.lineage.correlation();
        let line = Written {
            activation: self.lineage.activation_id().as_str(),
            root: self.lineage.root_activation_id().as_str(),
            parent: self.lineage.parent_activation_id().map(latent_core::ActivationId::as_str),
            idempotency_key: correlation.and_then(|with| with.idempotency_key.as_deref()),
            tenant: self.tenant.as_str(),
            service: self.service.as_str(),
            route: self.route.as_str(),
            deployment: resolved.map(|to| to.deployment.as_str()),
            revision: resolved.map(|to| to.revision.to_string()),
            release: resolved.map(|to| to.release.to_string()),
            engine: &self.engine,
            received: time(self.received),
            queued: self.queued.map(time),
            started: self.started.map(time),
            ended: time(self.ended),
            state: self.state.as_str(),
            error: self.code.map(PlatformErrorCode::as_str),
            limit: self.limit.map(Limit::as_str),
            fuel: self.consumption.fuel,
            peak_memory_bytes: self.consumption.peak_memory_bytes,
            wall_micros: u64::try_from(self.consumption.wall_time.as_micros()).unwrap_or(u64::MAX),
            log_bytes: self.consumption.log_bytes,
            outbound_requests: self.consumption.outbound_requests,
            bytes_in: self.bytes.0,
            bytes_out: self.bytes.1,
        };
        add(out, &line);
    }
}

/// Adds the line that says how many activations have none.
pub(super) fn write_dropped(out: &mut Vec<u8>, dropped: u64) {
    add(out, &Dropped { dropped });
}

fn add(out: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *out, line).expect("texts and numbers have a JSON form, and memory takes it");
    out.push(b'\n');
}

/// In the range that the format has years for; a time beyond it is shown as the nearest one.
fn time(at: SystemTime) -> String {
    let last = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(253_402_300_799);
    format_rfc3339_micros(at.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
}

#[derive(Serialize)]
struct Dropped {
    dropped: u64,
}

#[derive(Serialize)]
struct Written<'a> {
    activation: &'a str,
    root: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    tenant: &'a str,
    service: &'a str,
    route: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    engine: &'a str,
    received: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    queued: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    ended: String,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    fuel: u64,
    peak_memory_bytes: u64,
    wall_micros: u64,
    log_bytes: u64,
    outbound_requests: u64,
    bytes_in: u64,
    bytes_out: u64,
}

/// What sums need of a line.
#[derive(Deserialize)]
pub(super) struct Read<'a> {
    #[serde(borrow)]
    pub(super) tenant: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) service: Cow<'a, str>,
    #[serde(borrow)]
    ended: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) state: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) limit: Option<Cow<'a, str>>,
    pub(super) fuel: u64,
    pub(super) peak_memory_bytes: u64,
    pub(super) wall_micros: u64,
    pub(super) log_bytes: u64,
    /// Lines of a version that knew no such requests have none.
    #[serde(default)]
    pub(super) outbound_requests: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}

/// What a line says.
pub(super) enum Said<'a> {
    Ended(Read<'a>, SystemTime),
    Dropped(u64),
}

impl<'a> Said<'a> {
    /// `None` for what is no line of a usage log.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct OfDrops {
            dropped: u64,
        }
        if let Ok(read) = serde_json::from_slice::<Read<'a>>(line) {
            let ended = parse_rfc3339(&read.ended).ok()?;
            return Some(Self::Ended(read, ended));
        }
        serde_json::from_slice::<OfDrops>(line).ok().map(|of| Self::Dropped(of.dropped))
    }
}
