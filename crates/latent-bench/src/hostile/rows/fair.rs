//! Fairness: one tenant's thousand waiting calls, and another's single one.

use std::time::Duration;

use latent_wire::client::CallError;
use latent_wire::proto::InvokeResponse;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::hostile::case::Outcome;
use crate::hostile::expect::{holds, returns};
use crate::hostile::scene::Scene;
use crate::nodes::fixtures::{LOOK, call, deploy};
use crate::nodes::verdict::{Times, within};

/// Calls that wait at least, those that are made so that they do, and those of them that one connection has.
const WAITING: usize = 1000;
const MADE: usize = 1090;
const PER_CONNECTION: usize = 100;
/// Calls of the other tenant, one after the other.
const CALLS: usize = 20;
/// What each of them takes.
const JOB_MS: u64 = 1000;
/// What the other tenant's takes.
const CALL_MS: u64 = 5;
/// The bound of the scheduler: one job ahead of it, of two cells; and the way.
const WAIT_MAX: Duration = Duration::from_millis(JOB_MS + CALL_MS + 250);
/// How long it may take until all of them wait.
const FULL_MAX: Duration = Duration::from_secs(20);

/// Row 84.
pub async fn crowd(scene: &Scene) -> Outcome {
    scene.deploy("containment-capsule").await?;
    deploy(&scene.healthy, "containment-capsule").await?;
    let delayed = |millis: u64| call("containment-capsule", "delayed-echo", &format!("[\"x\",{millis}]"), "");
    returns("a call without a crowd", scene.healthy.invoke(delayed(CALL_MS)).await, "\"x\"")?;
    let mut crowd = JoinSet::new();
    let mut client = scene.client()?;
    for at in 0..MADE {
        if at % PER_CONNECTION == 0 {
            client = scene.client()?;
        }
        let (client, request) = (client.clone(), delayed(JOB_MS));
        crowd.spawn(async move { client.invoke(request).await });
    }
    drop(client);
    let deadline = Instant::now() + FULL_MAX;
    while scene.count("activations").await? < WAITING as u64 {
        if let Some(ended) = crowd.try_join_next() {
            let ended: Result<InvokeResponse, CallError> = ended.map_err(|error| error.to_string())?;
            returns("a call of the crowd", ended, "\"x\"")?;
        }
        holds("all of them wait", Instant::now() < deadline)?;
        sleep(LOOK).await;
    }
    let mut times = Times::default();
    for _ in 0..CALLS {
        let began = Instant::now();
        returns("a call beside a crowd", scene.healthy.invoke(delayed(CALL_MS)).await, "\"x\"")?;
        times.push(began.elapsed());
    }
    let waiting = scene.count("activations").await?;
    crowd.abort_all();
    while crowd.join_next().await.is_some() {}
    holds(&format!("{waiting} still wait"), waiting > WAITING as u64 * 9 / 10)?;
    within("the longest", times.percentile(100), WAIT_MAX).map_err(|wrong| format!("{wrong}; {times}"))?;
    Ok(format!("{waiting} waiting; {CALLS} calls of {CALL_MS} ms: {times}; bound {WAIT_MAX:?}"))
}
