//! How a node ends (reference, section 10): activations, then listeners, then threads; and what is left is counted.
//!
//! Invariant: what comes after the grace has one deadline for all of its steps, so that a slow step takes from those that
//! are quick; all together end within the grace and one second.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use latent_node::operations::Settled;
use latent_wasmtime::WasmtimeBackend;
use tokio::runtime::{Handle, Runtime};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout_at};

use super::directory;
use super::listeners::Listening;
use super::node::Node;

/// What connections have to end by themselves, once nothing is under way.
const CONNECTIONS: Duration = Duration::from_millis(150);
/// What all that comes after the grace has together; the rest of the second is that of the control runtime.
const AFTER_GRACE: Duration = Duration::from_millis(900);
/// What connections, writers, compilers and threads have of it at least, however long cancelled activations take.
const AFTERWARDS_MIN: Duration = Duration::from_millis(500);
/// What of that writers, which may wait for a disk or a collector, leave to the threads.
const THREADS: Duration = Duration::from_millis(200);
/// Between two looks whether the engine is gone.
const LOOK: Duration = Duration::from_millis(2);

/// The runtime of guests. Dropped before its end, where nothing may wait, it leaves its threads to themselves.
pub struct DataRuntime(Option<Runtime>);

impl DataRuntime {
    /// Takes `runtime` over.
    pub fn new(runtime: Runtime) -> Self {
        Self(Some(runtime))
    }

    /// Spawns on it.
    pub fn handle(&self) -> &Handle {
        self.0.as_ref().expect("it is there until its end").handle()
    }

    /// Ends it, and waits at most `time` for its threads. Blocks.
    fn end(mut self, time: Duration) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(time);
        }
    }
}

impl Drop for DataRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A node with everything that runs in it.
pub struct Running {
    pub node: Arc<Node>,
    pub listening: Listening,
    /// Where guests and the invoke listener run.
    pub data: DataRuntime,
    pub driver: JoinHandle<()>,
    pub housekeeping: JoinHandle<()>,
}

/// How a node ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Its activations.
    pub settled: Settled,
    /// Connections that were cut at the deadline. Clients that keep one open are no fault of the node's.
    pub connections_cut: u64,
    /// What was still held at the end, by name.
    pub leftovers: Vec<(&'static str, u64)>,
    /// Parts that did not end in their time.
    pub overdue: Vec<&'static str>,
}

impl Stopped {
    /// Whether nothing was left.
    pub fn is_clean(&self) -> bool {
        self.settled.left == 0 && self.leftovers.is_empty() && self.overdue.is_empty()
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settled { cancelled, left, cancelling: _ } = self.settled;
        let end = if self.is_clean() { "stopped, nothing left" } else { "stopped, and not everything ended" };
        write!(f, "{end}: {cancelled} activations cancelled, {left} left, {} connections cut", self.connections_cut)?;
        self.leftovers.iter().try_for_each(|(name, count)| write!(f, ", {name} {count}"))?;
        self.overdue.iter().try_for_each(|part| write!(f, ", {part} did not end in time"))
    }
}

/// Ends a node: its activations have the grace, or until `hurry` is ready, and are cancelled after it.
pub async fn stop(running: Running, hurry: impl Future<Output = ()>) -> Stopped {
    let Running { node, listening, data, driver, housekeeping } = running;
    let settled = node.operations.settle(hurry).await;
    let end = Instant::now() + afterwards(settled.cancelling);
    let mut overdue = Vec::new();
    let connections_cut = listening.end(CONNECTIONS, Instant::now().into_std()).await;
    directory::forget_listeners(&node.places.listeners);
    if timeout_at(end, driver).await.is_err() {
        overdue.push("cleanup-driver");
    }
    housekeeping.abort();
    // Aborted: its end is an error by then.
    let _aborted = housekeeping.await;
    if !node.host.close((end - THREADS).saturating_duration_since(Instant::now())).await {
        overdue.push("usage-log");
    }
    let leftovers = node.operations.leftovers();
    overdue.extend(end_threads(node, data, end).await);
    Stopped { settled, connections_cut, leftovers, overdue }
}

/// What all that comes after the activations has, when those that were cancelled took so long.
fn afterwards(cancelling: Duration) -> Duration {
    AFTER_GRACE.saturating_sub(cancelling).max(AFTERWARDS_MIN)
}

/// Waits until nobody has the engine any more: a change or a collection that has begun is not interrupted, and keeps it
/// until it is done.
async fn is_gone(engine: &Weak<WasmtimeBackend>, end: Instant) -> bool {
    while engine.strong_count() > 0 && Instant::now() < end {
        sleep(LOOK).await;
    }
    engine.strong_count() == 0
}

/// Ends the data runtime and the engine, whose threads are joined by the last who has it.
async fn end_threads(node: Arc<Node>, data: DataRuntime, end: Instant) -> Option<&'static str> {
    let engine: Weak<WasmtimeBackend> = Arc::downgrade(&node.backend);
    let ended = spawn_blocking(move || {
        // What is being prepared keeps the storage, whose inspector is the engine.
        node.backend.stop_preparing();
        data.end(end.saturating_duration_since(Instant::now()) / 2);
        drop(node);
    });
    match timeout_at(end, ended).await {
        Ok(_) if is_gone(&engine, end).await => None,
        Ok(_) => Some("engine"),
        Err(_) => Some("compilers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancelled_activations_leave_of_the_second_is_for_the_disk() {
        let after = |cancelling| afterwards(Duration::from_millis(cancelling)).as_millis();
        assert_eq!([0, 20, 400, 401, 5000].map(after), [900, 880, 500, 500, 500]);
    }
}
