//! Whose turn it is, and who goes first within a turn. Pure.
//!
//! Invariant: every tenant with entries has exactly one turn; a turn moves to the tail when one of its entries is
//! granted and at no other time. A tenant is known while it has entries or cells.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use latent_core::TenantId;

use super::ask::{Ask, Ticket};

/// Higher priority first, then the earlier deadline, none last, then arrival.
type Rank = (Reverse<u8>, bool, Option<Instant>, Ticket);

fn rank(ticket: Ticket, ask: &Ask) -> Rank {
    (Reverse(ask.priority), ask.deadline.is_none(), ask.deadline, ticket)
}

/// The rules of one class that do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnRules {
    /// From this wait on an entry goes before all that waited less, whatever their priority.
    pub(super) starvation_after: Duration,
    /// How many cells the class has.
    pub(super) cells: usize,
    /// How many cells one tenant may have. `None`: all but one while another tenant is known, at least one.
    pub(super) tenant_cells_max: Option<usize>,
}

impl TurnRules {
    /// How many cells a tenant may have while there are `others`. At least one.
    fn cap(&self, others: bool) -> usize {
        match self.tenant_cells_max {
            Some(max) => max,
            None if others => (self.cells - 1).max(1),
            None => self.cells,
        }
    }
}

#[derive(Debug, Default)]
struct TenantTurn {
    /// Its place in the order of turns, while it has entries.
    turn: Option<u64>,
    by_rank: BTreeSet<Rank>,
    /// Since when each entry waits, oldest first.
    by_arrival: BTreeMap<Ticket, Instant>,
    /// Cells that it has, promised ones included.
    cells: usize,
}

impl TenantTurn {
    /// Without entries and cells.
    fn is_idle(&self) -> bool {
        self.by_rank.is_empty() && self.cells == 0
    }
}

/// The turns of all tenants in one class.
#[derive(Debug)]
pub(super) struct Turns {
    rules: TurnRules,
    tenants: HashMap<TenantId, TenantTurn, RandomState>,
    /// The tenants with entries by their turns, the next one first.
    order: BTreeMap<u64, TenantId>,
    next_turn: u64,
    /// Something ended that had not begun. The counters stayed as they were.
    unsound: bool,
}

impl Turns {
    pub(super) fn new(rules: TurnRules) -> Self {
        Self { rules, tenants: HashMap::default(), order: BTreeMap::new(), next_turn: 0, unsound: false }
    }

    /// Whether nobody waits.
    pub(super) fn is_idle(&self) -> bool {
        self.order.is_empty()
    }

    /// Counts one more cell for the tenant, if that is within its cap.
    pub(super) fn start_within_cap(&mut self, tenant: &TenantId) -> bool {
        let (known, rules) = (self.tenants.len(), self.rules);
        match self.tenants.entry(tenant.clone()) {
            Entry::Occupied(mut tenant) => {
                let within = tenant.get().cells < rules.cap(known > 1);
                tenant.get_mut().cells += usize::from(within);
                within
            }
            // The cap is never zero.
            Entry::Vacant(place) => {
                place.insert(TenantTurn { cells: 1, ..TenantTurn::default() });
                true
            }
        }
    }

    /// Puts an entry in its tenant's turn; a newcomer's turn is the last.
    pub(super) fn join(&mut self, ticket: Ticket, ask: &Ask, since: Instant) {
        let tenant = self.tenants.entry(ask.tenant.clone()).or_default();
        tenant.by_rank.insert(rank(ticket, ask));
        tenant.by_arrival.insert(ticket, since);
        if tenant.turn.is_none() {
            tenant.turn = Some(self.next_turn);
            self.order.insert(self.next_turn, ask.tenant.clone());
            self.next_turn += 1;
        }
    }

