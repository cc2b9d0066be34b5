//! Spans of activations, sent to a collector where one is configured.
//!
//! Invariant: a node without a collector makes no span; where a collector does not answer, spans are dropped.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use latent_core::trace::{TraceParent, span_of};
use latent_core::{ActivationId, ActivationOutcome};
use latent_node::{ActivationEnd, ActivationObserver};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, SdkTracerProvider, Span};

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
        let provider = provider.with_resource(Resource::builder_empty().with_service_name("latent").build());
        let provider = provider.with_id_generator(OfActivations::default()).build();
        let tracer = provider.tracer("latent");
        Self { provider, tracer }
    }

    /// The span of activation `id`.
    fn begun(
        &self,
        id: &ActivationId,
        of_caller: Option<SpanContext>,
        began_at: SystemTime,
        attributes: Vec<KeyValue>,
    ) -> Span {
        let context = of_caller.map_or_else(Context::new, |span| Context::new().with_remote_span_context(span));
        let builder = self.tracer.span_builder("activation").with_kind(SpanKind::Server).with_start_time(began_at);
        NEXT.set(Some(span_of(id)));
        let span = self.tracer.build_with_context(builder.with_attributes(attributes), &context);
        // It is not asked for where the span is not kept.
        NEXT.set(None);
        span
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
        let mut span = self.begun(end.lineage.activation_id(), of_caller.flatten(), began_at, attributes(end));
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

/// The caller's span. `None` for a text that names none: the activation then begins a trace.
fn parent(text: &str, state: Option<&str>) -> Option<SpanContext> {
    let caller = TraceParent::read(text)?;
    let flags = if caller.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let state = state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
    let (trace, span) = (TraceId::from_bytes(caller.trace()), SpanId::from_bytes(caller.span()));
    Some(SpanContext::new(trace, span, flags, true, state))
}

thread_local! {
    /// The id of the span that this thread makes next. A tracer takes ids from its generator alone, and asks it nothing but for one more.
    static NEXT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Spans have the ids that follow from their activations, which the requests of guests have carried by then.
#[derive(Debug, Default)]
struct OfActivations(RandomIdGenerator);

impl IdGenerator for OfActivations {
    fn new_trace_id(&self) -> TraceId {
        self.0.new_trace_id()
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.take().map_or_else(|| self.0.new_span_id(), |span| SpanId::from_bytes(span.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_callers_span_is_the_parent_with_its_state() {
        let span = parent(CALLER, Some("vendor=value")).unwrap();
        assert_eq!(span.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span.span_id().to_string(), "00f067aa0ba902b7");
        assert!(span.is_sampled() && span.is_remote() && span.is_valid());
        assert_eq!(span.trace_state().get("vendor"), Some("value"));
        assert!(!parent(&CALLER.replace("-01", "-00"), None).unwrap().is_sampled());
        assert!(parent("nonsense", None).is_none());
    }

    #[test]
    fn the_span_of_an_activation_is_the_one_that_its_guests_requests_name() {
        let spans = Spans::by(SdkTracerProvider::builder());
        let id = ActivationId::new("an-activation").unwrap();
        let named = TraceParent::read(CALLER).unwrap().of_activation(&id);
        let span = spans.begun(&id, parent(CALLER, None), SystemTime::UNIX_EPOCH, Vec::new());
        let context = span.span_context();
        assert_eq!((context.trace_id().to_bytes(), context.span_id().to_bytes()), (named.trace(), named.span()));
        let next = spans.tracer.build(spans.tracer.span_builder("another"));
        assert_ne!(next.span_context().span_id().to_bytes(), named.span(), "an id is given once");
    }
}
