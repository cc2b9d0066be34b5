//! What the manager is asked for a request.
//!
//! Invariant: tenant and service come from the route, and every timeout counts from the arrival of the request.

use std::time::{Duration, Instant};

use http::HeaderMap;
use latent_activation::request::TraceContext;
use latent_activation::{ActivationRequest, RequestLimits};
use latent_catalog::HttpService;
use latent_core::{BudgetCeilings, Caller, FunctionTarget, Payload, PlatformError, RouteName};
use latent_node::{ActivationArrival, TransportTimeout};
use latent_wire::api::headers::ACTIVATION_ID;
use latent_wire::api::trace;
use latent_wire::json::text;

/// How long the client waits, such as `500ms`.
const TIMEOUT: &str = "latent-timeout";

/// How a request came in. A `latent-timeout` beyond `longest` counts as that.
///
/// # Errors
/// `invalid-argument`, detail `http.header`.
pub(super) fn arrival(
    headers: &HeaderMap,
    arrival: Instant,
    longest: Duration,
) -> Result<ActivationArrival, PlatformError> {
    let timeout = text::raw_header(headers, TIMEOUT)?;
    let timeout = timeout.map(|timeout| text::time("http.header", TIMEOUT, timeout)).transpose()?;
    let transport = timeout.map(|timeout| TransportTimeout { arrival, timeout: timeout.min(longest) });
    Ok(ActivationArrival { transport, ..ActivationArrival::default() })
}

/// What of a trace can be kept. A client that writes too much of it is served all the same, as the standard has it.
fn usable(mut trace: TraceContext, limits: &RequestLimits) -> TraceContext {
    trace.state = trace.state.filter(|state| state.len() <= limits.trace_state_bytes_max);
    trace
}

/// The activation for a request of `caller`. Its id, by which a revision is chosen, is the client's if it sends one.
///
/// # Errors
/// `invalid-argument`, detail `http.header`.
pub(super) fn request(
    headers: &HeaderMap,
    caller: Caller,
    service: HttpService,
    route: RouteName,
    limits: &RequestLimits,
) -> Result<ActivationRequest, PlatformError> {
    Ok(ActivationRequest {
        activation_id: text::header(headers, ACTIVATION_ID.as_str())?,
        root_activation_id: None,
        parent_activation_id: None,
        caller,
        tenant: service.tenant,
        service: service.service,
        route,
        target: FunctionTarget::http_handler(),
        payload: Payload::default(),
        budget: BudgetCeilings::default(),
        deadline: None,
        trace: usable(trace(headers), limits),
        idempotency_key: None,
        retry_count: 0,
        metadata: Vec::new(),
    })
}