    /// Takes an entry out, without a grant: the turn keeps its place if the tenant has other entries.
    pub(super) fn leave(&mut self, ticket: Ticket, ask: &Ask) {
        let Some(tenant) = self.tenants.get_mut(&ask.tenant) else { return self.unsound = true };
        self.unsound |= !tenant.by_rank.remove(&rank(ticket, ask));
        self.unsound |= tenant.by_arrival.remove(&ticket).is_none();
        if tenant.by_rank.is_empty()
            && let Some(turn) = tenant.turn.take()
        {
            self.order.remove(&turn);
        }
        self.forget_if_idle(&ask.tenant);
    }

    /// Who gets the next cell. Changes nothing: the entry keeps its place until it is granted. Passes over at most
    /// as many tenants as there are cells, because each of them has some.
    pub(super) fn select(&self, now: Instant) -> Option<Ticket> {
        let others = self.tenants.len() > 1;
        let cap = self.rules.cap(others);
        let of = |tenant| self.tenants.get(tenant).filter(|tenant| tenant.cells < cap);
        let tenant = self.order.values().find_map(of)?;
        let (&oldest, &since) = tenant.by_arrival.first_key_value()?;
        if now.saturating_duration_since(since) >= self.rules.starvation_after {
            return Some(oldest);
        }
        tenant.by_rank.first().map(|(.., ticket)| *ticket)
    }

    /// An entry gets a cell: it leaves, its tenant has one cell more, and the turn moves to the tail.
    pub(super) fn grant(&mut self, ticket: Ticket, ask: &Ask) {
        self.start(&ask.tenant);
        self.leave(ticket, ask);
        let Some(tenant) = self.tenants.get_mut(&ask.tenant) else { return };
        if let Some(turn) = &mut tenant.turn
            && let Some(name) = self.order.remove(turn)
        {
            *turn = self.next_turn;
            self.order.insert(self.next_turn, name);
            self.next_turn += 1;
        }
    }

    /// The tenant has one cell more.
    fn start(&mut self, tenant: &TenantId) {
        self.tenants.entry(tenant.clone()).or_default().cells += 1;
    }

    /// The tenant has one cell less.
    pub(super) fn finish(&mut self, tenant: &TenantId) {
        let Entry::Occupied(mut tenant) = self.tenants.entry(tenant.clone()) else { return self.unsound = true };
        let of = tenant.get_mut();
        match of.cells.checked_sub(1) {
            Some(cells) => of.cells = cells,
            None => return self.unsound = true,
        }
        if of.is_idle() {
            tenant.remove();
        }
    }

    /// Cells of all tenants.
    pub(super) fn cells(&self) -> usize {
        self.tenants.values().map(|tenant| tenant.cells).sum()
    }

    /// The entries of each tenant, to compare with what else is known of them.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&TenantId, Ticket)> {
        self.tenants.iter().flat_map(|(name, tenant)| tenant.by_arrival.keys().map(move |ticket| (name, *ticket)))
    }

    /// Counts everything out. An error names the broken rule.
    pub(super) fn audit(&self) -> Result<(), &'static str> {
        let listed = |(turn, name): (&u64, &TenantId)| {
            self.tenants.get(name).is_some_and(|tenant| tenant.turn == Some(*turn) && !tenant.by_rank.is_empty())
        };
        let waiting = self.tenants.values().filter(|tenant| !tenant.by_rank.is_empty()).count();
        match () {
            () if self.unsound => Err("something ended that had not begun"),
            () if !self.order.iter().all(listed) => Err("a turn leads to no entry"),
            () if waiting != self.order.len() => Err("a tenant with entries has no turn"),
            () if self.tenants.values().any(|tenant| tenant.by_rank.len() != tenant.by_arrival.len()) => {
                Err("an entry is in one order only")
            }
            () if self.tenants.values().any(TenantTurn::is_idle) => Err("a tenant without entries and cells is kept"),
            () => Ok(()),
        }
    }

    fn forget_if_idle(&mut self, tenant: &TenantId) {
        if self.tenants.get(tenant).is_some_and(TenantTurn::is_idle) {
            self.tenants.remove(tenant);
        }
    }
}
