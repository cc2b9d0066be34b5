//! Spans of activations, sent to a collector where one is configured.
//!
//! Invariant: a node without a collector makes no span; where a collector does not answer, spans are dropped.

use std::time::Duration;

use latent_core::ActivationOutcome;
use latent_node::{ActivationEnd, ActivationObserver};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

/// What a collector has for one batch.
const EXPORT_TIME: Duration = Duration::from_secs(3);

/// Makes a span of every activation that ends, as the child of the span that its caller named.
#[derive(Debug)]
pub struct Spans {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Spans {
    /// Spans that are sent to `endpoint` in batches, by a thread of their own. Within a Tokio runtime, which
    /// carries the connection.
    ///
    /// # Errors
    /// One sentence about an endpoint that cannot be used.
    pub fn to(endpoint: &str) -> Result<Self, String> {
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(EXPORT_TIME).build();
        let exporter = exporter
            .map_err(|error| format!("telemetry.otlp_endpoint: spans cannot be sent to {endpoint}: {error}"))?;
        Ok(Self::by(SdkTracerProvider::builder().with_batch_exporter(exporter)))
    }

    fn by(provider: opentelemetry_sdk::trace::TracerProviderBuilder) -> Self {
        let provider = provider.with_resource(Resource::builder_empty().with_service_name("latent").build()).build();
        let tracer = provider.tracer("latent");
        Self { provider, tracer }
    }

    /// Sends what waits to be, within `time`, and says whether that was enough. Blocks.
    pub fn close(&self, time: Duration) -> bool {
        self.provider.shutdown_with_timeout(time).is_ok()
    }
}

impl ActivationObserver for Spans {
    fn ended(&self, end: &ActivationEnd<'_>) {
        let last = end.progress.last();
        let Some(began_at) = last.at.checked_sub(last.since_start) else { return };
        let correlation = end.lineage.correlation();
        let of_caller =
            correlation.and_then(|with| Some(parent(with.trace_parent.as_deref()?, with.trace_state.as_deref())));
        let context =
            of_caller.flatten().map_or_else(Context::new, |span| Context::new().with_remote_span_context(span));
        let builder = self.tracer.span_builder("activation").with_kind(SpanKind::Server).with_start_time(began_at);
        let mut span = self.tracer.build_with_context(builder.with_attributes(attributes(end)), &context);
        for event in end.progress.events().filter(|event| event.terminal.is_none()) {
            span.add_event_with_timestamp(event.phase.as_str(), event.at, Vec::new());
        }
        if let ActivationOutcome::Failed { error, .. } = end.outcome {
            span.set_status(Status::error(error.code().as_str()));
        }
        span.end_with_timestamp(last.at);
    }
}

fn attributes(end: &ActivationEnd<'_>) -> Vec<KeyValue> {
    let text = |name: &'static str, value: &str| KeyValue::new(name, value.to_owned());
    let number = |name: &'static str, value: u64| KeyValue::new(name, i64::try_from(value).unwrap_or(i64::MAX));
    let mut attributes = vec![
        text("latent.tenant", end.tenant.as_str()),
        text("latent.service", end.service.as_str()),
        text("latent.route", end.route.as_str()),
        text("latent.activation", end.lineage.activation_id().as_str()),
        text("latent.state", end.terminal_state().as_str()),
        number("latent.fuel", end.consumption.fuel),
        number("latent.memory_bytes", end.consumption.peak_memory_bytes),
        number("latent.bytes_in", end.bytes_in),
        number("latent.bytes_out", end.bytes_out),
    ];
    attributes.extend(end.limit.map(|limit| text("latent.limit", limit.as_str())));
    attributes.extend(end.resolved.map(|resolved| text("latent.revision", &resolved.revision.to_string())));
    attributes
}

/// The caller's span, of `traceparent` (W3C Trace Context, version 00 and what later versions begin with). `None` for a
/// text that is none: the activation then begins a trace.
fn parent(text: &str, state: Option<&str>) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let is_whole = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    if !is_whole || version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()? & 1);
    let state = state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
    let context = SpanContext::new(TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?, flags, true, state);
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_callers_span_is_read_as_the_standard_has_it() {
        let span = parent(&format!("00-{TRACE}-00f067aa0ba902b7-01"), Some("vendor=value")).unwrap();
        assert_eq!(
            (span.trace_id().to_string(), span.span_id().to_string()),
            (TRACE.into(), "00f067aa0ba902b7".into())
        );
        assert!(span.is_sampled() && span.is_remote());
        assert!(!parent(&format!("00-{TRACE}-00f067aa0ba902b7-00"), None).unwrap().is_sampled());
        assert!(parent(&format!("cc-{TRACE}-00f067aa0ba902b7-01-more"), None).is_some());
    }

    #[test]
    fn what_is_no_span_begins_a_trace() {
        for text in [
            String::new(),
            "00".to_owned(),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-00f067aa0ba902b-01"),
        ] {
            assert!(parent(&text, None).is_none(), "{text}");
        }
    }
}
