//! The first state: recorded, and nothing else. It ends admitted, with its revision pinned, or settled.

use std::sync::Arc;

use latent_activation::ValidRequest;
use latent_catalog::{ActivationCatalog, RouteRequest};
use latent_core::{ExecutionOutcome, PlatformError, PlatformErrorCode, ResolvedRevision, RevisionPolicy};
use latent_scheduler::admission::{AdmissionPermit, AdmissionRequest, ClockSample, Conditions};

use super::ActivationArrival;
use super::admitted::Admitted;
use super::owner::Accepted;
use super::services::Services;
use super::settled::Settled;
use super::stops::stopped;
use crate::contain::{Foreign, call, port_panicked};

/// An accepted request.
pub(super) struct Asked {
    pub(super) accepted: Box<Accepted>,
}

impl Asked {
    /// Pins the catalog, resolves the route and asks admission, all by one view. The catalog is let go of at once: what
    /// the activation goes by is the revision and its policy, which no later deployment changes.
    pub(super) fn admit(self, services: &Services) -> Result<Admitted<'_>, Box<Settled>> {
        let Self { mut accepted } = self;
        let Accepted { request, arrival, owner } = &mut *accepted;
        let clock = match call(|| services.clock_sample(), || port_panicked("clock", "now")) {
            Ok(clock) => clock,
            Err(error) => return Err(Settled::refused(accepted.owner, ExecutionOutcome::Failed(error))),
        };
        if let Some(cause) = owner.latch.checkpoint(clock.monotonic, None) {
            return Err(Settled::refused(accepted.owner, stopped(cause)));
        }
        let (revision, policy) = match resolve(services, request) {
            Ok(resolved) => resolved,
            Err(error) => return Err(Settled::refused(accepted.owner, ExecutionOutcome::Failed(error))),
        };
        let release = revision.release;
        owner.resolved(revision, clock.monotonic);
        let policy = match policy {
            Ok(policy) => policy,
            Err(error) => return Err(Settled::refused(accepted.owner, ExecutionOutcome::Failed(error))),
        };
        let permit = match admit(services, request, policy.as_deref(), *arrival, clock) {
            Ok(permit) => permit,
            Err(error) => return Err(Settled::denied(accepted.owner, error)),
        };
        owner.admitted(*permit.granted(), permit.deadline(), clock.monotonic);
        Ok(Admitted::new(services, (release, clock.monotonic), permit, policy.unwrap_or_default(), accepted))
    }
}

type Policy = Result<Option<Arc<RevisionPolicy>>, PlatformError>;

/// Asks one view for the revision and for what it allows. A revision without a policy is admission's to refuse.
fn resolve(services: &Services, request: &ValidRequest) -> Result<(ResolvedRevision, Policy), PlatformError> {
    let panicked = |operation| move || port_panicked("catalog", operation);
    let view = Foreign::new(call(|| services.parts.catalog.pin(), panicked("pin"))?);
    let catalog: &dyn ActivationCatalog = &**view.get();
    let route = RouteRequest {
        tenant: request.tenant(),
        service: request.service(),
        route: request.route(),
        target: request.target(),
        activation_id: request.lineage().activation_id(),
    };
    let revision = call(|| catalog.resolve(&route), panicked("resolve"))??;
    let policy = match call(|| catalog.policy(&revision), panicked("policy")) {
        Ok(Err(error)) if error.code() == PlatformErrorCode::NotFound => Ok(None),
        Ok(answer) => answer.map(Some),
        Err(panicked) => Err(panicked),
    };
    let policy = if view.let_go() { policy } else { Err(port_panicked("catalog", "drop")) };
    Ok((revision, policy))
}

fn admit(
    services: &Services,
    request: &ValidRequest,
    policy: Option<&RevisionPolicy>,
    arrival: ActivationArrival,
    clock: ClockSample,
) -> Result<AdmissionPermit, PlatformError> {
    let pressure = services.pressure.load();
    let wanted = AdmissionRequest {
        activation_id: request.lineage().activation_id(),
        tenant: request.tenant(),
        principal: request.principal(),
        policy: policy.map(|policy| &policy.admission),
        budget: *request.budget(),
        payload_bytes: u64::try_from(request.payload().bytes.len()).unwrap_or(u64::MAX),
        priority: arrival.priority,
        queue_class: arrival.queue_class,
        deadline: request.deadline(),
        transport: arrival.transport,
    };
    let conditions =
        Conditions { clock, pressure: pressure.as_deref(), observed_delay: services.parts.scheduler.observed_delay() };
    services.parts.admission.admit(&wanted, &conditions)
}
