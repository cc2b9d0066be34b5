//! From the message to what the manager is asked.
//!
//! Invariant: tenant and principal come from the credential, and every timeout counts from the arrival of the call.

use latent_activation::ActivationRequest;
use latent_core::budget::earlier;
use latent_core::{BudgetCeilings, MediaType, Payload, PlatformError, ServiceName};
use latent_node::{ActivationArrival, TransportTimeout};

use crate::api::targets::{self, Shortened};
use crate::api::{Api, CallContext, Refused};
use crate::convert::{field, tenants, time};
use crate::proto;

impl Api {
    /// What is asked of the manager, and how it came in.
    pub(super) fn asked(
        &self,
        caller: &CallContext,
        request: proto::InvokeRequest,
    ) -> Result<(ActivationRequest, ActivationArrival), Refused> {
        let service = field::id("service", request.service, ServiceName::new)?;
        let route = targets::route(request.route)?;
        let shortened = Shortened { contract: &request.contract, function: &request.function };
        let target = shortened.target(&self.ports.deployments.view(), caller.tenant(), &service, &route)?;
        let arrival = ActivationArrival {
            transport: transport(caller, request.timeout)?,
            priority: tenants::byte("priority", request.priority)?,
            ..ActivationArrival::default()
        };
        let budget = request.budget.unwrap_or_default();
        let request = ActivationRequest {
            activation_id: field::non_empty(request.activation_id),
            root_activation_id: field::non_empty(request.root_activation_id),
            parent_activation_id: field::non_empty(request.parent_activation_id),
            caller: caller.access.principal.clone().into(),
            tenant: caller.tenant().clone(),
            service,
            route,
            target,
            payload: Payload { media_type: media_type(&request.media_type)?, bytes: request.payload },
            budget: BudgetCeilings {
                fuel: budget.fuel,
                memory_bytes: budget.memory_bytes,
                log_bytes: budget.log_bytes,
                wall_limit: None,
            },
            deadline: request.deadline.map(|at| time::system_time("deadline", at)).transpose()?,
            trace: caller.trace.clone(),
            idempotency_key: field::non_empty(request.idempotency_key),
            retry_count: request.retry_count,
            metadata: sorted(request.metadata),
        };
        Ok((request, arrival))
    }
}

/// The shorter of the transport's timeout and the request's own.
fn transport(
    caller: &CallContext,
    timeout: Option<pbjson_types::Duration>,
) -> Result<Option<TransportTimeout>, PlatformError> {
    let own = timeout.map(|timeout| time::positive("timeout", timeout)).transpose()?;
    let shorter = earlier(own, caller.transport_timeout);
    Ok(shorter.map(|timeout| TransportTimeout { arrival: caller.arrived.0, timeout }))
}

fn media_type(text: &str) -> Result<MediaType, PlatformError> {
    if text.is_empty() {
        return Ok(MediaType::default());
    }
    MediaType::parse(text).ok_or_else(|| {
        field::invalid("media_type", format_args!("`{}` or `{}`", MediaType::Json, MediaType::OctetStream))
    })
}

/// Metadata in an order that does not depend on the map that it came in.
fn sorted(metadata: std::collections::HashMap<String, String>) -> Vec<(String, String)> {
    let mut entries: Vec<_> = metadata.into_iter().collect();
    entries.sort_unstable();
    entries
}
