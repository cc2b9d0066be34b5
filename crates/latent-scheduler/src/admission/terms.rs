//! What an admission comes to before anything is reserved: the grant, the deadline, the class of cell.
//!
//! Invariant: every dimension of a grant is the least of request, capsule, deployment and node, and none that a
//! guest needs is zero.

use std::time::{Instant, SystemTime};

use latent_core::{BudgetCeilings, CellClass, ResourceBudget, Threading};

use super::books::{Claim, Limits};
use super::classes::{CallerKind, QueueClass, TrustClass};
use super::config::{AdmissionConfig, ClassOffer, NodeCeilings, Quota, TenantPolicy, TrustPolicy};
use super::deadline::{self, Restrictions};
use super::denial::{Denial, Dimension, Reason, Scope};
use super::feasibility::Feasibility;
use super::pressure;
use super::request::{AdmissionRequest, Conditions};

/// What an activation was admitted with. Pinned for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// What it may use. Without a wall-clock deadline: [`Self::deadline`] is the only one.
    pub granted: ResourceBudget,
    /// When it must have ended, by the monotonic clock.
    pub deadline: Instant,
    /// About when that is by the wall clock as it stood at admission. For display only.
    pub deadline_wall: SystemTime,
    /// The class of cell it waits for.
    pub class: CellClass,
    /// How urgent it is among its tenant's activations, at most its ceiling.
    pub priority: u8,
    /// What kind of waiting it stands.
    pub queue_class: QueueClass,
    /// How far its code is trusted.
    pub trust: TrustClass,
}

/// Everything the ledger needs to secure an admission.
#[derive(Debug)]
pub(super) struct Proposal<'a> {
    pub(super) terms: Terms,
    pub(super) claim: Claim,
    pub(super) limits: Limits<'a>,
    pub(super) feasibility: Feasibility,
}

/// Decides all that does not depend on what others have reserved.
pub(super) fn propose<'a>(
    config: &'a AdmissionConfig,
    request: &AdmissionRequest<'_>,
    conditions: &Conditions<'_>,
) -> Result<Proposal<'a>, Denial> {
    let (tenant, trust) = authorize(config, request)?;
    let policy =
        request.policy.ok_or(Denial::limit(Scope::Deployment, Dimension::Revision, Reason::RevisionNotAvailable))?;
    let queue = &config.queue[request.queue_class as usize];
    let (node, of_tenant, of_trust) = (&config.node, &tenant.quota, &trust.quota);
    let outer = [(Scope::Node, node), (Scope::Tenant, of_tenant), (Scope::Trust, of_trust), (Scope::Queue, queue)];
    let layers = Layers::new(config.ceilings, request.budget, policy.capsule, policy.deployment);
    let least = layers.least();
    let restrictions =
        Restrictions { absolute: request.deadline, transport: request.transport, relative: least.wall_limit };
    let deadline = deadline::effective(conditions.clock, restrictions).ok_or(Denial::DeadlinePassed)?;
    check_payload(&outer, request.payload_bytes)?;
    layers.check_feasible()?;
    let offer = select_class(config, tenant, trust, (policy.threading, least.memory_bytes))?;
    check_payload(&[(Scope::Cell, &offer.quota)], request.payload_bytes)?;
    let now = conditions.clock.monotonic;
    pressure::check(config.pressure, conditions.pressure, now)?;

    let priority =
        outer.iter().map(|(_, quota)| quota.priority).fold(request.priority.min(offer.quota.priority), u8::min);
    let NodeCeilings { fuel, memory_bytes, log_bytes, .. } = least;
    let terms = Terms {
        granted: ResourceBudget { fuel, memory_bytes, log_bytes, deadline: None },
        deadline,
        deadline_wall: conditions.clock.wall.checked_add(deadline - now).unwrap_or(conditions.clock.wall),
        class: offer.class,
        priority,
        queue_class: request.queue_class,
        trust: tenant.trust,
    };
    let claim = Claim {
        tenant: request.tenant.clone(),
        activation_id: request.activation_id.clone(),
        trust: tenant.trust,
        queue: request.queue_class,
        class: offer.class,
        fuel,
        memory_bytes,
        account: None,
    };
    let limits = Limits { node, tenant: of_tenant, trust: of_trust, queue, class: &offer.quota };
    let delay = conditions.observed_delay[offer.class as usize];
    let feasibility = Feasibility::new((now, deadline), offer, delay, config.margins);
    Ok(Proposal { terms, claim, limits, feasibility })
}

