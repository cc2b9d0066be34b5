//! What each call means, whatever transport carries it.
//!
//! Invariant: a call is made in the name of the tenant of its credential, and what belongs to another tenant is answered
//! exactly as what does not exist.

pub mod auth;
pub mod call;
pub mod headers;

mod activations;
mod invoke;
mod targets;
mod watch;

mod deployments;
mod releases;
mod routes;

mod logs;
mod node;
mod tenants;

mod pages;
mod places;

use std::time::{Duration, SystemTime};

use futures_util::stream::BoxStream;
use latent_node::operations::NodeState;

use crate::ports::NodePorts;
use crate::proto;
use places::Places;

pub use auth::{authenticate, trace};
pub use call::{About, Arrival, CallContext, Peer, Refused};
pub use logs::TAIL_MAX;
pub use pages::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
pub use releases::PublishAdmission;

/// The events of an activation, up to the terminal one.
pub type EventStream = BoxStream<'static, Result<proto::ActivationEvent, Refused>>;
/// The records of a tenant, as they are written.
pub type LogStream = BoxStream<'static, Result<proto::LogRecord, Refused>>;

/// Which of a node's two listeners a call came in at. Invoke is only on the first; releases, deployments, routes, logs,
/// tenants and the node are only on the second; the other calls about activations are on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Listener {
    /// Where functions are called.
    Invoke,
    /// Where the node is managed.
    Control,
}

/// A function that returned: its answer, and what the headers say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Invoked {
    /// The answer.
    pub response: proto::InvokeResponse,
    /// What the headers say.
    pub about: About,
}

/// Bounds of the calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiConfig {
    /// The longest that a transport's timeout is taken for; a longer one counts as this. Default one hour.
    pub transport_timeout_max: Duration,
    /// Uploads of components at once, each of which may hold a whole component in memory. Default 2.
    pub publishes_max: usize,
    /// Other changes and reads of the disk at once. Default 8.
    pub disk_calls_max: usize,
    /// How long a call waits for a place among those. Default 10 seconds.
    pub place_wait: Duration,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            transport_timeout_max: Duration::from_hours(1),
            publishes_max: 2,
            disk_calls_max: 8,
            place_wait: Duration::from_secs(10),
        }
    }
}

/// The calls of a node. Each checks the roles that the proto file names, then answers with the message or with a
/// [`Refused`]: `permission-denied` (detail `access.role-missing`) without the role, `invalid-argument` (detail `api.field`) for a
/// field that is wrong, `not-found` for what the tenant does not have.
pub struct Api {
    ports: NodePorts,
    config: ApiConfig,
    uploads: Places,
    disk: Places,
}

impl Api {
    /// The calls of the node of `ports`.
    #[must_use]
    pub fn new(ports: NodePorts, config: ApiConfig) -> Self {
        let uploads = Places::new(config.publishes_max, config.place_wait, "uploads");
        let disk = Places::new(config.disk_calls_max, config.place_wait, "calls that use the disk");
        Self { ports, config, uploads, disk }
    }

    /// What the calls speak for.
    #[must_use]
    pub fn ports(&self) -> &NodePorts {
        &self.ports
    }

    /// The bounds of the calls.
    #[must_use]
    pub fn config(&self) -> &ApiConfig {
        &self.config
    }

    /// Whether the node takes activations now, for `/readyz` and health.
    ///
    /// # Errors
    /// Why not, in a few words: its state, or `overloaded` with what presses it.
    pub fn readiness(&self) -> Result<(), String> {
        let state = self.ports.operations.state();
        if state != NodeState::Ready {
            return Err(state.as_str().to_owned());
        }
        self.ports.manager.check_pressure().map_err(|error| {
            let pressed = error.details().iter().find_map(|detail| detail.field("dimension"));
            pressed.map_or_else(|| "overloaded".to_owned(), |by| format!("overloaded: {by}"))
        })
    }

    /// The metrics in the text format of Prometheus. Whoever serves them to others than operators has been told to.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.ports.operations.metrics()
    }

    /// The largest payload that a call may bring, in bytes, whatever its tenant may have.
    #[must_use]
    pub fn payload_bytes_max(&self) -> usize {
        self.ports.manager.request_limits().payload_bytes_max
    }

    /// The largest component that can be published, in bytes.
    #[must_use]
    pub fn component_bytes_max(&self) -> u64 {
        self.ports.releases.component_bytes_max()
    }

    /// The wall time.
    fn wall(&self) -> SystemTime {
        self.ports.manager.parts().clock.now()
    }
}
