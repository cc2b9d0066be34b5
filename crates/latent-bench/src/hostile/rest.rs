//! What holds of a node after every case: it is the same process, at rest, with every account back where it was, and
//! the other tenant is served at once.
//!
//! Invariant: what has to come back has [`SETTLED_MAX`] for it; the other tenant's call comes before that wait.

use std::time::Duration;

use latent_wire::proto::{GetTenantRequest, GetUsageRequest, Inventory};
use tokio::time::{Instant, sleep};

use super::scene::{HEALTHY, HOSTILE, Scene};
use crate::nodes::fixtures::{LOOK, echo};
use crate::nodes::tenants::{UNDER_WAY, count_of, held, unsound};
use crate::nodes::verdict::within;
use crate::process::is_of_component;

/// What the first call of the other tenant after a case may take, on a machine that does other things too.
pub const HEALTHY_MAX: Duration = Duration::from_millis(250);
/// When everything has to be back.
const SETTLED_MAX: Duration = Duration::from_secs(5);
/// Memory that a case may leave resident: caches within bounds, and what the allocator keeps. Records count apart.
const RESIDENT_SLACK: u64 = 64 << 20;
/// Descriptors that a component which is kept in memory has at most: its image, and a file of memory for each module.
const DESCRIPTORS_PER_ENTRY: u64 = 8;
/// Counts that are zero at rest, besides those of activations under way.
const ENDED: [&str; 5] = ["stores", "instances", "instance-permits", "value-buffers", "evicted-ids"];

/// What a node held before a case.
#[derive(Debug, Default, Clone, Copy)]
pub struct Holds {
    /// Besides those of components that are kept in memory.
    descriptors: usize,
    of_components: usize,
    prepared: u64,
    resident: u64,
    record_bytes: u64,
}

/// Looks at a node before a case.
pub async fn before(scene: &Scene) -> Result<Holds, String> {
    scene.is_the_same()?;
    scene.connected().await?;
    holds(scene, &scene.inventory().await?)
}

fn holds(scene: &Scene, inventory: &Inventory) -> Result<Holds, String> {
    let process = scene.served.process();
    Ok(Holds {
        descriptors: process.descriptors_where(|target| !is_of_component(target))?,
        of_components: process.descriptors_where(is_of_component)?,
        prepared: count_of(inventory, "prepared-entries")?,
        resident: process.resident_bytes()?,
        record_bytes: count_of(inventory, "record-bytes")?,
    })
}

/// Looks at it afterwards.
pub async fn after(scene: &Scene, before: &Holds) -> Result<(), String> {
    scene.is_the_same()?;
    let began = Instant::now();
    echo(&scene.healthy).await.map_err(|error| format!("the other tenant's call: {error}"))?;
    within("the other tenant's call", began.elapsed(), HEALTHY_MAX)?;
    let deadline = Instant::now() + SETTLED_MAX;
    loop {
        match at_rest(scene, before).await {
            Ok(()) => return scene.is_the_same(),
            Err(wrong) if Instant::now() > deadline => return Err(format!("{wrong}, {SETTLED_MAX:?} later still")),
            Err(_not_yet) => sleep(LOOK).await,
        }
    }
}

async fn at_rest(scene: &Scene, before: &Holds) -> Result<(), String> {
    let inventory = scene.inventory().await?;
    is_idle(&inventory)?;
    for name in [HOSTILE, HEALTHY] {
        uses_nothing(scene, name).await?;
    }
    one_record_each(scene, count_of(&inventory, "records")?).await?;
    holds_no_more(&holds(scene, &inventory)?, before)
}

/// The node is ready, every cell is where it can be told, and none is lost or in use, nor is anything else.
fn is_idle(inventory: &Inventory) -> Result<(), String> {
    if inventory.state != "ready" {
        return Err(format!("the node is {}", inventory.state));
    }
    if let Some(broken) = unsound(inventory) {
        return Err(broken);
    }
    if let Some(cells) = inventory.cells.iter().find(|cells| cells.available != cells.capacity) {
        return Err(format!("cells are not all available: {cells:?}"));
    }
    let mut left = held(inventory, &UNDER_WAY)?;
    left.append(&mut held(inventory, &ENDED)?);
    if !left.is_empty() {
        return Err(format!("the node still holds {}", left.join(", ")));
    }
    if inventory.cells.is_empty() { Err("the inventory has no cells".to_owned()) } else { Ok(()) }
}

