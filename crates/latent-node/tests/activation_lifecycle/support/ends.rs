//! What the observer of a node was told, with what held at that moment.

use std::sync::{Arc, Mutex};

use latent_activation::LocalActivationJournal;
use latent_core::{ActivationId, BudgetConsumption, RouteName, ServiceName, TenantId, TerminalState};
use latent_node::{ActivationEnd, ActivationObserver, Limit};
use latent_scheduler::admission::Admission;
use tokio::time::Instant;

/// One end, as it was told.
#[derive(Debug, Clone)]
pub struct SeenEnd {
    pub tenant: TenantId,
    pub id: ActivationId,
    pub service: ServiceName,
    pub route: RouteName,
    pub resolved: bool,
    pub state: TerminalState,
    pub limit: Option<Limit>,
    pub consumption: BudgetConsumption,
    pub bytes: (u64, u64),
    pub events: usize,
    /// Whether its end could be looked up by then.
    pub published: bool,
    /// Activations that held quota.
    pub live: u64,
}

pub struct Ends {
    admission: Arc<Admission>,
    journal: Arc<LocalActivationJournal>,
    seen: Mutex<Vec<SeenEnd>>,
    panics: Mutex<bool>,
}

impl Ends {
    pub fn new(admission: &Arc<Admission>, journal: &Arc<LocalActivationJournal>) -> Self {
        let (admission, journal) = (Arc::clone(admission), Arc::clone(journal));
        Self { admission, journal, seen: Mutex::default(), panics: Mutex::default() }
    }

    /// From now on it panics after each end that it is told.
    pub fn set_panics(&self) {
        *self.panics.lock().unwrap() = true;
    }

    /// The ends of `id` of tenant `t`, oldest first.
    pub fn of(&self, id: &str) -> Vec<SeenEnd> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|end| end.tenant.as_str() == "t" && end.id.as_str() == id).cloned().collect()
    }

    /// The end of a record was told: the last of its id, and the only one unless the id was given again.
    #[track_caller]
    pub fn assert_told(&self, tenant: &TenantId, id: &ActivationId, terminal: Option<TerminalState>) {
        let seen = self.seen.lock().unwrap();
        let told: Vec<_> = seen.iter().filter(|end| end.tenant == *tenant && end.id == *id).collect();
        assert_eq!(told.last().map(|end| end.state), terminal, "{id}: what the observer was told");
        let again = self.journal.snapshot().evicted_ids > 0;
        assert!(told.len() == 1 || again, "{id}: told {} times", told.len());
    }
}

impl ActivationObserver for Ends {
    fn ended(&self, end: &ActivationEnd<'_>) {
        let id = end.lineage.activation_id();
        let status = self.journal.status(end.tenant, id, Instant::now().into_std()).found();
        self.seen.lock().unwrap().push(SeenEnd {
            tenant: end.tenant.clone(),
            id: id.clone(),
            service: end.service.clone(),
            route: end.route.clone(),
            resolved: end.resolved.is_some(),
            state: end.terminal_state(),
            limit: end.limit,
            consumption: *end.consumption,
            bytes: (end.bytes_in, end.bytes_out),
            events: end.progress.events().len(),
            published: status.is_some_and(|status| status.terminal.is_some()),
            live: self.admission.ledger().snapshot().live(),
        });
        let panics = *self.panics.lock().unwrap();
        assert!(!panics, "an observer that panics");
    }
}
