//! Counts a class's queue out: every entry, promise and turn is in exactly the places where it belongs.

use std::collections::HashSet;

use latent_core::TenantId;

use super::{FairCore, SchedulerSnapshot, State};
use crate::fair::ask::Ticket;

impl<W, L> FairCore<W, L> {
    /// Counts everything out, in time proportional to the entries. An error names the broken rule.
    pub(in crate::fair) fn audit(&self) -> Result<SchedulerSnapshot, &'static str> {
        self.turns.audit()?;
        let count = |state: fn(&State<L>) -> bool| self.entries.values().filter(|entry| state(&entry.state)).count();
        let ready = count(|state| matches!(state, State::Ready));
        let dormant = count(|state| matches!(state, State::Dormant));
        let promised = count(|state| matches!(state, State::Promised(_)));
        let is_ready = |(tenant, ticket): (&TenantId, Ticket)| {
            let entry = self.entries.get(&ticket);
            entry.is_some_and(|entry| matches!(entry.state, State::Ready) && entry.ask.tenant == *tenant)
        };
        let listed: HashSet<_> = self.promises.iter().map(|(_, ticket)| ticket).collect();
        let is_promised =
            |ticket: &&u64| self.entries.get(ticket).is_some_and(|entry| matches!(entry.state, State::Promised(_)));
        match () {
            () if self.queued != ready + dormant => Err("the count of waiting entries is wrong"),
            // Promises that were taken back wait again, beyond the capacity if need be.
            () if self.queued > self.rules.queue_capacity + self.rules.turns.cells => Err("the queue is too long"),
            () if self.turns.entries().count() != ready => Err("a ready entry has no turn, or the reverse"),
            () if !self.turns.entries().all(is_ready) => Err("a turn leads to an entry that is not ready"),
            () if listed.len() != self.promises.len() || promised != listed.len() => Err("a promise is lost or double"),
            () if !listed.iter().all(is_promised) => Err("a promise leads to an entry that has none"),
            () if self.turns.cells() < promised => Err("a promised cell is nobody's"),
            () => Ok(self.snapshot()),
        }
    }
}
