//! What a node's process holds, as the system and the node tell it.
//!
//! Invariant: nothing of the node is under way when it is looked at, and one client is connected.

use std::fs;
use std::path::Path;
use std::time::Duration;

use latent_wire::client::Client;
use latent_wire::proto::GetInventoryRequest;
use rustix::process::Pid;
use tokio::time::{Instant, sleep, timeout};

use crate::nodes::program::Served;

/// For how long the counts have to stay as they are.
const STILL: Duration = Duration::from_millis(1_500);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// After this a node that does not come to rest is not idle.
const REST_MAX: Duration = Duration::from_secs(30);

/// What must not grow with the number of deployments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Processes: the node and its children.
    pub processes: usize,
    /// Threads of the node.
    pub threads: usize,
    /// Sockets among its descriptors.
    pub sockets: usize,
    /// Its descriptors.
    pub descriptors: usize,
    /// Its cells.
    pub cells: u64,
}

/// A node at rest.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// What must not grow.
    pub counts: Counts,
    /// Its resident memory.
    pub resident_bytes: u64,
}

impl Look {
    /// A look at `served` once its counts have not changed for a while.
    ///
    /// # Errors
    /// What is not told, or that the node does not come to rest.
    pub async fn settled(served: &Served) -> Result<Self, String> {
        let client = served.client()?;
        let settle = async {
            let (mut last, mut since) = (counts(served.id, &client).await?, Instant::now());
            while since.elapsed() < STILL {
                sleep(PAUSE).await;
                let now = counts(served.id, &client).await?;
                if now != last {
                    (last, since) = (now, Instant::now());
                }
            }
            Ok(Self { counts: last, resident_bytes: resident_bytes(served.id)? })
        };
        timeout(REST_MAX, settle).await.map_err(|_| format!("the node does not come to rest within {REST_MAX:?}"))?
    }
}

async fn counts(id: Pid, client: &Client) -> Result<Counts, String> {
    let inventory = client.get_inventory(GetInventoryRequest {}).await;
    let cells = inventory.map_err(|error| format!("the inventory: {error}"))?.cells;
    let of = |part: &str| format!("/proc/{}/{part}", id.as_raw_nonzero());
    let tasks = listed(&of("task"))?;
    let children = tasks.iter().map(|task| children(Path::new(task)));
    let descriptors = listed(&of("fd"))?;
    // One that was closed since the listing is no socket any more.
    let is_socket = |file: &&String| fs::read_link(file).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
    Ok(Counts {
        processes: 1 + children.sum::<Result<usize, _>>()?,
        threads: tasks.len(),
        sockets: descriptors.iter().filter(is_socket).count(),
        descriptors: descriptors.len(),
        cells: cells.iter().map(|cells| cells.capacity).sum(),
    })
}

fn listed(directory: &str) -> Result<Vec<String>, String> {
    let told = |error: std::io::Error| format!("{directory}: {error}");
    let entries = fs::read_dir(directory).map_err(told)?;
    entries.map(|entry| Ok(entry.map_err(told)?.path().display().to_string())).collect()
}

/// Children that a thread started. A thread that has ended has none.
fn children(task: &Path) -> Result<usize, String> {
    match fs::read_to_string(task.join("children")) {
        Ok(text) => Ok(text.split_whitespace().count()),
        Err(_) if !task.exists() => Ok(0),
        Err(error) => Err(format!("the system does not tell the children in {}: {error}", task.display())),
    }
}

/// Resident bytes, summed over all mappings: the counter in `statm` lags behind.
fn resident_bytes(id: Pid) -> Result<u64, String> {
    let file = format!("/proc/{}/smaps_rollup", id.as_raw_nonzero());
    let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    resident(&text).ok_or_else(|| format!("{file} has no line `Rss: … kB`"))
}

fn resident(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_in_bytes() {
        let text = "55d0-7ffe ---p 0 00:00 0 [rollup]\nRss:               71520 kB\nPss:               68000 kB\n";
        assert_eq!(resident(text), Some(71520 << 10));
        assert_eq!(resident("Pss: 68000 kB\n"), None);
    }

    #[test]
    fn a_process_that_waits_for_another_has_a_child() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let tasks = listed("/proc/self/task").expect("the threads of this process");
        let found: usize = tasks.iter().map(|task| children(Path::new(task)).expect("children are told")).sum();
        child.kill().and_then(|()| child.wait()).expect("sleep ends");
        assert!(found >= 1);
    }
}
