//! Who computes next: tenants take turns, and the runs of a tenant among themselves. Pure.

use std::collections::{HashMap, VecDeque};

use latent_core::TenantId;

/// Somebody who waits for a turn, and may leave.
pub trait Waiter {
    /// Whether it left.
    fn is_gone(&self) -> bool;
}

/// Those who wait.
#[derive(Debug)]
pub struct Order<W> {
    /// Tenants that have somebody waiting, the next first.
    tenants: VecDeque<TenantId>,
    waiting: HashMap<TenantId, VecDeque<W>>,
}

impl<W> Default for Order<W> {
    fn default() -> Self {
        Self { tenants: VecDeque::new(), waiting: HashMap::new() }
    }
}

impl<W: Waiter> Order<W> {
    /// Puts `waiter` behind those of its tenant, and a tenant that had nobody behind all others.
    pub fn join(&mut self, tenant: &TenantId, waiter: W) {
        if let Some(waiting) = self.waiting.get_mut(tenant) {
            waiting.push_back(waiter);
        } else {
            self.waiting.insert(tenant.clone(), VecDeque::from([waiter]));
            self.tenants.push_back(tenant.clone());
        }
    }

    /// Takes out whose turn it is. Who left is passed over.
    pub fn next(&mut self) -> Option<W> {
        while let Some(tenant) = self.tenants.pop_front() {
            let Some(waiting) = self.waiting.get_mut(&tenant) else { continue };
            let next = std::iter::from_fn(|| waiting.pop_front()).find(|waiter| !waiter.is_gone());
            if waiting.is_empty() {
                self.waiting.remove(&tenant);
            } else {
                self.tenants.push_back(tenant);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// All who wait, in no particular order.
    pub fn into_all(self) -> impl Iterator<Item = W> {
        self.waiting.into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    struct Named(&'static str, bool);

    impl Waiter for Named {
        fn is_gone(&self) -> bool {
            self.1
        }
    }

    fn joined(waiters: &[(&str, &'static str, bool)]) -> Order<Named> {
        let mut order = Order::default();
        for (tenant, name, is_gone) in waiters {
            order.join(&TenantId::new(*tenant).unwrap(), Named(name, *is_gone));
        }
        order
    }

    fn all(mut order: Order<Named>) -> Vec<&'static str> {
        let names = std::iter::from_fn(|| order.next()).map(|waiter| waiter.0).collect();
        assert!(order.tenants.is_empty() && order.waiting.is_empty(), "{order:?}");
        names
    }

    #[test]
    fn a_tenant_with_many_has_one_turn_for_each_turn_of_one_with_few() {
        let waiters = [("a", "a1", false), ("a", "a2", false), ("a", "a3", false), ("b", "b1", false)];
        assert_eq!(all(joined(&waiters)), ["a1", "b1", "a2", "a3"]);
    }

    #[test]
    fn who_comes_back_is_behind_those_who_have_not_had_a_turn() {
        let mut order = joined(&[("a", "a1", false), ("b", "b1", false)]);
        assert_eq!(order.next().map(|waiter| waiter.0), Some("a1"));
        order.join(&TenantId::new("a").unwrap(), Named("a1 again", false));
        assert_eq!(all(order), ["b1", "a1 again"]);
    }

    #[test]
    fn who_left_is_passed_over_and_costs_its_tenant_no_turn() {
        let waiters = [("a", "a1", true), ("a", "a2", false), ("b", "b1", true), ("c", "c1", false)];
        assert_eq!(all(joined(&waiters)), ["a2", "c1"]);
        assert_eq!(all(joined(&[("a", "a1", true)])), [""; 0]);
    }
}
