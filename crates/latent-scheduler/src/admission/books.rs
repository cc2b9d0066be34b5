//! The counters of the ledger, as one pure struct.
//!
//! Invariant: a claim is in all five of its counters or in none; the counters of tenants, of trust, queue and cell
//! classes each sum to the node's. A sum that cannot be computed is refused, never wrapped.

mod accounts;

use std::collections::HashSet;

use foldhash::fast::RandomState;
use latent_core::{ActivationId, CellClass, TenantId};

use super::classes::{QueueClass, TrustClass};
use super::config::Quota;
use super::denial::{Denial, Dimension, Reason, Scope};
use super::feasibility::Feasibility;
use accounts::{Account, Accounts};

/// What one scope has reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Activations without a cell.
    pub queued: u64,
    /// Activations with a cell.
    pub running: u64,
    /// Units of fuel.
    pub fuel: u64,
    /// Bytes of guest memory.
    pub memory_bytes: u64,
}

impl Usage {
    /// Queued and running together.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.queued.saturating_add(self.running)
    }

    /// The usage with one queued claim more, if that is within `quota`.
    fn with(&self, scope: Scope, claim: &Claim, quota: &Quota) -> Result<Self, Denial> {
        let plus = |dimension, used: u64, more: u64, allowed: u64| {
            let sum = used.checked_add(more).filter(|sum| *sum <= allowed);
            sum.ok_or(Denial::over(scope, dimension, Reason::CapacityExhausted, more, allowed))
        };
        plus(Dimension::Live, self.live(), 1, quota.live)?;
        Ok(Self {
            queued: plus(Dimension::Queued, self.queued, 1, quota.queued)?,
            running: self.running,
            fuel: plus(Dimension::Fuel, self.fuel, claim.fuel, quota.fuel)?,
            memory_bytes: plus(Dimension::Memory, self.memory_bytes, claim.memory_bytes, quota.memory_bytes)?,
        })
    }

    fn started(&self) -> Option<Self> {
        Some(Self { queued: self.queued.checked_sub(1)?, running: self.running.checked_add(1)?, ..*self })
    }

    fn without(&self, claim: &Claim, stage: Stage) -> Option<Self> {
        let (queued, running) = match stage {
            Stage::Queued => (1, 0),
            Stage::Running => (0, 1),
        };
        Some(Self {
            queued: self.queued.checked_sub(queued)?,
            running: self.running.checked_sub(running)?,
            fuel: self.fuel.checked_sub(claim.fuel)?,
            memory_bytes: self.memory_bytes.checked_sub(claim.memory_bytes)?,
        })
    }

    fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        parts.into_iter().fold(Self::default(), |sum, part| Self {
            queued: sum.queued.saturating_add(part.queued),
            running: sum.running.saturating_add(part.running),
            fuel: sum.fuel.saturating_add(part.fuel),
            memory_bytes: sum.memory_bytes.saturating_add(part.memory_bytes),
        })
    }
}

/// What an admission reserves, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) tenant: TenantId,
    pub(super) activation_id: ActivationId,
    pub(super) trust: TrustClass,
    pub(super) queue: QueueClass,
    pub(super) class: CellClass,
    pub(super) fuel: u64,
    pub(super) memory_bytes: u64,
    /// Its tenant's place in the books, once it is reserved.
    pub(super) account: Option<Account>,
}

/// The quotas that a claim is weighed against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    pub(super) node: &'a Quota,
    pub(super) tenant: &'a Quota,
    pub(super) trust: &'a Quota,
    pub(super) queue: &'a Quota,
    pub(super) class: &'a Quota,
}

/// Whether a claim has its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Running,
}

/// All counters of a node.
#[derive(Debug, Default)]
pub(super) struct Books {
    node: Usage,
    tenants: Accounts,
    trust: [Usage; TrustClass::ALL.len()],
    queue: [Usage; QueueClass::ALL.len()],
    class: [Usage; CellClass::ALL.len()],
    /// The ids of all live activations, each scoped by its tenant's account.
    live: HashSet<(Account, ActivationId), RandomState>,
    /// A counter would have gone below zero. It was left as it was: too high, so that less is admitted.
    unsound: bool,
}

