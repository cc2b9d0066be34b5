//! What a caller asks of admission, and the conditions under which it asks. Borrowed, so that a refusal costs
//! nothing.

use std::time::{Duration, SystemTime};

use latent_core::{ActivationId, AdmissionPolicy, BudgetCeilings, CellClass, Principal, TenantId};

use super::classes::QueueClass;
use super::deadline::{ClockSample, TransportTimeout};
use super::pressure::PressureSample;

/// One activation that wants to take part.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionRequest<'a> {
    /// Its id. Live at most once in a tenant.
    pub activation_id: &'a ActivationId,
    /// The tenant of the service that is called.
    pub tenant: &'a TenantId,
    /// Who calls.
    pub principal: &'a Principal,
    /// What the pinned revision allows; `None` when the pinned catalog has no policy for it.
    pub policy: Option<&'a AdmissionPolicy>,
    /// What the caller asks for itself. Absent dimensions ask for as much as the other layers allow.
    pub budget: BudgetCeilings,
    /// The bytes of its payload.
    pub payload_bytes: u64,
    /// How urgent it is among its tenant's activations; higher goes first.
    pub priority: u8,
    /// What kind of waiting it stands.
    pub queue_class: QueueClass,
    /// The caller's absolute deadline.
    pub deadline: Option<SystemTime>,
    /// What the transport allows.
    pub transport: Option<TransportTimeout>,
}

/// What else an admission depends on. Sampled by whoever calls; nothing here is read again.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// Both clocks.
    pub clock: ClockSample,
    /// The latest reading of the node's pressure; `None` when there is none or it was malformed.
    pub pressure: Option<&'a PressureSample>,
    /// How long the work that waits longest in each class of cell has waited, in the order of [`CellClass::ALL`].
    pub observed_delay: [Duration; CellClass::ALL.len()],
}
