//! Counts a pool out: every id, waiter, promise and cell is in exactly the places where it belongs.

use latent_core::{ActivationId, TenantId};

use super::{Holder, PoolCore, Settled};
use crate::cells::port::CellPoolSnapshot;

impl<W> PoolCore<W> {
    /// Counts everything out, in time proportional to capacity and queue. An error names the broken rule.
    pub(in crate::cells) fn audit(&self) -> Result<CellPoolSnapshot, &'static str> {
        self.slots.audit()?;
        let waiting = self.waiting.len();
        match () {
            () if waiting > 0 && self.slots.available() > 0 => Err("somebody waits while a cell is idle"),
            () if waiting > 0 && self.slots.all_quarantined() => Err("somebody waits for a cell that never comes"),
            () if waiting > self.queue_capacity => Err("the queue is longer than its capacity"),
            () if self.live.len() != waiting + self.slots.active() => Err("a live id is nowhere, or in two places"),
            () if !self.waiters_are_live() => Err("a waiter is not found under its id"),
            () if !self.leases_are_live() => Err("a lease is not found under its id"),
            () if !self.promises_match() => Err("a promise is known to one side only"),
            () => Ok(self.snapshot()),
        }
    }

    fn waiters_are_live(&self) -> bool {
        self.waiting.iter().all(|(ticket, waiter)| {
            self.holder(&waiter.request.tenant, &waiter.request.activation_id) == Some(Holder::Waiter(*ticket))
        })
    }

    fn leases_are_live(&self) -> bool {
        self.slots.leased().all(|(slot, record)| {
            self.holder(&record.identity.tenant, &record.identity.activation_id) == Some(Holder::Cell(slot))
        })
    }

    fn promises_match(&self) -> bool {
        let known = |ticket, slot| matches!(self.settled.get(&ticket), Some(Settled::Promised(s)) if *s == slot);
        let of_cells = || self.slots.leased().filter_map(|(slot, record)| Some((record.promised_to?, slot)));
        let of_waiters = self.settled.values().filter(|settled| matches!(settled, Settled::Promised(_))).count();
        of_cells().all(|(ticket, slot)| known(ticket, slot)) && of_cells().count() == of_waiters
    }

    fn holder(&self, tenant: &TenantId, activation_id: &ActivationId) -> Option<Holder> {
        self.live.get(&(tenant.clone(), activation_id.clone())).copied()
    }
}