/// Whether this caller may ask for this at all.
fn authorize<'a>(
    config: &'a AdmissionConfig,
    request: &AdmissionRequest<'_>,
) -> Result<(&'a TenantPolicy, &'a TrustPolicy), Denial> {
    let principal = request.principal;
    if principal.tenant != *request.tenant {
        return Err(Denial::limit(Scope::Tenant, Dimension::Tenant, Reason::TenantMismatch));
    }
    let denied = |scope, dimension| Denial::limit(scope, dimension, Reason::PrincipalNotAuthorized);
    let tenant = config.tenant(request.tenant).ok_or(denied(Scope::Node, Dimension::Tenant))?;
    match () {
        () if !tenant.subjects.allows(&principal.subject) => Err(denied(Scope::Tenant, Dimension::Subject)),
        () if !tenant.callers.allows(&CallerKind::of(&principal.kind)) => Err(denied(Scope::Tenant, Dimension::Caller)),
        () if !tenant.queue_classes.allows(&request.queue_class) => Err(denied(Scope::Tenant, Dimension::QueueClass)),
        () => Ok((tenant, &config.trust[tenant.trust as usize])),
    }
}

fn check_payload(quotas: &[(Scope, &Quota)], bytes: u64) -> Result<(), Denial> {
    match quotas.iter().find(|(_, quota)| bytes > quota.payload_bytes) {
        Some(&(scope, quota)) => {
            Err(Denial::over(scope, Dimension::Payload, Reason::PayloadTooLarge, bytes, quota.payload_bytes))
        }
        None => Ok(()),
    }
}

/// The four layers that each lower a grant.
struct Layers {
    node: NodeCeilings,
    others: [(Scope, BudgetCeilings); 3],
}

impl Layers {
    fn new(node: NodeCeilings, request: BudgetCeilings, capsule: BudgetCeilings, deployment: BudgetCeilings) -> Self {
        let others = [(Scope::Request, request), (Scope::Capsule, capsule), (Scope::Deployment, deployment)];
        Self { node, others }
    }

    fn least(&self) -> NodeCeilings {
        self.others.iter().fold(self.node, |least, (_, layer)| NodeCeilings {
            fuel: layer.fuel.map_or(least.fuel, |fuel| fuel.min(least.fuel)),
            memory_bytes: layer.memory_bytes.map_or(least.memory_bytes, |bytes| bytes.min(least.memory_bytes)),
            log_bytes: layer.log_bytes.map_or(least.log_bytes, |bytes| bytes.min(least.log_bytes)),
            wall_limit: layer.wall_limit.map_or(least.wall_limit, |limit| limit.min(least.wall_limit)),
        })
    }

    /// No guest runs without fuel or memory: refuses, and names the layer that left none.
    fn check_feasible(&self) -> Result<(), Denial> {
        let zero = |node: u64, of: fn(&BudgetCeilings) -> Option<u64>| {
            let layer = self.others.iter().find(|(_, layer)| of(layer) == Some(0)).map(|(scope, _)| *scope);
            layer.or((node == 0).then_some(Scope::Node))
        };
        let denied = |dimension| move |scope| Denial::limit(scope, dimension, Reason::UnsupportedExecutionRequirement);
        let fuel = zero(self.node.fuel, |layer| layer.fuel).map(denied(Dimension::Fuel));
        let memory = zero(self.node.memory_bytes, |layer| layer.memory_bytes).map(denied(Dimension::Memory));
        fuel.or(memory).map_or(Ok(()), Err)
    }
}

/// The smallest class that fits and is allowed.
fn select_class<'a>(
    config: &'a AdmissionConfig,
    tenant: &TenantPolicy,
    trust: &TrustPolicy,
    (threading, memory_bytes): (Threading, u64),
) -> Result<&'a ClassOffer, Denial> {
    let carries = |offer: &&ClassOffer| threading == Threading::Single || offer.threading == Threading::Shared;
    if !config.classes.iter().any(|offer| carries(&offer)) {
        return Err(Denial::limit(Scope::Node, Dimension::Threading, Reason::UnsupportedExecutionRequirement));
    }
    let allowed =
        |offer: &&ClassOffer| tenant.cell_classes.allows(&offer.class) && trust.cell_classes.allows(&offer.class);
    let fits = |offer: &&ClassOffer| memory_bytes <= offer.memory_bytes;
    let fitting = config.classes.iter().filter(carries).filter(allowed).filter(fits);
    let denied = Denial::limit(Scope::Cell, Dimension::Memory, Reason::NoCompatibleCell);
    fitting.min_by_key(|offer| offer.class).ok_or(denied)
}
