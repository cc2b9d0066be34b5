//! What a run is asked for, as one owned value. Whoever builds it has authenticated the principal already.

use std::time::SystemTime;

use latent_core::budget::earlier;
use latent_core::{ActivationId, FunctionTarget, Payload, Principal, ResourceBudget};

/// One activation, as asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationEnvelope {
    /// Names the activation within its principal's tenant.
    pub activation_id: ActivationId,
    /// The authenticated caller; its tenant owns the activation.
    pub principal: Principal,
    /// The function to call.
    pub target: FunctionTarget,
    /// Its parameters.
    pub payload: Payload,
    /// What the activation may use.
    pub budget: ResourceBudget,
    /// The wall time after which the caller has no use for a result. `None`: whenever.
    pub deadline: Option<SystemTime>,
    /// The W3C `traceparent` that came with the call.
    pub trace_parent: Option<Box<str>>,
    /// Metadata as the caller gave it; a guest may read the keys that start with [`GUEST_METADATA_PREFIX`].
    pub metadata: Vec<(Box<str>, Box<str>)>,
}

/// The prefix of the metadata keys that a guest may read.
pub const GUEST_METADATA_PREFIX: &str = "guest.";

impl ActivationEnvelope {
    /// The effective deadline: the earlier of the envelope's own and its budget's
    /// (`activation-containment.md`, "Cleanup ordering", step 2).
    #[must_use]
    pub fn effective_deadline(&self) -> Option<SystemTime> {
        earlier(self.deadline, self.budget.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::principal::PrincipalKind;
    use latent_core::{ServiceName, TenantId};
    use std::time::Duration;

    #[test]
    fn the_effective_deadline_is_the_earlier_of_envelope_and_budget() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let envelope = |deadline, of_budget| ActivationEnvelope {
            activation_id: ActivationId::new("a").unwrap(),
            principal: Principal {
                tenant: TenantId::new("t").unwrap(),
                subject: ServiceName::new("s").unwrap(),
                kind: PrincipalKind::User,
            },
            target: FunctionTarget { contract: "".into(), function: "f".into() },
            payload: Payload::default(),
            budget: ResourceBudget { deadline: of_budget, ..ResourceBudget::default() },
            deadline,
            trace_parent: None,
            metadata: Vec::new(),
        };
        assert_eq!(envelope(Some(at(2)), Some(at(1))).effective_deadline(), Some(at(1)));
        assert_eq!(envelope(Some(at(1)), Some(at(2))).effective_deadline(), Some(at(1)));
        assert_eq!(envelope(None, Some(at(3))).effective_deadline(), Some(at(3)));
        assert_eq!(envelope(Some(at(3)), None).effective_deadline(), Some(at(3)));
        assert_eq!(envelope(None, None).effective_deadline(), None);
    }
}
