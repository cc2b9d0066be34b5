//! The calls under which nodes are told to end, and how each of them came out.
//!
//! Invariant: every call that was begun is in exactly one count of the [`Outcomes`].

use std::time::Duration;

use latent_wire::client::{CallError, Client};
use latent_wire::proto::{FollowLogsRequest, GetActivationRequest, InvokeRequest, WatchActivationRequest};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::fixtures::{LOOK, call};

/// Calls of each kind that lasts.
const LASTING: usize = 4;
/// Clients that call one after the other.
const CALLERS: usize = 4;
/// How long it may take until every call that lasts has its cell.
const RUNNING_MAX: Duration = Duration::from_secs(10);

/// How calls came out.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// With what the function returned.
    pub answered: u64,
    /// With an error of the node.
    pub refused: u64,
    /// Without a connection: nothing was sent.
    pub unreached: u64,
    /// With the connection lost: the ids of their activations.
    pub lost: Vec<String>,
    /// Streams that ended, in whatever way.
    pub streams: u64,
    /// Answers that a call which lasts should not have had.
    pub wrong: Vec<String>,
}

impl Outcomes {
    /// Adds another client's.
    pub fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.refused += other.refused;
        self.unreached += other.unreached;
        self.lost.extend(other.lost);
        self.streams += other.streams;
        self.wrong.extend(other.wrong);
    }

    fn count(&mut self, id: String, outcome: &Result<(), CallError>) {
        match outcome {
            Ok(()) => self.answered += 1,
            Err(CallError::Node(_)) => self.refused += 1,
            Err(CallError::Unreachable(_)) => self.unreached += 1,
            Err(CallError::Transport(_)) => self.lost.push(id),
        }
    }
}

/// Calls under way.
#[derive(Debug)]
pub struct Load(JoinSet<Outcomes>);

impl Load {
    /// Begins everything: guests that spin, guests that park, clients that call without a pause, a watcher and a follower.
    /// Returns when the guests that last are running.
    ///
    /// # Errors
    /// When they do not come to run.
    pub async fn begin(name: &str, mut client: impl FnMut() -> Result<Client, String>) -> Result<Self, String> {
        let mut tasks = JoinSet::new();
        let mut lasting = Vec::new();
        let shared = client()?;
        for at in 0..LASTING {
            let (spin, park) = (format!("{name}-spin-{at}"), format!("{name}-park-{at}"));
            tasks.spawn(once(shared.clone(), call("containment-capsule", "spin", "[]", &spin)));
            tasks.spawn(once(shared.clone(), call("clock-park", "park", "[3600000]", &park)));
            lasting.extend([spin, park]);
        }
        for id in &lasting {
            until_running(&shared, id).await?;
        }
        for at in 0..CALLERS {
            tasks.spawn(without_pause(client()?, format!("{name}-echo-{at}")));
        }
        tasks.spawn(watch(client()?, lasting[0].clone()));
        tasks.spawn(follow(client()?));
        Ok(Self(tasks))
    }

    /// How all of it came out, at most after `time`.
    ///
    /// # Errors
    /// When a call has no end by then.
    pub async fn end(mut self, time: Duration) -> Result<Outcomes, String> {
        let mut all = Outcomes::default();
        let collect = async {
            while let Some(outcomes) = self.0.join_next().await {
                all.add(outcomes.map_err(|error| format!("a client failed: {error}"))?);
            }
            Ok::<_, String>(())
        };
        timeout(time, collect).await.map_err(|_| format!("a call has no end {time:?} after the node's"))??;
        Ok(all)
    }
}

/// Waits until an activation runs.
pub async fn until_running(client: &Client, id: &str) -> Result<(), String> {
    let look = async {
        loop {
            let request = GetActivationRequest { activation_id: id.to_owned() };
            match client.get_activation(request).await {
                Ok(activation) if activation.terminal.is_some() => return Err(format!("{id} ended: {activation:?}")),
                Ok(activation) if activation.phase == "running" => return Ok(()),
                Ok(_) => (),
                // It may not have arrived yet.
                Err(CallError::Node(node)) if node.error.code().as_str() == "not-found" => (),
                Err(error) => return Err(format!("{id}: {error}")),
            }
            sleep(LOOK).await;
        }
    };
    timeout(RUNNING_MAX, look).await.map_err(|_| format!("{id} does not run after {RUNNING_MAX:?}"))?
}

/// One call that has no end of its own.
async fn once(client: Client, request: InvokeRequest) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let id = request.activation_id.clone();
    match client.invoke(request).await {
        Ok(answer) => outcomes.wrong.push(format!("{id} returned: {answer:?}")),
        Err(error) => outcomes.count(id, &Err(error)),
    }
    outcomes
}

/// Calls the echo until the node does not answer any more.
async fn without_pause(client: Client, name: String) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for at in 0_u64.. {
        let id = format!("{name}-{at}");
        let answer = client.invoke(call("echo", "echo-string", "[\"hello\"]", &id)).await;
        let ended = answer.is_err();
        outcomes.count(id, &answer.map(drop));
        if ended {
            break;
        }
    }
    outcomes
}

async fn watch(client: Client, activation_id: String) -> Outcomes {
    let request = WatchActivationRequest { activation_id, ..WatchActivationRequest::default() };
    if let Ok(mut events) = client.watch_activation(request).await {
        while let Ok(Some(_)) = events.next().await {}
    }
    Outcomes { streams: 1, ..Outcomes::default() }
}

async fn follow(client: Client) -> Outcomes {
    if let Ok(mut records) = client.follow_logs(FollowLogsRequest::default()).await {
        while let Ok(Some(_)) = records.next().await {}
    }
    Outcomes { streams: 1, ..Outcomes::default() }
}
