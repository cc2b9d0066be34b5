//! What a node's process holds, as the system and the node tell it.
//!
//! Invariant: nothing of the node is under way when it is looked at, and one client is connected.

use std::fs;
use std::time::Duration;

use latent_wire::client::Client;
use rustix::process::Pid;
use tokio::time::{Instant, sleep, timeout};

use crate::nodes::program::Served;
use crate::nodes::tenants::inventory;

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
            let (mut last, mut since) = (counts(served, &client).await?, Instant::now());
            while since.elapsed() < STILL {
                sleep(PAUSE).await;
                let now = counts(served, &client).await?;
                if now != last {
                    (last, since) = (now, Instant::now());
                }
            }
            Ok(Self { counts: last, resident_bytes: resident_bytes(served.id)? })
        };
        timeout(REST_MAX, settle).await.map_err(|_| format!("the node does not come to rest within {REST_MAX:?}"))?
    }
}

async fn counts(served: &Served, client: &Client) -> Result<Counts, String> {
    let (process, cells) = (served.process(), inventory(client).await?.cells);
    Ok(Counts {
        processes: 1 + process.children()?,
        threads: process.threads()?,
        sockets: process.descriptors_where(|target| target.starts_with("socket:"))?,
        descriptors: process.descriptors()?,
        cells: cells.iter().map(|cells| cells.capacity).sum(),
    })
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
}
