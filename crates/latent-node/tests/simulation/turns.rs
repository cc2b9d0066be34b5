//! Whose turn it was: no tenant gets two cells of a class while another waits before it that may have one.

use std::time::Instant;

use crate::backend::now;
use crate::board::{Index, Prepared, Ran};
use crate::node::{CLASSES, Rules};
use crate::world::{Checked, TENANTS, World};

/// The grants of each tenant in each class.
pub struct Turns {
    /// How many cells a tenant may have while another waits.
    cap: [usize; 2],
    granted: u64,
    last: [[u64; TENANTS]; 2],
}

impl Turns {
    pub fn new(rules: &Rules) -> Self {
        let cap = rules.cells.map(|cells| rules.tenant_cells_max.unwrap_or((cells - 1).max(1)));
        Self { cap, granted: 0, last: [[0; TENANTS]; 2] }
    }
}

impl World {
    /// Somebody got a cell, or the promise of one.
    pub fn granted(&mut self, index: Index, at: Instant) -> Checked {
        let acting = self.board.lock().current;
        let activation = &self.activations[index];
        let (tenant, admitted) = (activation.tenant, activation.admitted);
        let class = match admitted.map(|admitted| admitted.class) {
            Some(class) if Some(CLASSES[class]) == self.board.facts(index).granted_class => class,
            other => return Err(format!("activation {index} got a cell of the wrong class: {other:?}")),
        };
        let before = self.turns.last[class][tenant];
        for other in (0..TENANTS).filter(|other| *other != tenant) {
            let waits = |of: &Index| {
                let activation = &self.activations[*of];
                let in_class = activation.admitted.is_some_and(|admitted| admitted.class == class);
                let earlier = activation.waits_since.is_some_and(|since| since < before);
                activation.tenant == other && in_class && earlier && Some(*of) != acting
            };
            let Some(passed_over) = self.open().find(waits) else { continue };
            if self.turns.last[class][other] < before && self.may_have_one_more(other, class) {
                return Err(format!("activation {index} got a cell before {passed_over}, whose turn it was"));
            }
            self.trace.met("turns compared");
        }
        self.check_cap(index, class)?;
        self.turns.granted += 1;
        self.turns.last[class][tenant] = self.turns.granted;
        let activation = &mut self.activations[index];
        activation.waits_since = None;
        if activation.is_open() && self.board.facts(index).ran == Ran::NotEntered {
            activation.promised_at = Some(at);
        }
        Ok(())
    }

    /// No tenant has more cells than it may.
    fn check_cap(&self, index: Index, class: usize) -> Checked {
        let tenant = self.activations[index].tenant;
        let acting = self.board.lock().current;
        let (mut own, mut others) = (0, 0);
        for (at, other) in self.activations.iter().enumerate() {
            if !other.is_open() || at == index || Some(at) == acting {
                continue;
            }
            if other.admitted.is_none_or(|admitted| admitted.class != class) {
                continue;
            }
            let runs = self.board.facts(at).ran == Ran::Running;
            let has_cell = runs || other.promised_at.is_some_and(|at| now() < at + self.node.rules.grace);
            own += usize::from(has_cell && other.tenant == tenant);
            others += usize::from(other.tenant != tenant && (has_cell || other.waits_since.is_some()));
        }
        let binds = others > 0 || self.node.rules.tenant_cells_max.is_some();
        if binds && own >= self.turns.cap[class] {
            return Err(format!("activation {index} got a cell although its tenant has {own}"));
        }
        Ok(())
    }

    /// Whether a tenant is certainly below its cap.
    pub fn may_have_one_more(&self, tenant: usize, class: usize) -> bool {
        self.cells_at_most(tenant, class) < self.turns.cap[class]
    }

    /// How many cells of a class a tenant may be counted with; never too few.
    fn cells_at_most(&self, tenant: usize, class: usize) -> usize {
        let current = self.board.lock().current;
        let mut cells = 0;
        for (index, activation) in self.activations.iter().enumerate().filter(|(_, of)| of.tenant == tenant) {
            let facts = self.board.facts(index);
            let held = facts.grants > 0 && facts.granted_class == Some(CLASSES[class]);
            cells += usize::from(held && (activation.is_open() || current == Some(index)));
        }
        cells
    }

    /// Notes whether somebody who was just polled waits for a cell.
    pub fn note_place(&mut self, index: Index) {
        let facts = self.board.facts(index);
        let waits = facts.prepared == Prepared::Ready && facts.ran == Ran::NotEntered;
        let granted = self.turns.granted;
        let activation = &mut self.activations[index];
        activation.promised_at = None;
        if activation.is_open() && waits {
            activation.waits_since.get_or_insert(granted);
        } else {
            activation.waits_since = None;
        }
    }
}
