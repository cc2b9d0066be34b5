//! The third state: the code is ready, and a cell is waited for. It ends with a cell, or settled without one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use latent_core::{ExecutionOutcome, PlatformError, RevisionPolicy};
use latent_executor::PreparedReadiness;
use latent_scheduler::admission::AdmissionPermit;
use latent_scheduler::fair::{Assignment, Unassigned, UnassignedReason};

use super::granted::Granted;
use super::owner::Accepted;
use super::services::Services;
use super::settled::Settled;
use super::stops::stopped;
use crate::contain::{Foreign, pool_panicked};

/// An activation with ready code. Dropping it gives up its place in the queue and the quota, then the code.
pub(super) struct Ready<'s> {
    pub(super) services: &'s Services,
    /// There until it is handed to the scheduler, which hands it back.
    pub(super) permit: Option<AdmissionPermit>,
    pub(super) readiness: Foreign<PreparedReadiness>,
    pub(super) policy: Arc<RevisionPolicy>,
    pub(super) accepted: Box<Accepted>,
}

/// How the wait for a cell ended.
type Assigned = Result<Assignment, WithoutCell>;

pub(super) enum WithoutCell {
    Unassigned(Unassigned),
    /// The permit is gone with the panic, and its quota refunded.
    Panicked(PlatformError),
}

impl<'s> Ready<'s> {
    /// Waits for a cell. The scheduler observes cancel, deadline and transport by itself.
    pub(super) async fn assign(&mut self) -> Assigned {
        let permit = self.permit.take().expect("a cell is waited for once");
        let assigning = self.services.parts.scheduler.assign(permit, &self.accepted.owner.latch);
        match AssertUnwindSafe(assigning).catch_unwind().await {
            Ok(answer) => answer.map_err(WithoutCell::Unassigned),
            Err(_payload) => Err(WithoutCell::Panicked(pool_panicked("try_acquire"))),
        }
    }

    /// Goes on with a cell, or settles without one.
    pub(super) fn granted(self, assigned: Assigned) -> Result<Granted<'s>, Box<Settled>> {
        let Self { services, readiness, policy, accepted, permit: _handed_over } = self;
        let without = match assigned {
            Ok(assignment) => return Ok(Granted { services, assignment, readiness, policy, accepted }),
            Err(without) => without,
        };
        let (owner, let_go) = (accepted.owner, readiness.let_go());
        let settled = match without {
            WithoutCell::Panicked(error) => Settled::refused(owner, ExecutionOutcome::Failed(error)),
            WithoutCell::Unassigned(Unassigned { reason, quota }) => match reason {
                UnassignedReason::Stopped(cause) => Settled::refused(owner, stopped(cause)),
                UnassignedReason::Refused(error) => Settled::denied(owner, error),
            }
            .holding(quota),
        };
        Err(settled.unless_let_go(let_go))
    }
}
