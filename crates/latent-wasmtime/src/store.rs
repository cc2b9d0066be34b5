//! A live store: what it used is recorded and it is dropped on every way out, and its drop is part of the proof.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use latent_core::BudgetLedger;
use wasmtime::Store;

use crate::gauges::Held;
use crate::host::HostState;

/// The store of one run.
pub struct LiveStore<'a> {
    store: Option<Store<HostState>>,
    ledger: &'a BudgetLedger,
    started: Instant,
    held: Option<Held<'a>>,
}

impl<'a> LiveStore<'a> {
    /// Takes charge of `store`, which `held` counts. Guest time starts at `started`.
    pub fn new(store: Store<HostState>, ledger: &'a BudgetLedger, started: Instant, held: Held<'a>) -> Self {
        Self { store: Some(store), ledger, started, held: Some(held) }
    }

    /// The store.
    pub fn get(&mut self) -> &mut Store<HostState> {
        self.store.as_mut().expect("a live store is there until it is closed")
    }

    /// Records what was used up to `now`.
    pub fn observe(&self, now: Instant) {
        if let Some(store) = &self.store {
            let left = store.get_fuel().unwrap_or(0);
            self.ledger.observe_fuel(self.ledger.granted().fuel.saturating_sub(left));
        }
        self.ledger.observe_wall_time(now.saturating_duration_since(self.started));
    }

    /// Drops the store. Answers whether that went without a panic, which is one half of the cleanup proof.
    #[must_use]
    pub fn close(mut self) -> bool {
        self.end()
    }

    fn end(&mut self) -> bool {
        let Some(mut store) = self.store.take() else { return true };
        let clean = catch_unwind(AssertUnwindSafe(|| {
            store.data().flush_lines();
            store.data_mut().leave();
            drop(store);
        }))
        .is_ok();
        self.held = None;
        clean
    }
}

impl Drop for LiveStore<'_> {
    fn drop(&mut self) {
        if self.store.is_some() {
            #[expect(clippy::disallowed_methods, reason = "an abandoned run ends now")]
            self.observe(Instant::now());
        }
        // An abandoned run: its cell is quarantined by its owner whatever the store says.
        let _clean = self.end();
    }
}
