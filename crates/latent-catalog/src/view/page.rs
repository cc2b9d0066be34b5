//! Lists of deployments, a page at a time, ordered by service and deployment id.
//!
//! Invariant: a page has at least one row if any is left, so that paging ends; and never more rows than its bound, nor
//! a second row beyond its bytes. A page looks at all of the tenant's deployments, which keeps apply and resolve free
//! of the cost of an order.

use std::collections::BTreeMap;
use std::sync::Arc;

use latent_core::{DeploymentId, ImportGrant, ServiceName, TenantId};

use super::{CatalogView, Service};
use crate::deployment::Deployment;

/// What a row weighs besides its texts: two digests in hexadecimal, numbers and names of fields.
const ROW_BYTES: usize = 320;

/// How large a page may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageBounds {
    /// Rows. Default 256; zero counts as one.
    pub rows_max: usize,
    /// Bytes, about as the rows' JSON has them. Default 1 MiB. A first row that is larger is still answered.
    pub bytes_max: usize,
}

impl Default for PageBounds {
    fn default() -> Self {
        Self { rows_max: 256, bytes_max: 1 << 20 }
    }
}

/// The last row of a page: the next page begins after it, whatever was deployed or deleted meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeploymentCursor {
    /// The row's service.
    pub service: ServiceName,
    /// The row's deployment.
    pub deployment: DeploymentId,
}

/// Some deployments of a tenant.
#[derive(Debug, Clone)]
pub struct DeploymentPage {
    /// The rows, ordered by service and id.
    pub deployments: Vec<Arc<Deployment>>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<DeploymentCursor>,
    /// The generation of the catalog that was read.
    pub generation: u64,
}

impl CatalogView {
    /// A tenant's deployments, of one service or of all, after `after`.
    #[must_use]
    pub fn list(
        &self,
        tenant: &TenantId,
        service: Option<&ServiceName>,
        after: Option<&DeploymentCursor>,
        bounds: PageBounds,
    ) -> DeploymentPage {
        let rows_max = bounds.rows_max.max(1);
        let mut rows = self.first_rows(tenant, service, after, rows_max.saturating_add(1));
        let more = rows.len() > rows_max;
        rows.truncate(rows_max);
        let kept = rows_within(&rows, bounds.bytes_max);
        let more = more || kept < rows.len();
        rows.truncate(kept);
        let last = rows.last().filter(|_| more);
        let next = last.map(|row| DeploymentCursor { service: row.service.clone(), deployment: row.id.clone() });
        DeploymentPage { deployments: rows.into_iter().cloned().collect(), next, generation: self.generation }
    }

    /// The first `count` rows in order.
    fn first_rows(
        &self,
        tenant: &TenantId,
        only: Option<&ServiceName>,
        after: Option<&DeploymentCursor>,
        count: usize,
    ) -> Vec<&Arc<Deployment>> {
        let mut first = FirstRows { after, count, rows: BTreeMap::new() };
        let Some(services) = self.tenants.get(tenant) else { return Vec::new() };
        if let Some(name) = only {
            if let Some((name, service)) = services.get_key_value(name) {
                first.offer(name, service);
            }
        } else {
            services.iter().for_each(|(name, service)| first.offer(name, service));
        }
        first.rows.into_values().collect()
    }
}

/// The first rows of those that were offered so far.
struct FirstRows<'a, 'b> {
    after: Option<&'b DeploymentCursor>,
    count: usize,
    rows: BTreeMap<(&'a str, &'a str), &'a Arc<Deployment>>,
}

impl<'a> FirstRows<'a, '_> {
    /// Looks at a service's deployments only when its name lies between the cursor and the last row kept.
    fn offer(&mut self, name: &'a ServiceName, service: &'a Service) {
        let before_cursor = self.after.is_some_and(|after| *name < after.service);
        if before_cursor || self.is_beyond((name.as_str(), "")) {
            return;
        }
        for row in service.by_revision() {
            let key = (name.as_str(), row.id.as_str());
            let is_seen = self.after.is_some_and(|after| key <= (after.service.as_str(), after.deployment.as_str()));
            if is_seen || self.is_beyond(key) {
                continue;
            }
            self.rows.insert(key, row);
            if self.rows.len() > self.count {
                self.rows.pop_last();
            }
        }
    }

    fn is_beyond(&self, key: (&str, &str)) -> bool {
        self.rows.len() >= self.count && self.rows.last_key_value().is_some_and(|(last, _)| key > *last)
    }
}

/// How many of `rows` fit into `bytes_max`; the first one always does.
fn rows_within(rows: &[&Arc<Deployment>], bytes_max: usize) -> usize {
    let mut bytes = 0_usize;
    let fits = |row: &&&Arc<Deployment>| {
        bytes = bytes.saturating_add(row_bytes(row));
        bytes <= bytes_max
    };
    rows.iter().take_while(fits).count().max(usize::from(!rows.is_empty()))
}

fn row_bytes(row: &Deployment) -> usize {
    let execution = &row.policy.execution;
    let variables: usize = execution.environment.iter().map(|(name, value)| name.len() + value.len() + 6).sum();
    let secrets: usize = execution.secrets.iter().map(|(variable, secret)| variable.len() + secret.len() + 6).sum();
    let imports: usize = match &execution.imports {
        ImportGrant::Standard => 0,
        ImportGrant::Only(names) => names.iter().map(|name| name.len() + 3).sum(),
    };
    let grants = execution.outgoing.iter().map(|grant| {
        let networks: usize = grant.networks.iter().map(|network| network.to_string().len() + 3).sum();
        grant.to_string().len() + networks + if networks == 0 { 3 } else { 48 }
    });
    let grants: usize = grants.sum();
    let routes: usize = row.http().map_or(0, |http| http.routes.iter().map(|route| route.to_string().len() + 3).sum());
    let names = row.tenant.as_str().len() + row.service.as_str().len() + row.id.as_str().len();
    ROW_BYTES + names + variables + secrets + imports + grants + routes
}
