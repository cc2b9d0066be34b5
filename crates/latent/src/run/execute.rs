//! Many activations, so many at a time, until all are done or something stops them.
//!
//! Invariant: whatever was started has ended, and its cell is settled, when this returns.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::node::{Call, Node, Record};
use super::verdict;
use crate::ending::Exit;
use crate::signals::StopSwitch;

/// How often, and how many at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// How many activations.
    pub repeat: u64,
    /// How many of them at once, at least 1.
    pub concurrency: u32,
}

/// Runs the load. `print` gets each record as it ends. A rejection ends the load, because the same input would be
/// rejected again; so does a lost output, which also cancels what is under way.
///
/// # Errors
/// The first error of `print`, after everything has ended, with the worst exit code so far.
pub async fn execute(
    node: &Arc<Node>,
    call: &Arc<Call>,
    load: Load,
    stop: &StopSwitch,
    mut print: impl FnMut(&Record) -> io::Result<()>,
) -> Result<Exit, (io::Error, Exit)> {
    let mut live = JoinSet::new();
    let (mut left, mut worst, mut lost) = (load.repeat, Exit::Success, None);
    loop {
        while left > 0 && live.len() < load.concurrency as usize && !stop.is_on() {
            left -= 1;
            let (node, call, stop) = (node.clone(), call.clone(), stop.clone());
            live.spawn(async move { node.activate(&call, stop.on()).await });
        }
        let Some(ended) = live.join_next().await else { break };
        // The manager contains what guests and hosts do; a task that still dies is one failed activation.
        let Ok(record) = ended else {
            worst = worst.max(Exit::ActivationFailed);
            continue;
        };
        worst = worst.max(verdict::exit(&record.outcome));
        if verdict::rejection(&record).is_some() {
            left = 0;
        }
        if lost.is_none() {
            lost = print(&record).err();
        }
        if lost.is_some() {
            stop.flip();
        }
    }
    match lost {
        None => Ok(worst),
        Some(error) => Err((error, worst)),
    }
}
