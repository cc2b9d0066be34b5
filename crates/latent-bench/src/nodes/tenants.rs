//! Tenants of a node under trial, and what the node says of what they used and of itself.

use std::time::{Duration, SystemTime};

use latent_wire::client::Client;
use latent_wire::client::times::to_timestamp;
use latent_wire::proto::{
    ApplyTenantRequest, CreateCredentialRequest, GetInventoryRequest, GetUsageRequest, Inventory, Quota, UsageSum,
};
use tokio::time::{sleep, timeout};

use super::fixtures::LOOK;

/// When a node that nobody calls has to be idle.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// Named counts of the inventory that are of activations under way.
const UNDER_WAY: [&str; 8] = [
    "activations",
    "leases",
    "queued",
    "quota-live",
    "quota-fuel",
    "quota-memory-bytes",
    "continuation-slots",
    "continuations",
];

/// Makes a tenant, or changes its quota.
pub async fn quota(operator: &Client, name: &str, quota: Quota) -> Result<(), String> {
    let request = ApplyTenantRequest { name: name.to_owned(), quota: Some(quota) };
    operator.apply_tenant(request).await.map(drop).map_err(|error| format!("cannot make the tenant {name}: {error}"))
}

/// A token of the tenant, to deploy and to call with.
pub async fn token(operator: &Client, tenant: &str) -> Result<String, String> {
    let request = CreateCredentialRequest {
        tenant: tenant.to_owned(),
        subject: "trial".to_owned(),
        roles: ["invoke", "deploy"].map(str::to_owned).into(),
        ..CreateCredentialRequest::default()
    };
    let made = operator.create_credential(request).await;
    made.map(|made| made.token).map_err(|error| format!("cannot make a credential of {tenant}: {error}"))
}

/// What each service used from `since` on, up to `until`; an error when the usage log lost a line.
pub async fn usage(operator: &Client, since: SystemTime, until: SystemTime) -> Result<Vec<UsageSum>, String> {
    let (since, until) = (Some(to_timestamp(since)), Some(to_timestamp(until)));
    let request = GetUsageRequest { since, until, ..GetUsageRequest::default() };
    let usage = operator.get_usage(request).await.map_err(|error| format!("the usage: {error}"))?;
    if usage.dropped > 0 { Err(format!("the usage log lost {} lines", usage.dropped)) } else { Ok(usage.sums) }
}

/// What the node holds.
pub async fn inventory(operator: &Client) -> Result<Inventory, String> {
    operator.get_inventory(GetInventoryRequest {}).await.map_err(|error| format!("the inventory: {error}"))
}

/// What does not add up at whatever moment: cells that are neither idle nor leased nor quarantined, or quarantined.
pub fn unsound(inventory: &Inventory) -> Option<String> {
    let broken = inventory
        .cells
        .iter()
        .find(|cells| cells.quarantined > 0 || cells.available + cells.leased + cells.quarantined != cells.capacity);
    broken.map(|cells| format!("cells that do not add up or are quarantined: {cells:?}"))
}

/// What of the node is held by activations under way.
pub fn held(inventory: &Inventory) -> Vec<String> {
    let counted = inventory.counts.iter().filter(|count| UNDER_WAY.contains(&count.name.as_str()));
    counted.filter(|count| count.value > 0).map(|count| format!("{} {}", count.value, count.name)).collect()
}

/// Waits until the node is idle, and looks that everything has come back.
///
/// # Errors
/// What is still held after ten seconds, or does not add up.
pub async fn settled(operator: &Client) -> Result<Inventory, String> {
    let mut last = Vec::new();
    let settle = async {
        loop {
            let inventory = inventory(operator).await?;
            if let Some(broken) = unsound(&inventory) {
                return Err(broken);
            }
            last = held(&inventory);
            if last.is_empty() {
                return Ok(inventory);
            }
            sleep(LOOK).await;
        }
    };
    let settled = timeout(IDLE_MAX, settle).await;
    settled
        .unwrap_or_else(|_| Err(format!("{IDLE_MAX:?} after the last call the node still holds {}", last.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::proto::{Cells, Count};

    #[test]
    fn cells_have_to_add_up_and_counts_to_come_back() {
        let cells = Cells { capacity: 4, available: 3, leased: 1, ..Cells::default() };
        let count = |name: &str, value| Count { name: name.to_owned(), value };
        let counts = vec![count("quota-live", 1), count("records", 9), count("leases", 0)];
        let mut inventory = Inventory { cells: vec![cells], counts, ..Inventory::default() };
        assert_eq!(unsound(&inventory), None);
        assert_eq!(held(&inventory), ["1 quota-live"]);
        inventory.cells[0].leased = 0;
        assert!(unsound(&inventory).unwrap().contains("capacity: 4"));
        inventory.cells[0].quarantined = 1;
        assert!(unsound(&inventory).unwrap().contains("quarantined: 1"));
    }
}
