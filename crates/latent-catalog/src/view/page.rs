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
#[expect(clippy::struct_field_names, reason = "every limit says that it is the most")]
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
        let mut rows = first_rows(self.rows(tenant, service), after, bounds.rows_max.max(1));
        let more = rows.len() > bounds.rows_max.max(1);
        if more {
            rows.pop();
        }
        let kept = rows_within(&rows, bounds.bytes_max);
        let more = more || kept < rows.len();
        rows.truncate(kept);
        let last = rows.last().filter(|_| more);
        let next = last.map(|row| DeploymentCursor { service: row.service.clone(), deployment: row.id.clone() });
        DeploymentPage { deployments: rows.into_iter().cloned().collect(), next, generation: self.generation }
    }

    /// In no particular order.
    fn rows(&self, tenant: &TenantId, service: Option<&ServiceName>) -> impl Iterator<Item = &Arc<Deployment>> {
        let services = self.tenants.get(tenant);
        let only = services.zip(service).and_then(|(services, name)| services.get(name));
        let all = services.filter(|_| service.is_none()).map(|services| services.values());
        only.into_iter().chain(all.into_iter().flatten()).flat_map(Service::by_revision)
    }
}

/// The first `count` rows after `after` in order, and one more if there is one.
fn first_rows<'a>(
    rows: impl Iterator<Item = &'a Arc<Deployment>>,
    after: Option<&DeploymentCursor>,
    count: usize,
) -> Vec<&'a Arc<Deployment>> {
    let after = after.map(|cursor| (cursor.service.as_str(), cursor.deployment.as_str()));
    let mut first = BTreeMap::new();
    for row in rows {
        let key = (row.service.as_str(), row.id.as_str());
        let last = first.last_key_value().map(|(last, _)| *last);
        let beyond = first.len() > count && last.is_some_and(|last| key > last);
        if beyond || after.is_some_and(|after| key <= after) {
            continue;
        }
        first.insert(key, row);
        if first.len() > count + 1 {
            first.pop_last();
        }
    }
    first.into_values().collect()
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
    let imports: usize = match &execution.imports {
        ImportGrant::Standard => 0,
        ImportGrant::Only(names) => names.iter().map(|name| name.len() + 3).sum(),
    };
    let names = row.tenant.as_str().len() + row.service.as_str().len() + row.id.as_str().len();
    ROW_BYTES + names + variables + imports
}
