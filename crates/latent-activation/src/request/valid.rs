//! A request that has been checked, and the identity that it has from then on.
//!
//! Invariant: only validation makes these; every text is within its bound and has no spare allocation.

use std::sync::Arc;
use std::time::SystemTime;

use latent_core::{
    ActivationId, BudgetCeilings, FunctionTarget, Payload, Principal, ResourceBudget, RouteName, ServiceName, TenantId,
};

use crate::envelope::{ActivationEnvelope, GUEST_METADATA_PREFIX};

/// What an activation is called, where it says that it comes from, and what its caller tells it apart by. Correlation
/// only: nothing of it is looked up, and nothing gives any right. Cloning shares every text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    pub(super) activation_id: ActivationId,
    pub(super) root: ActivationId,
    pub(super) parent: Option<ActivationId>,
    pub(super) correlation: Option<Arc<Correlation>>,
}

impl Lineage {
    /// An activation that comes from no other: it is its own root.
    #[must_use]
    pub fn root(activation_id: ActivationId) -> Self {
        Self { root: activation_id.clone(), activation_id, parent: None, correlation: None }
    }

    /// The effective id. Also the routing key; the idempotency key never is.
    #[must_use]
    pub fn activation_id(&self) -> &ActivationId {
        &self.activation_id
    }

    /// The root as it was given; the activation's own id where none was.
    #[must_use]
    pub fn root_activation_id(&self) -> &ActivationId {
        &self.root
    }

    /// The parent as it was given.
    #[must_use]
    pub fn parent_activation_id(&self) -> Option<&ActivationId> {
        self.parent.as_ref()
    }

    /// What came with the call besides ids; `None` when nothing did.
    #[must_use]
    pub fn correlation(&self) -> Option<&Correlation> {
        self.correlation.as_deref()
    }
}

/// What accompanies a call and decides nothing. Kept with the record, at most [`CORRELATION_BYTES_MAX`](super::CORRELATION_BYTES_MAX) of text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Correlation {
    /// `traceparent`, as it came.
    pub trace_parent: Option<Box<str>>,
    /// `tracestate`, as it came.
    pub trace_state: Option<Box<str>>,
    /// What the caller calls this piece of work.
    pub idempotency_key: Option<Box<str>>,
    /// How many times the caller has tried before.
    pub retry_count: u32,
}

impl Correlation {
    /// Bytes of all texts.
    pub(crate) fn text_bytes(&self) -> usize {
        let texts = [&self.trace_parent, &self.trace_state, &self.idempotency_key];
        texts.into_iter().flatten().map(|text| text.len()).sum()
    }
}

/// The caller's metadata, in its order.
pub(super) type Metadata = Vec<(Box<str>, Box<str>)>;

/// A request within all bounds, of a principal that may ask for its own tenant. Only validation makes one:
/// ```compile_fail,E0451
/// use latent_activation::request::ValidRequest;
/// fn forged(valid: ValidRequest) -> ValidRequest {
///     ValidRequest { principal: valid.principal().clone(), ..valid }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidRequest {
    pub(super) lineage: Lineage,
    pub(super) principal: Principal,
    pub(super) service: ServiceName,
    pub(super) route: RouteName,
    pub(super) target: FunctionTarget,
    pub(super) payload: Payload,
    pub(super) budget: BudgetCeilings,
    pub(super) deadline: Option<SystemTime>,
    pub(super) metadata: Metadata,
}

impl ValidRequest {
    /// The activation's identity.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// The authenticated caller.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Whose activation it is: the principal's tenant, which is the service's too.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.principal.tenant
    }

    /// The called service.
    #[must_use]
    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    /// The called route.
    #[must_use]
    pub fn route(&self) -> &RouteName {
        &self.route
    }

    /// The called function.
    #[must_use]
    pub fn target(&self) -> &FunctionTarget {
        &self.target
    }

    /// The parameters.
    #[must_use]
    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// What the caller wants the activation to have at most.
    #[must_use]
    pub fn budget(&self) -> &BudgetCeilings {
        &self.budget
    }

    /// The caller's own absolute deadline. It may have passed.
    #[must_use]
    pub fn deadline(&self) -> Option<SystemTime> {
        self.deadline
    }

    /// Metadata in the caller's order, none of it reserved.
    #[must_use]
    pub fn metadata(&self) -> &[(Box<str>, Box<str>)] {
        &self.metadata
    }

    /// The metadata that the guest may read.
    pub fn guest_metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.metadata.iter().map(|(key, value)| (&**key, &**value));
        all.filter(|(key, _)| key.starts_with(GUEST_METADATA_PREFIX))
    }

    /// The envelope of the run that admission granted `budget`. Metadata that no guest may read is left behind.
    #[inline]
    #[must_use]
    pub fn into_envelope(self, budget: ResourceBudget) -> ActivationEnvelope {
        let mut metadata = self.metadata;
        metadata.retain(|(key, _)| key.starts_with(GUEST_METADATA_PREFIX));
        ActivationEnvelope {
            trace_parent: self.lineage.correlation().and_then(|with| with.trace_parent.clone()),
            activation_id: self.lineage.activation_id,
            principal: self.principal,
            target: self.target,
            payload: self.payload,
            budget,
            deadline: self.deadline,
            metadata,
        }
    }
}
