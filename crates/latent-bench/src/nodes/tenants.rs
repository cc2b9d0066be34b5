//! Tenants of a node under trial, and what the node says of what they used and of itself.

use std::time::{Duration, SystemTime};

use latent_wire::client::times::to_timestamp;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{
    ApplyTenantRequest, CreateCredentialRequest, GetInventoryRequest, GetUsageRequest, Inventory, Quota, UsageSum,
};
use tokio::time::{sleep, timeout};

use super::fixtures::LOOK;

/// When a node that nobody calls has to be idle.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// Named counts of the inventory that are of activations under way.
pub const UNDER_WAY: [&str; 8] = [
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
pub async fn quota(operator: &Client, name: &str, quota: Quota) -> Result<(), CallError> {
    operator.apply_tenant(ApplyTenantRequest { name: name.to_owned(), quota: Some(quota) }).await.map(drop)
}

/// Makes a tenant without a quota of its own; a token of it, to deploy and to call with.
pub async fn tenant(operator: &Client, name: &str) -> Result<String, String> {
    let request = CreateCredentialRequest {
        tenant: name.to_owned(),
        subject: "trial".to_owned(),
        roles: ["invoke", "deploy"].map(str::to_owned).into(),
        ..CreateCredentialRequest::default()
    };
    let made = async {
        quota(operator, name, Quota::default()).await?;
        operator.create_credential(request).await
    };
    let made: Result<_, CallError> = made.await;
    made.map(|made| made.token).map_err(|error| format!("cannot make the tenant {name}: {error}"))
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

/// Which of these counts are not zero.
///
/// # Errors
/// When the inventory does not have one of them.
pub fn held(inventory: &Inventory, names: &[&str]) -> Result<Vec<String>, String> {
    let counts = names.iter().map(|name| Ok((count_of(inventory, name)?, *name)));
    let counts = counts.collect::<Result<Vec<_>, String>>()?;
    Ok(counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect())
}

/// A count by its name.
///
/// # Errors
/// When the inventory does not have it.
pub fn count_of(inventory: &Inventory, name: &str) -> Result<u64, String> {
    let found = inventory.counts.iter().find(|count| count.name == name);
    found.map(|count| count.value).ok_or_else(|| format!("the inventory has no {name:?}: {inventory:?}"))
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
            last = held(&inventory, &UNDER_WAY)?;
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
        let mut counts: Vec<_> = UNDER_WAY.iter().map(|name| count(name, u64::from(*name == "quota-live"))).collect();
        counts.push(count("records", 9));
        let mut inventory = Inventory { cells: vec![cells], counts, ..Inventory::default() };
        assert_eq!(unsound(&inventory), None);
        assert_eq!(held(&inventory, &UNDER_WAY), Ok(vec!["1 quota-live".to_owned()]));
        assert!(held(&inventory, &["strangers"]).unwrap_err().contains("strangers"));
        inventory.cells[0].leased = 0;
        assert!(unsound(&inventory).unwrap().contains("capacity: 4"));
        inventory.cells[0].quarantined = 1;
        assert!(unsound(&inventory).unwrap().contains("quarantined: 1"));
    }
}
