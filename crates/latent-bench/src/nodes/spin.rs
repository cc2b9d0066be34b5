//! A node whose every cell has a guest that spins, and whose queue is full: how soon it tells its state and cancels.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use latent_core::PlatformErrorCode;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{CancelDisposition, CancelRequest, GetActivationRequest, Inventory};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::Options;
use super::fixtures::{LOOK, call, deploy};
use super::program::{Home, Served};
use super::tenants::inventory;
use super::verdict::{Times, Trial, within};

/// Cells and queue of a node that is configured as it comes.
const CAPACITY: usize = 64;
/// Of those, cells.
const CELLS: u64 = 16;
/// Samples of each question.
const SAMPLES: usize = 500;
/// What 99 of 100 answers may take.
const ANSWER_MAX: Duration = Duration::from_millis(50);
/// How long it may take until the node is full.
const FULL_MAX: Duration = Duration::from_secs(30);
/// One tenant may fill the node, and nothing but a cancel ends a guest.
const CONFIG: &str = "[journal]\ntenant_active = 64\n[limits]\nwall = \"1h\"\nfuel = 1000000000000000";

/// The activation that each place has at the moment.
type Places = Arc<Mutex<HashMap<usize, String>>>;

/// Fills a node and measures.
///
/// # Errors
/// When there is no directory.
pub async fn trial(options: &Options) -> io::Result<Trial> {
    let dir = tempfile::tempdir()?;
    let home = Home::new(&options.program, dir.path(), CONFIG)?;
    Ok(Trial::of("spin", measure(&home).await))
}

async fn measure(home: &Home) -> Result<String, String> {
    let served = home.serve().await?;
    let client = served.client()?;
    deploy(&client, "containment-capsule").await?;
    let (places, mut keepers) = (Places::default(), JoinSet::new());
    for place in 0..CAPACITY {
        keepers.spawn(keep(client.clone(), place, places.clone()));
    }
    until_full(&client).await?;
    let refused = one_more(&client).await?;
    let [mut healthz, mut status, mut cancel] = <[Times; 3]>::default();
    let mut busy = 0;
    for sample in 0..SAMPLES {
        let place = sample % CAPACITY;
        healthz.push(timed(served.healthz()).await?);
        let id = seen(&client, &places, place, &mut status).await?;
        cancel.push(timed(cancelled(&client, &id)).await?);
        busy += u64::from(leased(&served.client()?).await? == CELLS);
    }
    keepers.abort_all();
    report(&served, [&healthz, &status, &cancel], busy, &refused)
}

fn report(served: &Served, times: [&Times; 3], busy: u64, refused: &str) -> Result<String, String> {
    let [healthz, status, cancel] = times;
    let told = format!(
        "{CELLS} cells that spin, queue full (one more: {refused}), {SAMPLES} times each from another process; all cells \
         busy at {busy} of {SAMPLES} looks; /healthz {healthz}; GetActivation {status}; Cancel {cancel}"
    );
    for (name, times) in [("/healthz", healthz), ("GetActivation", status), ("Cancel", cancel)] {
        within(&format!("{name} at p99"), times.percentile(99), ANSWER_MAX)
            .map_err(|wrong| format!("{wrong}; {told}"))?;
    }
    if busy * 10 < SAMPLES as u64 * 9 {
        return Err(format!("the cells were not busy; the node said {}; {told}", served.said()));
    }
    Ok(told)
}

/// Keeps one place of the node taken: a guest that spins until it is cancelled, then the next.
async fn keep(client: Client, place: usize, places: Places) {
    for round in 0_u64.. {
        let id = format!("place-{place}-{round}");
        if let Ok(mut places) = places.lock() {
            places.insert(place, id.clone());
        }
        match client.invoke(call("containment-capsule", "spin", "[]", &id)).await {
            // The one before it is not quite gone.
            Err(CallError::Node(node)) if node.error.code() == PlatformErrorCode::ResourceExhausted => {
                sleep(LOOK).await;
            }
            Err(CallError::Node(node)) if node.error.code() == PlatformErrorCode::Cancelled => (),
            _ => return,
        }
    }
}

async fn until_full(client: &Client) -> Result<(), String> {
    let fill = async {
        while total(&inventory(client).await?) < CAPACITY as u64 {
            sleep(LOOK).await;
        }
        Ok(())
    };
    timeout(FULL_MAX, fill).await.map_err(|_| format!("the node is not full after {FULL_MAX:?}"))?
}

/// The code with which an activation beyond the capacity is refused.
async fn one_more(client: &Client) -> Result<String, String> {
    match client.invoke(call("containment-capsule", "spin", "[]", "one-too-many")).await {
        Err(CallError::Node(node)) => Ok(node.error.code().as_str().to_owned()),
        other => Err(format!("a full node took one more: {other:?}")),
    }
}

/// Asks for the activation of `place` until it is there, each answer timed; its id.
async fn seen(client: &Client, places: &Places, place: usize, times: &mut Times) -> Result<String, String> {
    let look = async {
        loop {
            let id =
                places.lock().ok().and_then(|places| places.get(&place).cloned()).ok_or("a place without a call")?;
            let began = Instant::now();
            let answer = client.get_activation(GetActivationRequest { activation_id: id.clone() }).await;
            times.push(began.elapsed());
            match answer {
                Ok(activation) if activation.terminal.is_none() => return Ok(id),
                Ok(_) => (),
                Err(CallError::Node(node)) if node.error.code() == PlatformErrorCode::NotFound => (),
                Err(error) => return Err(format!("{id}: {error}")),
            }
            sleep(LOOK).await;
        }
    };
    timeout(FULL_MAX, look).await.map_err(|_| format!("place {place} stays empty"))?
}

async fn cancelled(client: &Client, id: &str) -> Result<(), String> {
    let request = CancelRequest { activation_id: id.to_owned(), reason: "measured".to_owned() };
    match client.cancel(request).await {
        Ok(answer) if answer.disposition == i32::from(CancelDisposition::Accepted) => Ok(()),
        other => Err(format!("the cancel of {id}: {other:?}")),
    }
}

async fn timed(work: impl Future<Output = Result<(), String>>) -> Result<Duration, String> {
    let began = Instant::now();
    work.await?;
    Ok(began.elapsed())
}

async fn leased(client: &Client) -> Result<u64, String> {
    Ok(inventory(client).await?.cells.iter().map(|cells| cells.leased).sum())
}

fn total(inventory: &Inventory) -> u64 {
    inventory.cells.iter().map(|cells| cells.leased + cells.queued).sum()
}
