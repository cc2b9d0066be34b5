//! Requests that a guest makes: counted, bounded, and handed to the port that alone opens connections.
//!
//! Invariant: a request has a place from when it is handed over until its response has ended, and places are bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use latent_core::RevisionPolicy;
use latent_core::trace::TraceParent;
use latent_executor::{ActivationContext, ExecutionCancellation, OutgoingError, OutgoingRequest};
use wasmtime_wasi_http::{DEFAULT_FORBIDDEN_HEADERS, Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::body::{IncomingBody, OutgoingBody};
use super::errors::of_outgoing;
use crate::gauges::{HeldOutside, Kind};
use crate::host::Services;

/// Pieces, less the one that the engine adds, and bytes of each, of a body that has little room.
const NARROW: (usize, usize) = (1, 4 << 10);

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// Whose run it is and what its host calls stand on. What `wasi:http` asks about it is answered here.
pub struct Run {
    pub(crate) context: Arc<ActivationContext>,
    pub(crate) policy: Arc<RevisionPolicy>,
    pub(crate) cancellation: ExecutionCancellation,
    pub(crate) services: Arc<Services>,
    /// Made with the first request.
    in_flight: Option<Arc<AtomicU32>>,
    requests: u32,
    bodies: u32,
}

/// The place of one request among those under way.
pub struct Place {
    in_flight: Arc<AtomicU32>,
    _counted: HeldOutside,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

type Processing = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Sending = Box<dyn Future<Output = Result<(Response<WasiBody>, Processing), Error>> + Send>;

impl Run {
    /// A run that has made no request yet.
    pub fn new(
        context: Arc<ActivationContext>,
        policy: Arc<RevisionPolicy>,
        cancellation: ExecutionCancellation,
        services: Arc<Services>,
    ) -> Self {
        Self { context, policy, cancellation, services, in_flight: None, requests: 0, bodies: 0 }
    }

    /// Whether the guest ever began a body.
    pub fn began_a_body(&self) -> bool {
        self.bodies > 0
    }

    /// Counts one more request and finds its place.
    fn place(&mut self) -> Result<Place, Error> {
        let limits = &self.services.http;
        self.cancellation.budget_accounting().count_outbound_request();
        self.requests = self.requests.saturating_add(1);
        let max = limits.outgoing_requests_max;
        if self.requests > max {
            let why =
                format!("the activation has made its {max} outgoing requests (setting http.outgoing_requests_max)");
            return Err(Error::InternalError(Some(why)));
        }
        let in_flight = self.in_flight.get_or_insert_default();
        let more = |held: u32| (held < limits.outgoing_in_flight_max).then_some(held + 1);
        match in_flight.try_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => {
                Ok(Place { in_flight: in_flight.clone(), _counted: self.services.gauges.hold_outside(Kind::Outgoing) })
            }
            Err(_full) => Err(Error::ConnectionLimitReached),
        }
    }

    /// Names the activation's span as the parent, where the call belongs to a trace and the guest has not said of which
    /// trace its request is.
    fn traced(&self, headers: &mut HeaderMap) {
        let parent = self.context.trace_parent.as_deref().and_then(TraceParent::read);
        if let (Some(parent), Entry::Vacant(vacant)) = (parent, headers.entry(TRACE_PARENT)) {
            let text = parent.of_activation(&self.context.activation_id).to_string();
            vacant.insert(HeaderValue::try_from(text).expect("digits and hyphens"));
        }
    }

    fn hand_over(
        &self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> BoxFuture<'static, Result<Response<latent_executor::HttpBody>, OutgoingError>> {
        let options = options.unwrap_or_default();
        self.traced(request.headers_mut());
        self.services.outgoing.send(OutgoingRequest {
            request: request.map(|body| OutgoingBody(body).boxed_unsync()),
            connect_timeout: options.connect_timeout,
            first_byte_timeout: options.first_byte_timeout,
            between_bytes_timeout: options.between_bytes_timeout,
            context: self.context.clone(),
            policy: self.policy.clone(),
        })
    }
}

impl WasiHttpHooks for Run {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        DEFAULT_FORBIDDEN_HEADERS.contains(name)
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Processing,
    ) -> Sending {
        match self.place() {
            Err(error) => Box::new(std::future::ready(Err(error))),
            Ok(place) => {
                let sending = self.hand_over(request, options);
                Box::new(async move {
                    let response = sending.await.map_err(|error| of_outgoing(&error))?;
                    let response = response.map(|body| IncomingBody::new(body, place).boxed_unsync());
                    Ok((response, Box::new(std::future::ready(Ok(()))) as Processing))
                })
            }
        }
    }

    // Asked once for each body that is begun, before the size of a piece.
    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        self.bodies = self.bodies.saturating_add(1);
        self.room().0
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        self.room().1
    }
}

impl Run {
    /// The room of the body that was begun last: pieces less one, which the engine adds, and the bytes of one.
    fn room(&self) -> (usize, usize) {
        let limits = &self.services.http;
        if self.bodies > limits.roomy_bodies_max {
            return NARROW;
        }
        let pieces = limits.body_pieces_max.saturating_sub(1).max(1);
        (pieces as usize, limits.body_piece_bytes_max.max(1) as usize)
    }
}
