//! Where a watcher's events come from.
//!
//! Invariant: this is the one place that knows how a change is noticed.

use std::sync::Arc;
use std::time::Duration;

use latent_activation::LifecycleEvent;
use latent_activation::journal::Lookup;
use latent_core::{ActivationId, TenantId};
use latent_node::LocalActivationManager;

/// How often the record is looked at.
const INTERVAL: Duration = Duration::from_millis(20);

pub(super) struct Source {
    manager: Arc<LocalActivationManager>,
    tenant: TenantId,
    id: ActivationId,
    /// The record has its terminal event.
    over: bool,
}

impl Source {
    /// The events of an activation that there is.
    pub(super) fn new(
        manager: &Arc<LocalActivationManager>,
        tenant: &TenantId,
        id: &ActivationId,
    ) -> Result<Self, Lookup<()>> {
        match manager.events(tenant, id).map(drop) {
            Lookup::Found(()) => {
                Ok(Self { manager: Arc::clone(manager), tenant: tenant.clone(), id: id.clone(), over: false })
            }
            gone => Err(gone),
        }
    }

    pub(super) fn id(&self) -> &ActivationId {
        &self.id
    }

    /// The events after `sequence`.
    pub(super) fn events_after(&mut self, sequence: u64) -> Result<Vec<LifecycleEvent>, Lookup<()>> {
        match self.manager.events(&self.tenant, &self.id) {
            Lookup::Found(mut events) => {
                self.over = events.last().is_some_and(|event| event.terminal.is_some());
                events.retain(|event| event.sequence > sequence);
                Ok(events)
            }
            gone => Err(gone.map(drop)),
        }
    }

    /// Whether the events that were given last include the terminal one.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Some time in which the record may have changed.
    pub(super) async fn changed(&mut self) {
        tokio::time::sleep(INTERVAL).await;
    }
}
