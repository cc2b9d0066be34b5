//! A live store: what it used is recorded and it is dropped on every way out, and its drop is part of the proof.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use latent_core::BudgetLedger;
use wasmtime::Store;

use crate::gauges::Held;
use crate::host::HostState;

/// The store of one run.
pub struct LiveStore {
    store: Option<Store<HostState>>,
    ledger: Arc<BudgetLedger>,
    started: Instant,
    held: Option<Held>,
}

impl LiveStore {
    /// Takes charge of `store`, which `held` counts.
    pub fn new(store: Store<HostState>, ledger: Arc<BudgetLedger>, held: Held) -> Self {
        #[expect(clippy::disallowed_methods, reason = "guest time starts with the store")]
        let started = Instant::now();
        Self { store: Some(store), ledger, started, held: Some(held) }
    }

    /// The store.
    pub fn get(&mut self) -> &mut Store<HostState> {
        self.store.as_mut().expect("a live store is there until it is closed")
    }

    /// Records what was used up to now.
    pub fn observe(&self) {
        if let Some(store) = &self.store {
            let left = store.get_fuel().unwrap_or(0);
            self.ledger.observe_fuel(self.ledger.granted().fuel.saturating_sub(left));
        }
        self.ledger.observe_wall_time(self.started.elapsed());
    }

    /// Drops the store. Answers whether that went without a panic, which is one half of the cleanup proof.
    #[must_use]
    pub fn close(mut self) -> bool {
        self.end()
    }

    fn end(&mut self) -> bool {
        self.observe();
        let Some(store) = self.store.take() else { return true };
        let clean = catch_unwind(AssertUnwindSafe(|| {
            store.data().flush_lines();
            drop(store);
        }))
        .is_ok();
        self.held = None;
        clean
    }
}

impl Drop for LiveStore {
    fn drop(&mut self) {
        // An abandoned run: its cell is quarantined by its owner whatever the store says.
        let _clean = self.end();
    }
}
