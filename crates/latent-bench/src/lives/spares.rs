//! Cells kept out of use until others are lost, so that as many are in use from the beginning of a run to its end.

use std::sync::{Mutex, PoisonError};

use latent_core::{ActivationId, CellClass, ResourceBudget, TenantId};
use latent_scheduler::{CellLease, CellRequest, FixedCellPool};

/// Leases in which nothing ever runs.
pub struct Spares(Mutex<Vec<CellLease>>);

impl Spares {
    /// Leases `count` idle cells of `pool`.
    ///
    /// # Panics
    /// When there are not as many.
    #[must_use]
    pub fn of(pool: &FixedCellPool, count: usize) -> Self {
        let lease = |number| {
            let request = CellRequest {
                activation_id: ActivationId::new(format!("spare-{number}")).expect("a short id"),
                tenant: TenantId::new("spares").expect("a constant id"),
                class: CellClass::Standard,
                budget: ResourceBudget::default(),
                expires_at: None,
            };
            pool.try_acquire(request).ok().flatten().expect("an idle cell")
        };
        Self(Mutex::new((0..count).map(lease).collect()))
    }

    /// Gives one cell back, for one that was lost.
    pub fn replace_one(&self) {
        let lease = self.leases().pop();
        if let Some(lease) = lease {
            lease.return_unaccepted();
        }
    }

    /// How many are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.leases().len()
    }

    fn leases(&self) -> std::sync::MutexGuard<'_, Vec<CellLease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