/// Descriptors and memory are back where they were.
fn holds_no_more(now: &Holds, before: &Holds) -> Result<(), String> {
    let records = now.record_bytes.saturating_sub(before.record_bytes);
    let allowed = before.resident + RESIDENT_SLACK + records;
    if now.resident > allowed {
        let (found, was) = (now.resident, before.resident);
        return Err(format!("{found} bytes are resident, at most {allowed} are allowed after {was}"));
    }
    if now.descriptors > before.descriptors {
        return Err(format!("{} descriptors are open, {} were before", now.descriptors, before.descriptors));
    }
    if now.of_components as u64 > now.prepared * DESCRIPTORS_PER_ENTRY {
        return Err(format!("{} components are kept, with {} descriptors", now.prepared, now.of_components));
    }
    Ok(())
}

async fn uses_nothing(scene: &Scene, name: &str) -> Result<(), String> {
    let tenant = scene.operator.get_tenant(GetTenantRequest { name: name.to_owned() }).await;
    let tenant = tenant.map_err(|error| format!("the tenant {name}: {error}"))?;
    match tenant.r#use {
        Some(uses) if uses.live == 0 && uses.queued == 0 => Ok(()),
        other => Err(format!("the tenant {name} uses {other:?}")),
    }
}

/// As many activations have ended, each once, as there are records of ended ones.
async fn one_record_each(scene: &Scene, records: u64) -> Result<(), String> {
    // Whoever asks for sums waits until the log is written.
    let usage = scene.operator.get_usage(GetUsageRequest::default()).await;
    let usage = usage.map_err(|error| format!("the usage: {error}"))?;
    if usage.dropped > 0 {
        return Err(format!("{} ends have no line in the usage log", usage.dropped));
    }
    let ended = scene.ledger.lock().map_err(|_| "the ledger is lost".to_owned())?.read()?;
    if ended == records {
        Ok(())
    } else {
        Err(format!("{ended} activations ended, and {records} are on record as ended"))
    }
}

#[cfg(test)]
mod tests {
    use latent_wire::proto::{Cells, Count};

    use super::*;

    fn zero() -> impl Iterator<Item = &'static str> {
        UNDER_WAY.into_iter().chain(ENDED)
    }

    fn idle() -> Inventory {
        let cells = Cells { class: "standard".to_owned(), capacity: 4, available: 4, ..Cells::default() };
        let counts = zero().map(|name| Count { name: name.to_owned(), value: 0 }).collect();
        Inventory { state: "ready".to_owned(), cells: vec![cells], counts, ..Inventory::default() }
    }

    fn changed(change: impl FnOnce(&mut Inventory)) -> String {
        let mut inventory = idle();
        change(&mut inventory);
        is_idle(&inventory).expect_err("something is not at rest")
    }

    #[test]
    fn whatever_is_not_at_rest_is_told() {
        assert_eq!(is_idle(&idle()), Ok(()));
        assert!(changed(|node| node.state = "draining".to_owned()).contains("draining"));
        assert!(changed(|node| node.cells[0].available = 3).contains("add up"));
        assert!(changed(|node| (node.cells[0].available, node.cells[0].leased) = (3, 1)).contains("all available"));
        assert!(changed(|node| (node.cells[0].available, node.cells[0].quarantined) = (3, 1)).contains("quarantined"));
        assert!(changed(|node| node.cells.clear()).contains("no cells"));
        for (at, name) in zero().enumerate() {
            assert!(changed(|node| node.counts[at].value = 1).contains(name));
            assert!(changed(|node| drop(node.counts.remove(at))).contains(name));
        }
    }

    #[test]
    fn one_descriptor_and_memory_beyond_the_slack_are_told_and_records_are_not() {
        let before = Holds { descriptors: 20, of_components: 4, prepared: 2, resident: 50 << 20, record_bytes: 1000 };
        let told = |change: fn(&mut Holds)| {
            let mut now = before;
            now.resident += RESIDENT_SLACK;
            change(&mut now);
            holds_no_more(&now, &before).err().unwrap_or_default()
        };
        assert_eq!(told(|_| ()), "");
        assert_eq!(told(|now| (now.descriptors, now.of_components, now.prepared) = (19, 16, 2)), "");
        assert_eq!(told(|now| (now.resident, now.record_bytes) = (now.resident + 500, 1500)), "");
        assert!(told(|now| now.descriptors = 21).contains("21 descriptors"));
        assert!(told(|now| now.of_components = 17).contains("17 descriptors"));
        assert!(told(|now| now.resident += 1).contains("resident"));
    }
}
