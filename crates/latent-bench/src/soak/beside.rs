//! What an operator and deployers do beside the calls: releases come and go, and weights move.
//!
//! Invariant: the deployment that was there first stays, so that every call has somewhere to go.

use std::time::Duration;

use latent_wire::client::Client;
use latent_wire::proto::{DeleteDeploymentRequest, DeleteReleaseRequest};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::nodes::fixtures::{apply, digest, publish, variant};

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(100);
/// Other releases that take turns.
const VARIANTS: u32 = 8;
/// The service whose calls find other deployments at every moment.
const SERVICE: &str = "echo";
/// The deployment that comes and goes.
const DEPLOYMENT: &str = "canary";

/// Changes that were made.
#[derive(Debug, Default, Clone, Copy)]
pub struct Changes {
    /// Releases published.
    pub published: u64,
    /// Deployments made or given another weight.
    pub applied: u64,
    /// Deployments and releases deleted.
    pub deleted: u64,
}

/// Makes changes, round after round, until it is told to stop.
///
/// # Errors
/// The first change that the node did not take.
pub async fn change(client: Client, mut stop: watch::Receiver<bool>) -> Result<Changes, String> {
    let mut changes = Changes::default();
    for round in 0.. {
        let component = variant(SERVICE, round % VARIANTS);
        let release = digest(&component);
        let wrong = |what: &'static str| move |error| format!("{what}, round {round}: {error}");
        publish(&client, component).await.map_err(wrong("a publish"))?;
        changes.published += 1;
        for weight in [1, 100, 10_000, 50] {
            apply(&client, SERVICE, DEPLOYMENT, &release, weight).await.map_err(wrong("a weight"))?;
            changes.applied += 1;
            pause(&mut stop).await;
        }
        let (service, deployment) = (SERVICE.to_owned(), DEPLOYMENT.to_owned());
        let request = DeleteDeploymentRequest { service, deployment, expected_generation: None };
        client.delete_deployment(request).await.map_err(wrong("the deployment's end"))?;
        client.delete_release(DeleteReleaseRequest { digest: release }).await.map_err(wrong("the release's end"))?;
        changes.deleted += 2;
        pause(&mut stop).await;
        if *stop.borrow() {
            break;
        }
    }
    Ok(changes)
}

async fn pause(stop: &mut watch::Receiver<bool>) {
    let _stopped_or_time = timeout(PAUSE, stop.wait_for(|stop| *stop)).await;
}
