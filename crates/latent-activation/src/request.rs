//! What a run is asked for, as it arrives: nothing in it has been believed yet.
//!
//! Ids stay as they were given until [`ActivationRequest::validate`] has looked at them, so that one that is present
//! but empty can be told from one that is absent. What passes is a [`ValidRequest`], which nothing else can make.

use std::time::SystemTime;

use latent_core::{BudgetCeilings, Caller, FunctionTarget, Payload, RouteName, ServiceName, TenantId};

pub mod limits;

pub mod refusal;

pub mod valid;

mod validate;

pub use limits::RequestLimits;
pub use refusal::{RequestField, RequestRefusal};
pub use valid::{Correlation, Lineage, ValidRequest};

/// Metadata keys that start so would pass for the node's own word, and are refused, whatever their case.
pub const RESERVED_METADATA_PREFIXES: [&str; 2] = ["latent.auth.", "latent.principal."];

/// Bytes of a request's trace context and idempotency key together that are kept with its record. A request with more is
/// refused, also where each text has more room.
pub const CORRELATION_BYTES_MAX: usize = 4 << 10;

/// One activation, as asked for (`activation-lifecycle.md`, "Start and identity").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationRequest {
    /// What to call the activation. `None`: the node names it.
    pub activation_id: Option<String>,
    /// The activation at the root of the tree that this one says it belongs to.
    pub root_activation_id: Option<String>,
    /// The activation that this one says it was called from. Needs a root.
    pub parent_activation_id: Option<String>,
    /// Who calls, as the trusted embedding knows it.
    pub caller: Caller,
    /// Whose service is called.
    pub tenant: TenantId,
    /// The service.
    pub service: ServiceName,
    /// The service's route.
    pub route: RouteName,
    /// The function to call.
    pub target: FunctionTarget,
    /// Its parameters.
    pub payload: Payload,
    /// What the caller wants the activation to have at most, its wall limit counted from admission. What is absent is
    /// left to the node.
    pub budget: BudgetCeilings,
    /// The wall time after which the caller has no use for a result.
    pub deadline: Option<SystemTime>,
    /// Where the call stands in a distributed trace.
    pub trace: TraceContext,
    /// What the caller calls this piece of work. Kept and shown; nothing is deduplicated by it.
    pub idempotency_key: Option<String>,
    /// How many times the caller has tried before. Kept and shown; nothing is retried because of it.
    pub retry_count: u32,
    /// Metadata in the caller's order. A guest may read the keys that start with `guest.`.
    pub metadata: Vec<(String, String)>,
}

/// The headers of the W3C trace context, as they came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceContext {
    /// `traceparent`.
    pub parent: Option<String>,
    /// `tracestate`.
    pub state: Option<String>,
}

#[cfg(test)]
mod tests;
