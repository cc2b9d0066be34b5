//! Cancels and quota: told to stop in every state, and racing for the last place.

use std::time::Duration;

use latent_core::PlatformErrorCode::{Cancelled, DeadlineExceeded, NotFound, ResourceExhausted};
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{CancelDisposition, CancelRequest, CancelResponse, InvokeRequest, InvokeResponse, Quota};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::stops::{spin, warm};
use crate::hostile::case::Outcome;
use crate::hostile::expect::{cancel, failed, holds, same};
use crate::hostile::scene::{CELLS, HOSTILE, Scene, TENANT_CELLS, within};
use crate::nodes::fixtures::{LOOK, call};
use crate::nodes::load::until_running;
use crate::nodes::tenants::quota;

/// Cancels of one activation at once.
const CANCELS: usize = 10_000;
/// Calls that race for one place.
const RACING: usize = 64;

type Running = JoinHandle<Result<InvokeResponse, CallError>>;

fn begin(client: &Client, request: InvokeRequest) -> Running {
    let client = client.clone();
    tokio::spawn(async move { client.invoke(request).await })
}

async fn is_cancelled(what: &str, running: Running) -> Result<(), String> {
    failed(what, running.await.map_err(|error| error.to_string())?, Cancelled, "").map(drop)
}

async fn told(client: &Client, id: &str) -> Result<CancelResponse, CallError> {
    client.cancel(CancelRequest { activation_id: id.to_owned(), reason: "again".to_owned() }).await
}

/// Guests that spin in so many cells.
async fn full(scene: &Scene, name: &str, cells: usize) -> Result<Vec<(String, Running)>, String> {
    let client = scene.client()?;
    let mut running = Vec::new();
    for at in 0..cells {
        let id = format!("{name}-{at}");
        running.push((id.clone(), begin(&client, spin(&id))));
        until_running(&scene.hostile, &id).await?;
    }
    Ok(running)
}

async fn emptied(scene: &Scene, running: Vec<(String, Running)>) -> Result<(), String> {
    for (id, call) in running {
        cancel(scene, &id).await?;
        is_cancelled(&id, call).await?;
    }
    Ok(())
}

/// Row 80.
pub async fn cancels(scene: &Scene) -> Outcome {
    warm(scene, &spin("")).await?;
    let accepted = i32::from(CancelDisposition::Accepted);
    let over = i32::from(CancelDisposition::AlreadyTerminal);
    let full = full(scene, "cancels", CELLS).await?;
    // No cell is left for this one.
    let queued = begin(&scene.hostile, spin("waits"));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
    while scene.count("queued").await? == 0 {
        holds("it waits for a cell", tokio::time::Instant::now() < deadline)?;
        sleep(LOOK).await;
    }
    failed("cancel as another tenant", told(&scene.healthy, "waits").await, NotFound, "")?;
    cancel(scene, "waits").await?;
    is_cancelled("the one that waits", queued).await?;
    let record = scene.record("waits").await?;
    same("where it was", &record.phase.as_str(), &"queued")?;
    same("the reason on record", &record.cancel_reason.as_str(), &"hostile")?;
    let again = told(&scene.hostile, "waits").await.map_err(|error| error.to_string())?;
    same("cancel of what has ended", &(again.disposition, again.terminal.as_str()), &(over, "cancelled"))?;
    failed("cancel of nothing", told(&scene.hostile, "nothing").await, NotFound, "")?;
    let counts = emptied_by_many(scene, full).await?;
    let done = scene.call("echo", "nop", "[]").await.map_err(|error| error.to_string())?.activation_id;
    let finished = told(&scene.hostile, &done).await.map_err(|error| error.to_string())?;
    same("cancel of what has finished", &(finished.disposition, finished.terminal.as_str()), &(over, "completed"))?;
    holds("some of the many came in time", counts.0 > 0 && accepted != over)?;
    Ok(format!("as specified; of {CANCELS} at once {} were accepted, {} found it ended", counts.0, counts.1))
}

/// Cancels one after the other, and the last one by many at once; what those were told.
async fn emptied_by_many(scene: &Scene, mut full: Vec<(String, Running)>) -> Result<(usize, usize), String> {
    let (id, last) = full.pop().ok_or("nothing runs")?;
    emptied(scene, full).await?;
    let counts = at_once(scene, &id).await?;
    is_cancelled(&id, last).await?;
    Ok(counts)
}

/// Cancels one activation many times at once; how many were accepted, and how many found that it had ended.
async fn at_once(scene: &Scene, id: &str) -> Result<(usize, usize), String> {
    const CLIENTS: usize = 4;
    let mut callers = JoinSet::new();
    for _ in 0..CLIENTS {
        let (client, id) = (scene.client()?, id.to_owned());
        callers.spawn(async move {
            let all = (0..CANCELS / CLIENTS).map(|_| told(&client, &id));
            futures_util::future::join_all(all).await
        });
    }
    let (mut accepted, mut ended) = (0, 0);
    while let Some(answers) = callers.join_next().await {
        for answer in answers.map_err(|error| error.to_string())? {
            let answer = answer.map_err(|error| format!("one cancel of many: {error}"))?;
            match (answer.disposition, answer.terminal.as_str()) {
                (disposition, _) if disposition == i32::from(CancelDisposition::Accepted) => accepted += 1,
                (_, "cancelled") => ended += 1,
                other => return Err(format!("one cancel of many: {other:?}")),
            }
        }
    }
    same("cancels that were answered", &(accepted + ended), &CANCELS)?;
    Ok((accepted, ended))
}

/// Row 81.
pub async fn racing(scene: &Scene) -> Outcome {
    warm(scene, &spin("")).await?;
    let full = full(scene, "holds", TENANT_CELLS).await?;
    let live = TENANT_CELLS as u64 + 1;
    let set = async |live| {
        let limits = Quota { live, ..Quota::default() };
        quota(&scene.operator, HOSTILE, limits).await.map_err(|error| format!("the quota: {error}"))
    };
    set(Some(live)).await?;
    let outcome = race(scene).await;
    set(None).await?;
    emptied(scene, full).await?;
    same("racing calls that were admitted", &outcome?, &1)?;
    Ok(format!("{TENANT_CELLS} of {live} held; of {RACING} racing 1 was admitted"))
}

async fn race(scene: &Scene) -> Result<usize, String> {
    let mut racing = JoinSet::new();
    let clients = (0..8).map(|_| scene.client()).collect::<Result<Vec<_>, _>>()?;
    for at in 0..RACING {
        let (client, request) = (clients[at % clients.len()].clone(), call("containment-capsule", "spin", "[]", ""));
        racing.spawn(async move { client.invoke(within(Duration::from_secs(1), request)).await });
    }
    let mut admitted = 0;
    while let Some(outcome) = racing.join_next().await {
        let outcome = outcome.map_err(|error| error.to_string())?;
        let late = matches!(&outcome, Err(CallError::Node(node)) if node.error.code() == DeadlineExceeded);
        if late {
            admitted += 1;
        } else {
            failed("one too many", outcome, ResourceExhausted, "admission.limit")?;
        }
    }
    Ok(admitted)
}
