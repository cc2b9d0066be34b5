//! What a backend needs of the node around it.
//!
//! Invariant: the engine reaches secrets, networks and logs through these and by no other way.

use std::sync::Arc;

use latent_executor::{LogSink, OutgoingHttp, SecretSource};

/// What a backend needs of the node around it.
#[derive(Clone)]
pub struct Ports {
    /// What deployments refer to is read from here: for each activation that needs it, after its code is prepared and
    /// before its store is made, on a thread for work that blocks. A stop or the deadline ends the wait.
    pub secrets: Arc<dyn SecretSource>,
    /// Makes the HTTP requests of guests, or refuses to.
    pub outgoing: Arc<dyn OutgoingHttp>,
    /// Gets accepted logs.
    pub sink: Arc<dyn LogSink>,
}
