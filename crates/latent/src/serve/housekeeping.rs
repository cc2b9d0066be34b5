//! What a node does now and then: it looks at the machine's pressure and at its cells, lets go of expired records,
//! rebuilds images after an engine upgrade, and removes components that nobody has any more.
//!
//! Invariant: each round does bounded work, and none of it is on the path of a call.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use latent_core::{Sha256Digest, TenantId};
use latent_executor::OwnedRepository;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::node::Node;
use super::pressure;

/// From one round to the next.
const ROUND: Duration = Duration::from_secs(1);
/// Rounds from one collection of components to the next.
const COLLECT_EVERY: u64 = 600;
/// Images that one round asks for at most.
const IMAGES_PER_ROUND: usize = 8;

/// Goes round until it is dropped. `failing` is told when too many cells are quarantined.
pub async fn keep(node: Arc<Node>, failing: Arc<Notify>) {
    let mut stale = stale_images(&node).await;
    let mut rounds = interval(ROUND);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for round in 0_u64.. {
        let now = rounds.tick().await;
        look(&node, now);
        if node.operations.check_cells() {
            failing.notify_one();
        }
        rebuild(&node, &mut stale);
        if round % COLLECT_EVERY == 0 {
            collect(&node).await;
        }
    }
}

fn look(node: &Node, now: Instant) {
    let now = now.into_std();
    if let Some(reader) = &node.pressure {
        let sample = pressure::read(reader, now);
        if let Err(reason) = &sample {
            tracing::warn!(%reason, "the machine's pressure is not known; activations are refused");
        }
        node.manager.observe_pressure(sample.ok());
    }
    node.manager.parts().journal.sweep(now);
    node.logs.sweep(now);
}

/// Components whose images are another engine's, each with a tenant that has it.
async fn stale_images(node: &Arc<Node>) -> VecDeque<(Sha256Digest, TenantId)> {
    let node = Arc::clone(node);
    let found = tokio::task::spawn_blocking(move || {
        let stale = node.backend.components_with_stale_images();
        let owners = if stale.is_empty() { HashMap::new() } else { owners(&node) };
        stale.into_iter().filter_map(|digest| Some((digest, owners.get(&digest)?.clone()))).collect()
    });
    // A panic in there costs the rebuild, which calls then do themselves.
    found.await.unwrap_or_default()
}

/// Who deploys which component; the last one found of several.
fn owners(node: &Node) -> HashMap<Sha256Digest, TenantId> {
    let view = node.storage.view();
    let tenants = node.registry_tenants();
    let deployments =
        tenants.iter().flat_map(|tenant| view.of_tenant(tenant).map(move |deployment| (deployment, tenant)));
    deployments.map(|(deployment, tenant)| (deployment.release().digest(), tenant.clone())).collect()
}

fn rebuild(node: &Node, stale: &mut VecDeque<(Sha256Digest, TenantId)>) {
    for _ in 0..IMAGES_PER_ROUND {
        let Some((digest, tenant)) = stale.front() else { return };
        let repository = OwnedRepository::new(node.storage.clone(), tenant.clone());
        if !node.backend.prepare_in_background(repository, *digest) {
            return;
        }
        stale.pop_front();
    }
}

async fn collect(node: &Arc<Node>) {
    let storage = node.storage.clone();
    match tokio::task::spawn_blocking(move || storage.collect()).await {
        Ok(Ok(collected)) if collected.files > 0 => {
            tracing::info!(files = collected.files, "removed components nobody has");
        }
        Ok(Err(error)) => tracing::warn!(%error, "components that nobody has are still there"),
        _ => {}
    }
}
