//! The aggregate limiter: one account of linear memory and table elements over everything that an activation
//! instantiates, whatever the number of modules, memories and tables.

use std::sync::Arc;

use latent_core::BudgetLedger;
use wasmtime::ResourceLimiter;

/// Counts what an activation's memories and tables hold and refuses what would exceed its grant.
///
/// Asked before the engine grows anything. Refusing what is above an object's own maximum here, too, keeps the
/// account exact: a growth that is allowed also happens, short of the machine itself running out.
pub struct Limiter {
    ledger: Arc<BudgetLedger>,
    memory_bytes: u64,
    memory_bytes_max: u64,
    table_elements: u64,
    table_elements_max: u64,
    memory_denied: bool,
    table_denied: bool,
    instances_max: usize,
    memories_max: usize,
    tables_max: usize,
}

/// Counts of objects, not of their sizes.
#[derive(Debug, Clone, Copy)]
pub struct ObjectCounts {
    /// Core instances.
    pub instances: u32,
    /// Memories.
    pub memories: u32,
    /// Tables.
    pub tables: u32,
}

impl Limiter {
    /// An empty account against the ledger's memory grant and `memory_bytes_max`, whichever is less.
    #[must_use]
    pub fn new(
        ledger: Arc<BudgetLedger>,
        memory_bytes_max: u64,
        table_elements_max: u32,
        counts: ObjectCounts,
    ) -> Self {
        Self {
            memory_bytes_max: ledger.granted().memory_bytes.min(memory_bytes_max),
            ledger,
            memory_bytes: 0,
            table_elements: 0,
            table_elements_max: u64::from(table_elements_max),
            memory_denied: false,
            table_denied: false,
            instances_max: counts.instances as usize,
            memories_max: counts.memories as usize,
            tables_max: counts.tables as usize,
        }
    }

    /// Whether a growth of linear memory was ever denied.
    #[must_use]
    pub fn memory_denied(&self) -> bool {
        self.memory_denied
    }

    /// Whether a growth of a table was ever denied.
    #[must_use]
    pub fn table_denied(&self) -> bool {
        self.table_denied
    }

    /// The bound on table elements.
    #[must_use]
    pub fn table_elements_max(&self) -> u64 {
        self.table_elements_max
    }
}

/// The total after a growth from `current` to `desired`, if neither the object's maximum nor the bound forbids it.
fn grown(total: u64, current: usize, desired: usize, maximum: Option<usize>, bound: u64) -> Option<u64> {
    if maximum.is_some_and(|maximum| desired > maximum) {
        return None;
    }
    let step = u64::try_from(desired.checked_sub(current)?).ok()?;
    total.checked_add(step).filter(|total| *total <= bound)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let Some(total) = grown(self.memory_bytes, current, desired, maximum, self.memory_bytes_max) else {
            self.memory_denied = true;
            return Ok(false);
        };
        self.memory_bytes = total;
        self.ledger.observe_memory(total);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let Some(total) = grown(self.table_elements, current, desired, maximum, self.table_elements_max) else {
            self.table_denied = true;
            return Ok(false);
        };
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.instances_max
    }

    fn tables(&self) -> usize {
        self.tables_max
    }

    fn memories(&self) -> usize {
        self.memories_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::ResourceBudget;

    fn limiter(granted: u64, cap: u64) -> Limiter {
        let budget = ResourceBudget { memory_bytes: granted, ..ResourceBudget::default() };
        let counts = ObjectCounts { instances: 1, memories: 1, tables: 1 };
        Limiter::new(Arc::new(BudgetLedger::new(budget)), cap, 10, counts)
    }

    #[test]
    fn memories_count_together_and_the_peak_never_exceeds_the_grant() {
        let mut limiter = limiter(100, 1000);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 41, None).unwrap(), "a second memory shares the grant");
        assert!(limiter.memory_denied());
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert_eq!(limiter.ledger.consumption().peak_memory_bytes, 100);
    }

    #[test]
    fn the_cap_holds_even_when_more_is_granted() {
        assert!(!limiter(u64::MAX, 10).memory_growing(0, 11, None).unwrap());
    }

    #[test]
    fn a_growth_above_the_objects_own_maximum_leaves_the_account_as_it_was() {
        let mut limiter = limiter(100, 100);
        assert!(!limiter.memory_growing(0, 50, Some(40)).unwrap());
        assert!(limiter.memory_growing(0, 100, None).unwrap());
    }

    #[test]
    fn tables_count_together() {
        let mut limiter = limiter(100, 100);
        assert!(limiter.table_growing(0, 6, None).unwrap());
        assert!(!limiter.table_growing(0, 5, None).unwrap());
        assert!(limiter.table_denied() && !limiter.memory_denied());
    }
}
