//! What an entry in a queue is about, as far as its place depends on it.

use std::time::Instant;

use latent_core::{ActivationId, CellClass, ResourceBudget, TenantId};

use crate::admission::AdmissionPermit;
use crate::cells::CellRequest;

/// Names an entry, and orders entries by arrival: lower came earlier.
pub(super) type Ticket = u64;

/// What an activation waits with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) tenant: TenantId,
    pub(super) activation_id: ActivationId,
    pub(super) priority: u8,
    /// `None` comes after every deadline.
    pub(super) deadline: Option<Instant>,
    pub(super) budget: ResourceBudget,
}

impl Ask {
    pub(super) fn of(permit: &AdmissionPermit) -> Self {
        Self {
            tenant: permit.tenant().clone(),
            activation_id: permit.activation_id().clone(),
            priority: permit.terms().priority,
            deadline: Some(permit.deadline()),
            budget: *permit.granted(),
        }
    }

    /// What the pool is asked for. Without a wall-clock deadline: the scheduler watches the monotonic one.
    pub(super) fn request(&self, class: CellClass) -> CellRequest {
        CellRequest {
            activation_id: self.activation_id.clone(),
            tenant: self.tenant.clone(),
            class,
            budget: self.budget,
            expires_at: None,
        }
    }
}
