//! Requests that come in: each is an activation of the service that its host and path lead to.
//!
//! Reading order: `target` is where a request goes, `caller` who makes it, `asked` what the manager is asked and `inward` what
//! the guest is given, its body by `upload`; `call` polls the activation, `head` is what the guest's head becomes, `outward` what it writes; `body` is what goes out, `reader` how long it was waited for, `driver` what polls an activation whose response has
//! begun; `problem` is an error as an answer. Invariant: a request without a route reaches no tenant, and a response that was
//! cut never looks complete.

mod config;

mod target;

mod caller;

mod asked;

mod inward;

mod upload;

mod call;

mod head;

mod outward;

mod body;

mod reader;

mod driver;

mod problem;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use latent_core::id::DEFAULT_ROUTE;
use latent_core::{IdError, PlatformError, PlatformErrorCode, RouteName, ServiceName};
use latent_executor::HttpExchange;
use latent_node::access::Authenticator;
use latent_node::operations::Operations;
use latent_node::{CleanupSupervisor, LocalActivationManager};
use latent_wire::api::{Arrival, Peer, Refused};
use latent_wire::listener::RequestBody;
use tower::Service;

pub use body::ResponseBody;
pub use caller::ANONYMOUS_SUBJECT;
pub use config::{Forwarded, IngressConfig, ListenerScheme};

use call::{Bounds, Call, Coming, Waiting};
use target::Target;

/// What of a node answers requests.
#[derive(Clone)]
pub struct IngressPorts {
    /// Runs activations, and knows which service answers.
    pub manager: Arc<LocalActivationManager>,
    /// Takes over those whose client goes away.
    pub supervisor: Arc<CleanupSupervisor>,
    /// Says who calls, where a route wants to know.
    pub authenticator: Arc<dyn Authenticator>,
    /// Says whether the node takes activations.
    pub operations: Arc<dyn Operations>,
}

/// Answers HTTP requests by activations: the service of a listener. Cheap to clone. Within a tokio runtime, on which one task
/// is spawned for each response whose guest goes on after its head.
#[derive(Clone)]
pub struct HttpIngress(Arc<Shared>);

struct Shared {
    ports: IngressPorts,
    config: IngressConfig,
    anonymous: ServiceName,
    route: RouteName,
}

impl HttpIngress {
    /// Answers with the activations of `ports`, within the bounds of `config`.
    ///
    /// # Errors
    /// As [`IngressConfig::check`].
    pub fn new(ports: IngressPorts, config: IngressConfig) -> Result<Self, PlatformError> {
        config.check()?;
        let (anonymous, route) = (name(ServiceName::new(ANONYMOUS_SUBJECT))?, name(RouteName::new(DEFAULT_ROUTE))?);
        Ok(Self(Arc::new(Shared { ports, config, anonymous, route })))
    }
}

impl fmt::Debug for HttpIngress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpIngress").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl Service<Request<RequestBody>> for HttpIngress {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<ResponseBody>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    /// Answers `request`. Dropping the future hands its activation over to be cleaned up.
    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let method = request.method().clone();
            Ok(match shared.begin(request) {
                Ok(call) => call.answer().await,
                Err(refused) => problem::answer(&refused, &method),
            })
        })
    }
}

impl Shared {
    /// From the request to its activation, which has not been polled yet.
    fn begin(&self, request: Request<RequestBody>) -> Result<Call, Refused> {
        let Self { ports: IngressPorts { manager, supervisor, authenticator, operations }, config, .. } = self;
        let (mut parts, body) = request.into_parts();
        let peer = parts.extensions.get::<Peer>().copied().unwrap_or_default();
        let arrived =
            parts.extensions.get::<Arrival>().map_or_else(|| tokio::time::Instant::now().into_std(), |at| at.0);
        let target = Target::of(&parts)?;
        let service = manager.http_route(&target.host, target.path())?.ok_or_else(|| target.unrouted())?;
        let now = manager.parts().clock.now();
        let caller = caller::of(&**authenticator, &service, &self.anonymous, &mut parts.headers, peer, now)?;
        operations.admits()?;
        inward::check_length(&parts.headers, config.request_body_bytes_max)?;
        let arrival = asked::arrival(&parts.headers, arrived, config.timeout_max)?;
        let limits = manager.request_limits();
        let asked = asked::request(&parts.headers, caller, service, self.route.clone(), limits)?;
        let method: Method = parts.method.clone();
        let (request, upload) = inward::request(parts, body, target, peer, config);
        let (exchange, coming) = HttpExchange::new(request);
        let activation = supervisor.reserve()?.start_http(manager, asked, arrival, Arc::clone(&exchange))?;
        let (manager, coming) = (Arc::clone(manager), Coming::Awaited(coming));
        let waiting = Waiting { manager, exchange, coming, method, upload, bounds: Bounds::of(config) };
        Ok(Call { activation, waiting })
    }
}

/// A name that is the node's own.
fn name<T>(made: Result<T, IdError>) -> Result<T, PlatformError> {
    made.map_err(|error| PlatformError::new(PlatformErrorCode::Internal, error))
}
