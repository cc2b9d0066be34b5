//! `Invoke`: from a request to the activation's end.
//!
//! Invariant: the activation has its cleanup slot before it has an id, so that a caller that goes away at any point costs
//! nothing but its own result.

mod asked;

use latent_core::{ActivationOutcome, Payload, PlatformError, ResolvedRevision};
use latent_node::access::Role;
use latent_node::{ActivationReceipt, SupervisedActivation};
use tokio::time::{Instant, timeout_at};

use super::{About, Api, CallContext, Invoked, Refused};
use crate::convert::activation as convert;
use crate::proto;
use crate::proto::invoke_response::Outcome;

impl Api {
    /// `Invoke`. Dropping the future hands the activation over to be cleaned up.
    ///
    /// # Errors
    /// As [`Api`] says; retryable `unavailable`, detail `activation.shutting-down`, while the node takes no activation; then
    /// whatever kept the activation from returning, with what is known of it.
    pub async fn invoke(&self, caller: &CallContext, request: proto::InvokeRequest) -> Result<Invoked, Refused> {
        caller.require(Role::Invoke)?;
        self.ports.operations.admits()?;
        let (request, arrival) = self.asked(caller, request)?;
        let activation = self.ports.supervisor.start(&self.ports.manager, request, arrival)?;
        let receipt = self.until_its_end(caller, activation).await?;
        answer(receipt)
    }

    /// Polls the activation to its end. It knows the transport's timeout as its own deadline and ends by it; one that has
    /// not settled by twice its cleanup grace later is handed over.
    async fn until_its_end(
        &self,
        caller: &CallContext,
        mut activation: SupervisedActivation,
    ) -> Result<ActivationReceipt, Refused> {
        let latest = caller.transport_timeout.and_then(|allowed| {
            let settled = allowed.checked_add(self.ports.supervisor.continuation_cap())?;
            caller.arrived.0.checked_add(settled)
        });
        let Some(latest) = latest else { return Ok(activation.await) };
        match timeout_at(Instant::from_std(latest), &mut activation).await {
            Ok(receipt) => Ok(receipt),
            Err(_elapsed) => {
                let about = About { activation_id: Some(activation.activation_id().clone()), ..About::default() };
                activation.transport_deadline_exceeded();
                Err(Refused::from(PlatformError::deadline_exceeded()).about(about))
            }
        }
    }
}

fn answer(receipt: ActivationReceipt) -> Result<Invoked, Refused> {
    let about = About {
        revision: receipt.resolved.as_ref().map(|resolved| resolved.revision),
        consumption: Some(receipt.consumption),
        activation_id: Some(receipt.activation_id),
    };
    let resolved = receipt.resolved;
    match receipt.outcome {
        ActivationOutcome::Succeeded { output } => Ok(returned(about, resolved.as_ref(), output, Outcome::Result)),
        ActivationOutcome::DeclaredError { error } => {
            Ok(returned(about, resolved.as_ref(), error, Outcome::DeclaredError))
        }
        ActivationOutcome::Failed { error, .. } => Err(Refused::from(error).about(about)),
    }
}

fn returned(
    about: About,
    resolved: Option<&ResolvedRevision>,
    payload: Payload,
    outcome: fn(bytes::Bytes) -> Outcome,
) -> Invoked {
    let response = proto::InvokeResponse {
        activation_id: about.activation_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        revision: resolved.map(convert::revision),
        consumption: about.consumption.as_ref().map(convert::consumption),
        media_type: payload.media_type.to_string(),
        outcome: Some(outcome(payload.bytes)),
    };
    Invoked { response, about }
}
