//! What is called: servers on ports of the loopback interface, in this process.
//!
//! Invariant: all of them are on the runtime of guests as a node sets it up, unless a comparison is about just that.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http::{Extensions, HeaderMap, HeaderValue};
use latent_node::runtime::data_runtime;
use latent_wire::api::{Api, Listener as Side};
use latent_wire::grpc;
use latent_wire::json::{Edge, EdgeConfig};
use latent_wire::listener::{Bound, Listener, ListenerConfig};
use latent_wire::proto;
use latent_wire::proto::invocation_server::InvocationServer;
use tokio::runtime::{Builder, Handle, Runtime};
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::echo::Echo;
use super::node::WireNode;
use super::request;

/// The servers that are up. Dropped, they are gone.
pub struct Servers {
    api: Arc<Api>,
    /// The token that the node takes.
    pub token: String,
    data: Runtime,
    /// A runtime for connections alone.
    connections: Option<Runtime>,
    listeners: Vec<Listener>,
}

impl Servers {
    /// A node with a service for each of `guests`, in `directory`; it does not listen yet.
    ///
    /// # Panics
    /// When a part of the node does not start.
    #[must_use]
    pub fn new(directory: &Path, guests: &[&str]) -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let data = data_runtime(workers).expect("a runtime starts");
        let WireNode { api, token, driver } = {
            let _entered = data.enter();
            WireNode::new(directory, guests)
        };
        data.spawn(driver);
        Self { api, token, data, connections: None, listeners: Vec::new() }
    }

    /// What all of them have in common, in a sentence.
    #[must_use]
    pub fn conditions(&self) -> String {
        let workers = self.data.metrics().num_workers();
        format!(
            "Every server is on the same runtime, of {workers} workers that look for events after each task; every caller has a \
             connection of its own, on one thread of another process."
        )
    }

    /// A bare tonic server that echoes with the messages that the node answers for `guest`.
    ///
    /// # Panics
    /// When there is no port.
    pub fn bare(&self, guest: &str) -> SocketAddr {
        let answer = self.answer(guest);
        let _entered = self.data.enter();
        let incoming = TcpIncoming::bind(loopback()).expect("a free port").with_nodelay(Some(true));
        let address = incoming.local_addr().expect("a socket has an address");
        let service = InvocationServer::new(Echo::Bare { answer });
        let served = Server::builder().add_service(service).serve_with_incoming(incoming);
        self.data.spawn(async { served.await.expect("the server serves") });
        address
    }

    /// The node's own listener for invocations, which answers gRPC and plain HTTP.
    ///
    /// # Panics
    /// When there is no port.
    pub fn node(&mut self) -> SocketAddr {
        let routes = grpc::routes(&self.api, Side::Invoke).expect("the services are described");
        let on = self.data.handle().clone();
        self.listen(&on, routes)
    }

    /// The node's calls with everything on one runtime, as [`Self::node`], and with connections on a runtime of their own
    /// from which each activation goes to the runtime of guests and back.
    ///
    /// # Panics
    /// When there is no port or no thread.
    pub fn placed(&mut self) -> [SocketAddr; 2] {
        let service = |guests| Routes::new(InvocationServer::new(Echo::Placed { api: self.api.clone(), guests }));
        let (together, apart) = (service(None), service(Some(self.data.handle().clone())));
        let connections = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime starts");
        let (data, own) = (self.data.handle().clone(), connections.handle().clone());
        self.connections = Some(connections);
        [self.listen(&data, together), self.listen(&own, apart)]
    }

    fn listen(&mut self, on: &Handle, routes: Routes) -> SocketAddr {
        let edge = Edge::new(self.api.clone(), Side::Invoke, routes, EdgeConfig::default());
        let _entered = on.enter();
        let listener = Bound::new(ListenerConfig::new(loopback())).expect("a free port").serve(None, edge);
        let address = listener.address();
        self.listeners.push(listener);
        address
    }

    /// What the node answers for `guest`.
    fn answer(&self, guest: &str) -> proto::InvokeResponse {
        let mut headers = HeaderMap::new();
        let token = HeaderValue::try_from(format!("Bearer {}", self.token)).expect("a token is visible ASCII");
        headers.insert(http::header::AUTHORIZATION, token);
        let caller = self.api.context(&headers, &Extensions::new(), None).expect("the credential holds");
        let invoked = self.data.block_on(self.api.invoke(&caller, request(guest)));
        invoked.expect("the guest returns").response
    }
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}
