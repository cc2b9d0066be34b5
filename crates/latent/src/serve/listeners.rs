//! The listeners of a node, each on its runtime.
//!
//! Invariant: all addresses are had before any serves, so that a node listens on all or on none.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latent_core::PlatformError;
use latent_http::ingress::{Forwarded, HttpIngress, IngressConfig, IngressPorts, ListenerScheme};
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

    fn serve_http(self, ingress: HttpIngress) -> Listener {
        let _entered = self.on.enter();
        self.bound.serve(self.tls, ingress)
    }
}

/// All addresses of a node, before any serves.
pub struct Addresses {
    /// Where calls come in.
    pub invoke: Prepared,
    /// Where the node is operated.
    pub control: Prepared,
    /// Where HTTP requests for components come in.
    pub http: Prepared,
}

/// All listeners, serving.
pub struct Listening {
    /// Of those listeners that have TLS.
    tls: Vec<Arc<Tls>>,
    invoke: Listener,
    control: Listener,
    http: Listener,
}

impl Listening {
    /// Serves the calls of `node`.
    ///
    /// # Errors
    /// `internal`, for a defect of the build.
    pub fn begin(node: &Node, config: &Config, addresses: Addresses) -> Result<Self, PlatformError> {
        let Addresses { invoke, control, http } = addresses;
        let transport_timeout_max = config.limits.wall.max(ApiConfig::default().transport_timeout_max);
        let api = Arc::new(Api::new(ports(node), ApiConfig { transport_timeout_max, ..ApiConfig::default() }));
        let edges = EdgeConfig { open_metrics: config.metrics_open };
        let edge = |side| Ok::<_, PlatformError>(Edge::new(api.clone(), side, grpc::routes(&api, side)?, edges));
        let (of_invoke, of_control) = (edge(Side::Invoke)?, edge(Side::Control)?);
        let ingress = HttpIngress::new(ingress_ports(node), ingress(config, transport_timeout_max))?;
        let tls = [&invoke, &control, &http].into_iter().filter_map(|prepared| prepared.tls.clone()).collect();
        let (invoke, control) = (invoke.serve(of_invoke), control.serve(of_control));
        Ok(Self { tls, invoke, control, http: http.serve_http(ingress) })
    }

    /// The TLS of those listeners that have it.
    pub fn tls(&self) -> &[Arc<Tls>] {
        &self.tls
    }

    /// Ends all within `time`, and says how many connections were cut.
    pub async fn end(self, time: Duration, now: Instant) -> u64 {
        let deadline = now + time;
        let Self { invoke, control, http, tls: _ } = self;
        let cut = tokio::join!(invoke.shutdown(deadline), control.shutdown(deadline), http.shutdown(deadline));
        cut.0 + cut.1 + cut.2
    }
}

fn ingress_ports(node: &Node) -> IngressPorts {
    IngressPorts {
        manager: node.manager.clone(),
        supervisor: node.supervisor.clone(),
        authenticator: node.registry.clone(),
        operations: node.operations.clone(),
    }
}

fn ingress(config: &Config, timeout_max: Duration) -> IngressConfig {
    let settings = &config.ingress;
    IngressConfig {
        scheme: if config.http.tls_certificate.is_some() { ListenerScheme::Https } else { ListenerScheme::Http },
        request_body_bytes_max: settings.request_body.0,
        response_body_bytes_max: settings.response_body.0,
        reader_wait: settings.reader_wait,
        timeout_max: timeout_max.min(IngressConfig::TIME_MAX),
        forwarded: if settings.trust_forwarded { Forwarded::Append } else { Forwarded::Replace },
    }
}

/// What the API needs of `node`.
pub(super) fn ports(node: &Node) -> NodePorts {
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
