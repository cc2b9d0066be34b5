//! What runs beside a node while it serves: nothing but the lines that say where it listens, or a companion.
//!
//! Invariant: a companion begins once the node is ready, and has ended or is dropped before the node ends.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use latent_node::ActivationObserver;
use tokio::time::timeout;

use super::{Asked, Node};
use crate::ending::Failure;
use crate::terminal;

/// What a companion does. It ends by itself, without an error, once the node is asked to end.
pub type Work = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// Whoever has a node for a purpose of its own.
pub struct Companion {
    /// Is told of every activation that ends.
    pub observer: Arc<dyn ActivationObserver>,
    /// Makes its work.
    pub begin: Begin,
}

/// Makes a companion's work, of the node that is ready.
pub type Begin = Box<dyn FnOnce(Ready) -> Work + Send>;

/// A node that listens.
pub struct Ready {
    /// The node. To be let go of by the time that the work ends.
    pub node: Arc<Node>,
    /// The URL of the invoke listener.
    pub invoke: String,
    /// The URL of the control listener.
    pub control: String,
    /// The URL of the listener for HTTP requests of components.
    pub http: String,
    /// Says when the node is to end.
    pub asked: Asked,
}

/// What runs beside a node.
pub struct Beside(Option<Work>);

impl Beside {
    /// Says where the node listens and that it is ready, unless there is a companion to do so.
    ///
    /// # Errors
    /// When standard output is lost.
    pub fn begin(companion: Option<Begin>, ready: Ready) -> Result<Self, Failure> {
        let lifecycle = ready.node.operations.clone();
        let is_ready = lifecycle.lifecycle().started();
        let Some(begin) = companion else {
            let mut lines = String::new();
            for (name, url) in [("invoke", &ready.invoke), ("control", &ready.control), ("http", &ready.http)] {
                let _infallible = writeln!(lines, "{name} {url}");
            }
            if is_ready && !ready.asked.at_all() {
                lines.push_str("ready\n");
            }
            return say(lines.as_bytes()).map(|()| Self(None));
        };
        Ok(Self(Some(begin(ready))))
    }

    /// Waits until the companion has failed, and tells why. Without one, and after its end, for ever.
    pub async fn failed(&mut self) {
        if let Some(work) = &mut self.0 {
            let ended = work.await;
            self.0 = None;
            if let Err(failure) = ended {
                terminal::failure(&failure);
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// Lets the companion end by itself within `time`.
    pub async fn end(self, time: Duration) {
        let Some(work) = self.0 else { return };
        if let Ok(Err(failure)) = timeout(time, work).await {
            terminal::failure(&failure);
        }
    }
}

/// Whoever started the node reads these lines.
fn say(lines: &[u8]) -> Result<(), Failure> {
    terminal::to_stdout(lines).map_err(|error| Failure::local(format!("cannot write to standard output: {error}")))
}
