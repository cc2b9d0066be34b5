//! The two listeners of a node, each on its own runtime.
//!
//! Invariant: both addresses are had before either serves, so that a node listens on both or on none.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_core::PlatformError;
use latent_wire::api::{Api, ApiConfig, Listener as Side};
use latent_wire::grpc;
use latent_wire::json::{Edge, EdgeConfig};
use latent_wire::listener::{Bound, Listener, ListenerConfig};
use latent_wire::ports::NodePorts;
use latent_wire::tls::{Tls, TlsFiles};
use tokio::runtime::Handle;

use super::node::Node;
use crate::config::{Config, ListenerSettings};

/// A listener that has its address and serves nobody yet.
pub struct Prepared {
    bound: Bound,
    tls: Option<Arc<Tls>>,
    on: Handle,
}

impl Prepared {
    /// Takes the address of `settings`, for connections on the runtime `on`. Reads the files of its TLS.
    ///
    /// # Errors
    /// Which address or file it is, and what to do.
    pub fn new(settings: &ListenerSettings, on: Handle) -> Result<Self, PlatformError> {
        let files = settings.tls_certificate.clone().zip(settings.tls_key.clone()).map(|(certificate, key)| TlsFiles {
            certificate,
            key,
            client_ca: settings.tls_client_ca.clone(),
        });
        let tls = files.map(Tls::load).transpose()?.map(Arc::new);
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let config = ListenerConfig {
            connections_max: count(settings.connections),
            connections_per_peer_max: count(settings.connections_per_peer),
            ..ListenerConfig::new(settings.address)
        };
        let bound = {
            let _entered = on.enter();
            Bound::new(config)?
        };
        Ok(Self { bound, tls, on })
    }

    /// Where it listens, and whether with TLS.
    pub fn place(&self) -> (SocketAddr, bool) {
        (self.bound.address(), self.tls.is_some())
    }

    fn serve(self, edge: Edge) -> Listener {
        let _entered = self.on.enter();
        self.bound.serve(self.tls, edge)
    }
}

/// Both listeners, serving.
pub struct Listening {
    /// Of those listeners that have TLS.
    tls: Vec<Arc<Tls>>,
    invoke: Listener,
    control: Listener,
}

impl Listening {
    /// Serves the calls of `node`.
    ///
    /// # Errors
    /// `internal`, for a defect of the build.
    pub fn begin(node: &Node, config: &Config, invoke: Prepared, control: Prepared) -> Result<Self, PlatformError> {
        let transport_timeout_max = config.limits.wall.max(ApiConfig::default().transport_timeout_max);
        let api = Arc::new(Api::new(ports(node), ApiConfig { transport_timeout_max, ..ApiConfig::default() }));
        let edges = EdgeConfig { open_metrics: config.metrics_open };
        let edge = |side| Ok::<_, PlatformError>(Edge::new(api.clone(), side, grpc::routes(&api, side)?, edges));
        let (of_invoke, of_control) = (edge(Side::Invoke)?, edge(Side::Control)?);
        let tls = [&invoke, &control].into_iter().filter_map(|prepared| prepared.tls.clone()).collect();
        Ok(Self { tls, invoke: invoke.serve(of_invoke), control: control.serve(of_control) })
    }

    /// The TLS of those listeners that have it.
    pub fn tls(&self) -> &[Arc<Tls>] {
        &self.tls
    }

    /// Ends both within `time`, and says how many connections were cut.
    pub async fn end(self, time: Duration, now: Instant) -> u64 {
        let deadline = now + time;
        let (invoke, control) = tokio::join!(self.invoke.shutdown(deadline), self.control.shutdown(deadline));
        invoke + control
    }
}

fn ports(node: &Node) -> NodePorts {
    NodePorts {
        manager: node.manager.clone(),
        supervisor: node.supervisor.clone(),
        authenticator: node.registry.clone(),
        tenants: node.registry.clone(),
        releases: node.stores.clone(),
        deployments: node.stores.clone(),
        logs: node.logs.clone(),
        operations: node.operations.clone(),
    }
}