impl Books {
    /// Looks at every rule without effect, then secures all or nothing.
    pub(super) fn reserve(
        &mut self,
        claim: &mut Claim,
        limits: &Limits<'_>,
        feasible: Feasibility,
    ) -> Result<(), Denial> {
        let (trust, queue, class) = (claim.trust as usize, claim.queue as usize, claim.class as usize);
        let known = self.tenants.find(&claim.tenant);
        let tenant = known.map(|account| self.tenants.usage(account)).unwrap_or_default();
        let node = self.node.with(Scope::Node, claim, limits.node)?;
        let tenant = tenant.with(Scope::Tenant, claim, limits.tenant)?;
        let of_trust = self.trust[trust].with(Scope::Trust, claim, limits.trust)?;
        let of_queue = self.queue[queue].with(Scope::Queue, claim, limits.queue)?;
        let of_class = self.class[class].with(Scope::Cell, claim, limits.class)?;
        if !feasible.allows(self.class[class].live()) {
            return Err(Denial::limit(Scope::Cell, Dimension::Deadline, Reason::QueueDeadlineInfeasible));
        }
        let account = known.unwrap_or_else(|| self.tenants.next());
        if !self.live.insert((account, claim.activation_id.clone())) {
            return Err(Denial::limit(Scope::Tenant, Dimension::ActivationId, Reason::ActivationIdUnavailable));
        }
        self.node = node;
        self.trust[trust] = of_trust;
        self.queue[queue] = of_queue;
        self.class[class] = of_class;
        match known.and_then(|account| self.tenants.usage_mut(account)) {
            Some(usage) => *usage = tenant,
            None => self.tenants.open(&claim.tenant, tenant),
        }
        claim.account = Some(account);
        Ok(())
    }

    /// The claim has its cell from now on.
    pub(super) fn start(&mut self, claim: &Claim) {
        self.change(claim, Usage::started);
    }

    /// Gives back what the claim reserved.
    pub(super) fn refund(&mut self, claim: &Claim, stage: Stage) {
        self.change(claim, |usage| usage.without(claim, stage));
        let Some(account) = claim.account else { return };
        self.unsound |= !self.live.remove(&(account, claim.activation_id.clone()));
        if self.tenants.usage(account).live() == 0 {
            self.tenants.close(&claim.tenant);
        }
    }

    pub(super) fn node(&self) -> Usage {
        self.node
    }

    pub(super) fn class(&self, class: CellClass) -> Usage {
        self.class[class as usize]
    }

    pub(super) fn tenant(&self, tenant: &TenantId) -> Usage {
        self.tenants.find(tenant).map(|account| self.tenants.usage(account)).unwrap_or_default()
    }

    /// Counts everything out. An error names the broken rule.
    pub(super) fn audit(&self) -> Result<Usage, &'static str> {
        match () {
            () if self.unsound => Err("something was given back that had not been reserved"),
            () if Usage::sum(self.tenants.iter()) != self.node => Err("the tenants do not sum to the node"),
            () if Usage::sum(&self.trust) != self.node => Err("the trust classes do not sum to the node"),
            () if Usage::sum(&self.queue) != self.node => Err("the queue classes do not sum to the node"),
            () if Usage::sum(&self.class) != self.node => Err("the cell classes do not sum to the node"),
            () if self.live.len() as u64 != self.node.live() => Err("a live id has no reservation, or the reverse"),
            () if self.tenants.iter().any(|usage| usage.live() == 0) => Err("a tenant without reservations is kept"),
            () => Ok(self.node),
        }
    }

    /// Sets every counter of the claim's scopes, for tests of what happens near the maximum.
    #[cfg(test)]
    pub(super) fn seed(&mut self, claim: &Claim, usage: Usage) {
        self.tenants.open(&claim.tenant, usage);
        self.change(claim, |_| Some(usage));
        self.unsound = false;
    }

    fn change(&mut self, claim: &Claim, change: impl Fn(&Usage) -> Option<Usage>) {
        let tenant = claim.account.and_then(|account| self.tenants.usage_mut(account));
        self.unsound |= tenant.is_none();
        let others = [
            &mut self.node,
            &mut self.trust[claim.trust as usize],
            &mut self.queue[claim.queue as usize],
            &mut self.class[claim.class as usize],
        ];
        for usage in others.into_iter().chain(tenant) {
            match change(usage) {
                Some(changed) => *usage = changed,
                None => self.unsound = true,
            }
        }
    }
}
