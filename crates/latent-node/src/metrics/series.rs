//! The counters of ends by tenant, service and how they ended.
//!
//! Invariant: names are taken in until their number is reached and never let go of, so that a counter never goes back.

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use latent_core::{ServiceName, TenantId, TerminalState};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::{NodeMetricsConfig, OTHER};
use crate::observe::{ActivationEnd, Limit};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndedAs {
    tenant: String,
    service: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndedBy {
    tenant: String,
    service: String,
    limit: &'static str,
}

pub(super) struct AllSeries {
    config: NodeMetricsConfig,
    families: Families,
    known: RwLock<Known>,
    /// Of all tenants without a name here.
    other: Series,
}

struct Families {
    ended: Family<EndedAs, Counter>,
    limited: Family<EndedBy, Counter>,
}

#[derive(Default)]
struct Known {
    tenants: HashMap<TenantId, OfTenant>,
    services: usize,
}

struct OfTenant {
    services: HashMap<ServiceName, Series>,
    other: Series,
}

/// The counters of one service, each made when it is first needed.
struct Series {
    tenant: String,
    service: String,
    ended: [OnceLock<Counter>; TerminalState::ALL.len()],
    limited: [OnceLock<Counter>; Limit::ALL.len()],
}

impl AllSeries {
    pub(super) fn register(config: NodeMetricsConfig, registry: &mut Registry) -> Self {
        let families = Families { ended: Family::default(), limited: Family::default() };
        registry.register("activation_ended", "Activations that ended", families.ended.clone());
        registry.register("activation_limited", "Activations that a limit ended", families.limited.clone());
        Self { config, families, known: RwLock::default(), other: Series::new(OTHER, OTHER) }
    }

    pub(super) fn count(&self, end: &ActivationEnd<'_>) {
        if !self.counted(end) {
            self.take_in(end);
            // Whatever found no room is counted with the others, so that this one is.
            let _counted = self.counted(end);
        }
    }

    /// Counts an end whose names are known or will never be.
    fn counted(&self, end: &ActivationEnd<'_>) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let series = match known.tenants.get(end.tenant) {
            Some(tenant) => match tenant.services.get(end.service) {
                Some(series) => series,
                // What is not there would take the names of what is.
                None if end.resolved.is_none() || known.services >= self.config.services_max => &tenant.other,
                None => return false,
            },
            None if known.tenants.len() >= self.config.tenants_max => &self.other,
            None => return false,
        };
        series.count(&self.families, end);
        true
    }

    fn take_in(&self, end: &ActivationEnd<'_>) {
        let mut guard = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *guard;
        if !known.tenants.contains_key(end.tenant) && known.tenants.len() >= self.config.tenants_max {
            return;
        }
        let name = end.tenant.as_str();
        let new = || OfTenant { services: HashMap::new(), other: Series::new(name, OTHER) };
        let tenant = known.tenants.entry(end.tenant.clone()).or_insert_with(new);
        let room = known.services < self.config.services_max && !tenant.services.contains_key(end.service);
        if end.resolved.is_some() && room {
            tenant.services.insert(end.service.clone(), Series::new(name, end.service.as_str()));
            known.services += 1;
        }
    }
}

impl Series {
    fn new(tenant: &str, service: &str) -> Self {
        Self {
            tenant: tenant.to_owned(),
            service: service.to_owned(),
            ended: std::array::from_fn(|_| OnceLock::new()),
            limited: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    fn count(&self, families: &Families, end: &ActivationEnd<'_>) {
        let names = || (self.tenant.clone(), self.service.clone());
        let state = end.terminal_state();
        let ended = self.ended[state as usize].get_or_init(|| {
            let (tenant, service) = names();
            families.ended.get_or_create(&EndedAs { tenant, service, state: state.as_str() }).clone()
        });
        ended.inc();
        let Some(limit) = end.limit else { return };
        let limited = self.limited[limit as usize].get_or_init(|| {
            let (tenant, service) = names();
            families.limited.get_or_create(&EndedBy { tenant, service, limit: limit.as_str() }).clone()
        });
        limited.inc();
    }
}
