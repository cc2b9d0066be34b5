//! Tenants of the configuration: which there are at the first start, and what each may have.
//!
//! Invariant: a quota that is not set restricts nothing that the node does not.

use std::collections::BTreeMap;

use latent_core::TenantId;
use latent_node::access::TenantQuota;

use super::document::dotted;
use super::kinds::{ByteSize, Literal, Setting as _};

/// The keys of one tenant.
const FIELDS: &str = "live, queued, fuel, memory, payload, priority, disk";

/// Takes what stands at `path` below `tenants`.
///
/// # Errors
/// What is wrong, and what is expected instead.
pub fn take(tenants: &mut BTreeMap<TenantId, TenantQuota>, path: &[String], literal: &Literal) -> Result<(), String> {
    let (name, field) = match (path, literal) {
        ([], Literal::Section) => return Ok(()),
        ([name], Literal::Section) => (name, None),
        ([name, field], _) => (name, Some(field.as_str())),
        _ => return Err(format!("tenants is written as sections [tenants.NAME] with the keys {FIELDS}")),
    };
    let tenant =
        TenantId::new(name.as_str()).map_err(|wrong| format!("tenants.{name:?} is no name of a tenant: {wrong}"))?;
    let quota = tenants.entry(tenant).or_default();
    let Some(field) = field else { return Ok(()) };
    let refused = |expected: String| format!("tenants.{name}.{field} is {}; expected {expected}", literal.told());
    let (mut number, mut size) = (0_u64, ByteSize(0));
    match field {
        "live" | "queued" | "fuel" | "priority" => number.take(literal).map_err(refused)?,
        "memory" | "payload" | "disk" => size.take(literal).map_err(refused)?,
        _ => return Err(format!("there is no key tenants.{name}.{field}; in [tenants.{name}] are: {FIELDS}")),
    }
    match field {
        "live" => quota.live = Some(number),
        "queued" => quota.queued = Some(number),
        "fuel" => quota.fuel = Some(number),
        "memory" => quota.memory_bytes = Some(size.0),
        "payload" => quota.payload_bytes = Some(size.0),
        "disk" => quota.disk_bytes = Some(size.0),
        _ => quota.priority = Some(u8::try_from(number).map_err(|_large| refused("0 to 255".to_owned()))?),
    }
    Ok(())
}

/// Each key of each tenant with its value; of one without a quota its section.
pub fn written(tenants: &BTreeMap<TenantId, TenantQuota>) -> Vec<(String, Option<String>)> {
    tenants.iter().flat_map(|(name, quota)| of_tenant(name.as_str(), quota)).collect()
}

fn of_tenant(name: &str, quota: &TenantQuota) -> Vec<(String, Option<String>)> {
    let number = |value: Option<u64>| value.and_then(|value| value.written());
    let size = |value: Option<u64>| value.and_then(|value| ByteSize(value).written());
    let values = [
        ("live", number(quota.live)),
        ("queued", number(quota.queued)),
        ("fuel", number(quota.fuel)),
        ("memory", size(quota.memory_bytes)),
        ("payload", size(quota.payload_bytes)),
        ("priority", number(quota.priority.map(u64::from))),
        ("disk", size(quota.disk_bytes)),
    ];
    let set = values.into_iter().filter(|(_, value)| value.is_some());
    let rows: Vec<_> = set.map(|(field, value)| (dotted(["tenants", name, field]), value)).collect();
    if rows.is_empty() { vec![(dotted(["tenants", name]), None)] } else { rows }
}
