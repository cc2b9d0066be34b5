//! The fourth state: a cell, in which nothing runs yet. It ends with a guest that runs, or settled with the cell returned.

use std::sync::Arc;

use latent_core::{ExecutionOutcome, RevisionPolicy};
use latent_executor::{
    ActivationContext, ExecutionCancellation, ExecutionRequest, PreparedActivation, PreparedReadiness,
};
use latent_scheduler::fair::Assignment;

use super::owner::{Accepted, Owner};
use super::running::Running;
use super::services::Services;
use super::settled::Settled;
use super::stops::stopped;
use crate::contain::{Foreign, backend_panicked, begin, call as contained, port_panicked};
use crate::names::bounded;
use crate::time::now;

/// An activation with an assignment. Dropping it returns the cell for reuse, then refunds the quota.
pub(super) struct Granted<'s> {
    pub(super) services: &'s Services,
    pub(super) assignment: Assignment,
    pub(super) readiness: Foreign<PreparedReadiness>,
    pub(super) policy: Arc<RevisionPolicy>,
    pub(super) accepted: Box<Accepted>,
}

impl<'s> Granted<'s> {
    /// Turns the readiness into a prepared activation and enters the backend, unless a stop is visible by now.
    pub(super) fn start(self) -> Result<Running<'s>, Box<Settled>> {
        let Self { services, assignment, readiness, policy, mut accepted } = self;
        let owner = &mut accepted.owner;
        owner.materializing(assignment.since());
        let backend = &services.parts.backend;
        let readiness = readiness.into_inner();
        let materialized =
            contained(|| backend.materialize_ready(readiness), || port_panicked("backend", "materialize_ready"));
        let prepared = match materialized.and_then(|answer| answer) {
            Ok(prepared) => Foreign::new(prepared),
            Err(error) => return Err(declined(assignment, accepted.owner, ExecutionOutcome::Failed(error))),
        };
        let at = now();
        if let Some(cause) = owner.latch.checkpoint(at, Some(assignment.permit().deadline())) {
            let let_go = prepared.let_go();
            return Err(declined(assignment, accepted.owner, stopped(cause)).unless_let_go(let_go));
        }
        owner.running(at);
        Ok(enter(services, prepared, assignment, policy, accepted))
    }
}

/// From here on the cell is used again only with the backend's proof.
fn enter(
    services: &Services,
    prepared: Foreign<PreparedActivation>,
    assignment: Assignment,
    policy: Arc<RevisionPolicy>,
    accepted: Box<Accepted>,
) -> Running<'_> {
    let cell = bounded(assignment.lease().cell());
    let Accepted { request, owner, arrival: _ } = *accepted;
    let service = Some(request.service().clone());
    let (terms, deadline) = (assignment.permit().terms(), assignment.permit().deadline());
    let envelope = request.into_envelope(terms.granted);
    let context = ActivationContext {
        activation_id: envelope.activation_id,
        service,
        principal: envelope.principal,
        trace_parent: envelope.trace_parent,
        deadline: Some(terms.deadline_wall),
        metadata: envelope.metadata,
    };
    let request = ExecutionRequest {
        context: Arc::new(context),
        cell,
        target: envelope.target,
        payload: envelope.payload,
        budget: envelope.budget,
        policy,
        exchange: owner.exchange(),
    };
    let cancellation = ExecutionCancellation::new(Arc::clone(&owner.latch), Some(deadline), Arc::clone(owner.ledger()));
    let entered = assignment.enter();
    let backend = &services.parts.backend;
    let prepared = prepared.into_inner();
    let run = begin(|| backend.invoke_prepared_contained(prepared, request, cancellation), backend_panicked);
    Running { services, run: Some(run.map(Foreign::new)), entered, deadline, owner }
}

/// Returns the cell, in which nothing has run.
fn declined(assignment: Assignment, owner: Owner, execution: ExecutionOutcome) -> Box<Settled> {
    let quota = assignment.give_back().into_hold();
    Settled::refused(owner, execution).holding(quota)
}
